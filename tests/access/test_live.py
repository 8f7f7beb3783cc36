"""Rights on a real broker: push queries of all kinds, a reader beside the server, and the server's restart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ksqlpy.access import Principal, asking
from ksqlpy.catalog import Owner
from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.runtime.reader import Reader
from tests.access.engine import somebody
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ANN = somebody("payments")

START = """
CREATE STREAM pay_in (id INT KEY, paycol INT) WITH (KAFKA_TOPIC='pay_in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE pay_of (id INT PRIMARY KEY, paycol INT) WITH (KAFKA_TOPIC='pay_of', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE ROLE payments; GRANT ALL ON ALL LIKE 'pay%' TO payments; GRANT SELECT ON ALL TOPICS LIKE 'pay%' TO payments;
INSERT INTO pay_in VALUES (1, 10); INSERT INTO pay_of VALUES (1, 10);
"""

QUERIES = {
    "rows made here": "SELECT * FROM pay_in EMIT CHANGES;",
    "rows made by Spark": "SELECT id, COUNT(*) AS n FROM pay_in GROUP BY id EMIT CHANGES;",
    "PRINT": "PRINT pay_in FROM BEGINNING;",
}
EARLIEST = {"auto.offset.reset": "earliest"}


@pytest.fixture
def config(broker: EmbeddedKafka, tmp_path: Path) -> Config:
    settings = {"bootstrap.servers": broker.bootstrap, "ksqlpy.data.dir": str(tmp_path), "ksqlpy.warm.up": "false"}
    return Config.of({**settings, "ksql.service.id": "access_"})


@pytest.fixture
def start(spark: SparkSession, config: Config) -> Iterator[Callable[[], Engine]]:
    """Starts the engine, and the one before it no longer runs."""
    running: list[Engine] = []

    def start() -> Engine:
        while running:
            running.pop().stop()
        running.append(Engine(config))
        running[0].start()
        return running[0]

    yield start
    for engine in running:
        engine.stop()


def read(query: Any, first: threading.Event, ended: list[KsqlError | None]) -> None:
    try:
        for row in query.rows():
            if row is not None:
                first.set()
        ended.append(None)
    except KsqlError as e:
        ended.append(e)


def test_rights_hold_everywhere_and_after_a_restart(
    start: Callable[[], Engine], config: Config, tmp_path: Path
) -> None:
    engine = start()
    engine.execute(START)
    ended: dict[str, list[KsqlError | None]] = {name: [] for name in QUERIES}
    threads = []
    for name, sql in QUERIES.items():
        with asking(ANN):
            query, first = engine.query(sql, EARLIEST), threading.Event()
        threads.append(threading.Thread(target=read, args=(query, first, ended[name])))
        threads[-1].start()
        assert first.wait(120), name
    with asking(ANN):
        engine.execute("CREATE STREAM pay_out WITH (QUERY_ID='pay_q') AS SELECT * FROM pay_in;")

    reader = Reader(config, tmp_path / "reader")
    reader.start()
    try:

        def found(principal: Principal) -> bool:
            with asking(principal):
                return reader.look_up("SELECT paycol FROM pay_of WHERE id = 1;") is not None

        assert until(lambda: found(ANN))
        assert not found(somebody("unheard_of"))
        engine.execute("DROP ROLE payments;")
        assert until(lambda: not found(ANN))
        assert found(somebody("reader"))
    finally:
        reader.stop()
    for thread in threads:
        thread.join(30)
    assert {name: [e and e.error_code for e in found] for name, found in ended.items()} == {n: [40300] for n in QUERIES}
    assert engine.state("PAY_Q") in ("STARTING", "RUNNING")  # it goes on without its owner's right

    engine.execute("CREATE ROLE payments; GRANT SELECT ON pay_of TO payments;")
    before = engine.catalog.grants
    engine = start()
    assert engine.catalog.grants == before
    assert engine.catalog.queries["PAY_Q"].owner == Owner("ann", "basic")
    with asking(ANN):
        assert [t["name"] for t in engine.execute("SHOW TABLES;")[0]["tables"]] == ["PAY_OF"]
        with pytest.raises(KsqlError, match="no right SELECT on PAY_IN"):
            engine.query(QUERIES["rows made here"])
        engine.execute("TERMINATE pay_q;")  # it is hers
