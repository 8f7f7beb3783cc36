"""Subscriptions of an embedded engine and over REST, on a real broker: restarts, queries of Spark, killed programs."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.server.run import ServerThread
from ksqlpy.session.embedded import Engine
from ksqlpy.session.remote import connect
from ksqlpy.session.session import Session
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

ROOT = Path(__file__).parents[2]
WAIT = 300
"""Seconds for which rows are waited for: tests run beside others."""
EARLIEST = {"auto.offset.reset": "earliest"}


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    config = {"ksqlpy.warm.up": "false", "commit.interval.ms": 1000, "ksql.service.id": "subscribed_"}
    with Engine(broker.bootstrap, tmp_path_factory.mktemp("library") / "data", config) as engine:
        engine.properties.update(EARLIEST)
        yield engine


@pytest.fixture(scope="module")
def server(engine: Engine) -> Iterator[ServerThread]:
    with ServerThread(engine._engine) as running:
        yield running


@pytest.fixture(params=["embedded", "REST"])
def session(request: pytest.FixtureRequest, engine: Engine, server: ServerThread) -> Iterator[Session]:
    if request.param == "embedded":
        yield engine
        return
    with connect(server.url) as remote:
        remote.properties.update(EARLIEST)
        yield remote


@pytest.fixture
def source(session: Session, request: pytest.FixtureRequest) -> Iterator[str]:
    """A stream of its own for each test and way, and ``…_out`` for results."""
    name = "".join(c for c in request.node.name if c.isalnum())
    declare(session, name)
    yield name


def declare(session: Session, name: str) -> None:
    for each in (name, f"{name}_out"):
        session.sql(
            f"CREATE STREAM {each} (id INT KEY, v STRING)"
            f" WITH (KAFKA_TOPIC='{each}', VALUE_FORMAT='JSON', PARTITIONS=2);"
        )


def given(session: Session, source: str, *ids: int) -> None:
    session.insert(source, [{"id": n, "v": f"v{n}"} for n in ids])


def results(session: Session, source: str, count: int) -> list[int]:
    """The results, when so many are there: readers see those of a transaction a moment after its end."""
    found: list[int] = []

    def there() -> bool:
        found[:] = sorted(row.id for row in session.query(f"SELECT id FROM {source}_out"))
        return len(found) >= count

    until(there, WAIT)
    return found


def test_it_goes_on_after_a_failure_and_writes_each_result_once(session: Session, source: str) -> None:
    given(session, source, *range(10))
    seen: list[int] = []

    def twice(row: Any) -> Iterator[dict[str, Any]]:
        seen.append(row.id)
        yield {"id": row.id, "v": row.v}
        if len(seen) == 6:
            raise ValueError("once")
        yield {"id": row.id, "v": row.v}

    subscribe = session.subscribe(f"SELECT * FROM {source} EMIT CHANGES", name=source, to=f"{source}_out")
    with pytest.raises(ValueError, match="once"):
        subscribe(twice).wait(WAIT)
    assert results(session, source, 10) == sorted(seen[:5] * 2)
    again = session.subscribe(f"SELECT * FROM {source} EMIT CHANGES", name=source, to=f"{source}_out")(twice)
    assert again.wait(WAIT, rows=5)
    given(session, source, 10)
    assert again.wait(WAIT, rows=6)
    again.stop()
    assert results(session, source, 22) == sorted([*range(11)] * 2)
    assert Counter(seen) == Counter([*range(11), seen[5]])


def test_what_needs_spark_is_a_query_of_its_own(session: Session, source: str) -> None:
    given(session, source, 1, 1, 2)
    seen: list[tuple[int, int]] = []

    def note(row: Any) -> None:
        seen.append((row.id, row.n))

    counts = f"SELECT id, COUNT(*) AS n FROM {source} GROUP BY id EMIT CHANGES"
    first = session.subscribe(counts, name=f"{source}-n")(note)
    assert until(lambda: {(1, 2), (2, 1)} <= {*seen}, WAIT)
    first.stop()
    seen.clear()
    given(session, source, 2)
    again = session.subscribe(counts, name=f"{source}-n")(note)
    assert until(lambda: (2, 2) in seen, WAIT)
    again.stop()
    assert not {(1, 2), (2, 1)} & {*seen}
    expression = session.subscribe(f"SELECT id, UCASE(v) AS up FROM {source} EMIT CHANGES", name=f"{source}-up")
    ups: list[str] = []
    upper = expression(lambda row: ups.append(row.up))
    assert upper.wait(WAIT, rows=4)
    assert sorted(ups) == ["V1", "V1", "V2", "V2"]
    upper.stop()
    assert {f"SUBSCRIPTION_{source}-n", f"SUBSCRIPTION_{source}-up"} <= {q.sink for q in session.queries()}


def test_two_programs_with_one_name(session: Session, source: str) -> None:
    given(session, source, 1)
    asked = f"SELECT * FROM {source} EMIT CHANGES"
    older = session.subscribe(asked, name=source, to=f"{source}_out")(lambda row: {"id": row.id})
    assert older.wait(WAIT, rows=1)
    younger = session.subscribe(asked, name=source, to=f"{source}_out")(lambda row: {"id": row.id})
    given(session, source, 2)
    assert younger.wait(WAIT, rows=1)
    with pytest.raises(KsqlError) as refused:
        older.wait(WAIT)
    assert refused.value.code == "subscription-taken"
    younger.stop()
    assert results(session, source, 2) == [1, 2]


PROGRAM = """
import sys
import ksqlpy

url, source = sys.argv[1:]
with ksqlpy.connect(url) as session:
    @session.subscribe(
        f"SELECT * FROM {source} EMIT CHANGES", name=source, to=f"{source}_out",
        properties={"auto.offset.reset": "earliest"},
    )
    def twice(row):
        print(row.id, flush=True)
        return [{"id": row.id, "v": row.v}] * 2

    twice.wait()
"""


def test_a_program_that_is_killed_writes_each_result_once(engine: Engine, server: ServerThread) -> None:
    source, rows = "killed", 3_000
    declare(engine, source)
    command = [sys.executable, "-c", PROGRAM, server.url, source]
    seen: list[int] = []
    for n in range(6):
        if n < 5:
            given(engine, source, *range(n * rows // 5, (n + 1) * rows // 5))
        program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert program.stdout is not None
        with program:
            if n < 5:
                for line in program.stdout:
                    seen.append(int(line))
                    if len(seen) > (n + 1) * rows // 6:
                        break
                program.send_signal(signal.SIGKILL)
                seen += map(int, program.stdout.read().split())
            else:
                results(engine, source, 2 * rows)
                program.send_signal(signal.SIGINT)
                program.communicate(timeout=60)
    assert results(engine, source, 2 * rows) == sorted([*range(rows)] * 2)
