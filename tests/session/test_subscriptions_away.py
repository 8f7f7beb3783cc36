"""A subscription whose server and broker are killed and come back: it goes on, and each result is there once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.session.remote import connect
from ksqlpy.session.session import Session
from tests.harness.broker import Broker
from tests.harness.server import Server
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

WAIT = 300
"""Seconds for which rows are waited for: tests run beside others."""

ROWS = 600
AWAY = 3.0
"""Seconds for which the broker is away."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path / "kafka")
    broker.start()
    yield broker
    broker.end()


@pytest.fixture
def server(broker: Broker, tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "server"
    folder.mkdir()
    with closing(Server(broker.connection, folder, {"ksqlpy.warm.up": "false"})) as server:
        server.start()
        yield server


def restarted(server: Server) -> None:
    server.kill()
    server.start()


def results(session: Session, count: int) -> list[int]:
    """The results, when so many are there."""
    found: list[int] = []

    def there() -> bool:
        with suppress(KsqlError):  # brokers that come back do not answer all at once
            found[:] = [row.id for row in session.query("SELECT id FROM s_out")]
        return len(found) >= count

    until(there, WAIT, every=0.5)
    return found


def test_each_result_is_there_once(server: Server, broker: Broker) -> None:
    seen: list[int] = []
    with connect(server.url) as session:
        session.properties["auto.offset.reset"] = "earliest"
        for name in ("s", "s_out"):
            session.sql(
                f"CREATE STREAM {name} (id INT KEY, v STRING)"
                f" WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=2);"
            )

        @session.subscribe("SELECT * FROM s EMIT CHANGES", name="twice", to="s_out")
        def twice(row: Any) -> list[dict[str, Any]]:
            seen.append(row.id)
            time.sleep(0.005)
            return [{"id": row.id, "v": row.v}] * 2

        def given(ids: range) -> None:
            """Rows, of which some are done when it returns."""
            session.insert("s", [{"id": n, "v": f"v{n}"} for n in ids])
            assert until(lambda: len({*seen} & {*ids}) > len(ids) // 4, WAIT)

        given(range(ROWS))
        restarted(server)
        results(session, 2 * ROWS)
        given(range(ROWS, 2 * ROWS))
        broker.kill(AWAY)
        assert Counter(results(session, 4 * ROWS)) == Counter({n: 2 for n in range(2 * ROWS)})
        assert {*seen} == {*range(2 * ROWS)} and twice.running
        twice.stop()
