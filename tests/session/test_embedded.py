"""An embedded engine: statements, queries and rows on a real broker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError, RowProblem
from ksqlpy.server.run import ServerThread
from ksqlpy.session.asynchronous import AsyncSession
from ksqlpy.session.embedded import Engine
from ksqlpy.session.remote import connect
from ksqlpy.session.session import Session

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

WAIT = 300
"""Seconds for which a table is waited for: tests run beside others."""
EARLIEST = {"auto.offset.reset": "earliest"}
RIDES = (
    "CREATE STREAM rides (id INT KEY, borough STRING, total DECIMAL(8, 2))"
    " WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"
)


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("library")
    config = {"ksqlpy.warm.up": "false", "commit.interval.ms": 2000, "ksql.service.id": "library_"}
    with Engine(broker.bootstrap, folder / "data", config) as engine:
        assert (folder / "data").stat().st_mode & 0o777 == 0o700
        engine.sql(RIDES)
        engine.properties.update(EARLIEST)
        engine.sql(
            "CREATE TABLE revenue AS SELECT borough, SUM(total) AS total, COUNT(*) AS n FROM rides GROUP BY borough;"
        )
        yield engine


def test_rows_come_back_as_they_were_given(engine: Engine) -> None:
    engine.sql(
        "CREATE STREAM kinds (id INT KEY, b BOOLEAN, big BIGINT, d DOUBLE, money DECIMAL(6, 2), s STRING, raw BYTES,"
        " day DATE, clock TIME, stamp TIMESTAMP, l ARRAY<DATE>, m MAP<STRING, BYTES>, o STRUCT<x INT, y TIMESTAMP>)"
        " WITH (KAFKA_TOPIC='kinds', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    stamp = datetime(2024, 5, 6, 7, 8, 9, 12_000, UTC)
    full = {
        "id": 1,
        "b": True,
        "big": 2**62,
        "d": 0.1,
        "money": Decimal("12.50"),
        "s": "é\n'",
        "raw": b"\x00\xff",
        "day": date(2024, 5, 6),
        "clock": time(7, 8, 9),
        "stamp": stamp,
        "l": [date(1970, 1, 1)],
        "m": {"k": b"\x01"},
        "o": {"X": 1, "Y": stamp},
    }
    assert engine.insert("kinds", [full, {"id": 2}]) == 2
    for query in ("SELECT * FROM kinds", "SELECT * FROM kinds EMIT CHANGES LIMIT 2;"):
        with engine.query(query) as result:
            rows = result.fetchall()
        assert [list(r) for r in rows] == [list(full.values()), [2, *[None] * 12]], query
        assert [str(c.type) for c in result.columns][4:6] == ["DECIMAL(6, 2)", "STRING"]


def test_a_pull_query_by_spark_and_a_lookup(engine: Engine) -> None:
    engine.insert("rides", [{"id": n, "borough": "Queens", "total": "1.10"} for n in range(3)])
    wait = {"ksqlpy.pull.wait.ms": WAIT * 1000}
    [row] = engine.query("SELECT * FROM revenue WHERE borough = 'Queens'", properties=wait)
    assert (row.borough, row.total, row.n) == ("Queens", Decimal("3.30"), 3)
    [row] = engine.query("SELECT UCASE(borough) AS b, n FROM revenue WHERE borough = 'Queens';")
    assert row.asdict() == {"B": "QUEENS", "N": 3}
    assert engine.query("SELECT * FROM revenue WHERE borough = 'nowhere';").fetchall() == []


def test_all_rows_of_a_large_stream(engine: Engine) -> None:
    engine.sql("CREATE STREAM large (id INT, t STRING) WITH (KAFKA_TOPIC='large', VALUE_FORMAT='JSON', PARTITIONS=1);")
    count = 20_000
    engine.insert("large", ({"id": n, "t": "x" * 80} for n in range(count)))
    assert [row.id for row in engine.query("SELECT * FROM large;")] == [*range(count)]
    assert engine.query("SELECT id FROM large;").arrow()["ID"].to_pylist() == [*range(count)]
    with ServerThread(engine._engine) as server, connect(server.url) as session:
        assert [row.id for row in session.query("SELECT * FROM large;")] == [*range(count)]


def test_a_push_query_ends_when_another_thread_closes_it(engine: Engine) -> None:
    with engine.query("SELECT id FROM rides EMIT CHANGES", properties={"auto.offset.reset": "latest"}) as push:
        threading.Timer(1.0, push.close).start()
        engine.insert("rides", [{"id": 77, "borough": "Bronx"}])
        assert [r.id for r in push] == [77]


def test_an_answer(engine: Engine) -> None:
    [made] = engine.sql("CREATE STREAM ${name} AS SELECT * FROM rides WHERE id > ${least};", name="dear", least=10**6)
    assert (made.kind, made.query_id) == ("currentStatus", made["commandStatus"]["queryId"])
    [shown] = engine.sql("SHOW STREAMS;")
    assert "DEAR" in shown.text and "DEAR" in [s["name"] for s in shown["streams"]]


def test_what_a_text_sets_holds_behind_it(engine: Engine) -> None:
    engine.sql("SET 'ksql.query.pull.stream.enabled' = 'false'; DEFINE source = 'rides';")
    with pytest.raises(KsqlError):
        engine.query("SELECT * FROM ${source};")
    engine.sql("UNSET 'ksql.query.pull.stream.enabled';")
    engine.query("SELECT * FROM ${source};").close()
    engine.sql("UNDEFINE source;")
    assert engine.properties == EARLIEST and engine.variables == {}


def test_a_row_that_is_refused(engine: Engine) -> None:
    with pytest.raises(RowProblem, match=r"row 2 is not inserted: .*; those before it are") as refused:
        engine.insert("rides", [{"id": 500}, {"id": "many"}, {"id": 501}])
    assert (refused.value.inserted, refused.value.code) == (1, "invalid-number")
    with pytest.raises(KsqlError) as bad:
        engine.insert("rides", [7])
    assert bad.value.code == "bad-row"
    assert [r.id for r in engine.query("SELECT id FROM rides WHERE id >= 500")] == [500]


def test_print_is_no_query(engine: Engine) -> None:
    with pytest.raises(KsqlError) as refused:
        engine.query("PRINT rides FROM BEGINNING LIMIT 1;")
    assert refused.value.code == "not-a-query"


def test_rows_of_a_table_by_their_keys(engine: Engine) -> None:
    engine.insert("rides", [{"id": 1, "borough": "O'Hara; ${x}", "total": 2}])
    table = engine.table("Revenue")
    found = table.get("O'Hara; ${x}", wait=WAIT)
    assert found is not None and (found.total, found.n) == (Decimal("2.00"), 1)
    assert table["O'Hara; ${x}"] == found and "O'Hara; ${x}" in table
    assert (table.get("nowhere"), table.get("nowhere", 0), "nowhere" in table) == (None, 0, False)
    with pytest.raises(KeyError, match="nowhere"):
        table["nowhere"]
    assert dict(table.items())["O'Hara; ${x}"] == found
    assert found in list(table.values()) and "O'Hara; ${x}" in set(table)
    for odd in (lambda: table["a", "b"], lambda: table.range("a")):
        with pytest.raises(KsqlError) as refused:
            odd()
        assert refused.value.code == "bad-key-value"
    with pytest.raises(KsqlError) as refused:
        engine.table("rides")
    assert refused.value.code == "not-a-table"
    with pytest.raises(KsqlError) as refused:
        engine.table("nowhere")
    assert refused.value.code == "unknown-source"


def test_a_table_by_two_keys_and_by_windows(engine: Engine) -> None:
    engine.sql(
        "CREATE STREAM trips (id INT KEY, borough STRING)"
        " WITH (KAFKA_TOPIC='trips', VALUE_FORMAT='JSON', PARTITIONS=1);"
        "CREATE TABLE pairs WITH (KEY_FORMAT='JSON') AS"
        " SELECT borough, id, COUNT(*) AS n FROM trips GROUP BY borough, id;"
        "CREATE TABLE per_hour AS SELECT borough, COUNT(*) AS n FROM trips"
        " WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY borough;"
    )
    day = datetime(2024, 5, 6, tzinfo=UTC)
    rows = [
        {"id": 9, "borough": "Harlem", "ROWTIME": int(day.timestamp() * 1000) + h * 3_600_000} for h in (0, 1, 1, 3)
    ]
    assert engine.insert("trips", rows) == 4
    pairs, hours = engine.table("pairs"), engine.table("per_hour")
    found = pairs.get(("Harlem", 9), wait=WAIT)
    assert found is not None and found.n == 4
    assert ("Harlem", 9) in dict(pairs.items())
    assert [r.n for r in hours.range("Harlem", wait=WAIT)] == [1, 2, 1]
    assert [r.n for r in hours.range("Harlem", day + timedelta(hours=1), day + timedelta(hours=3))] == [2]
    one = hours["Harlem", day + timedelta(hours=1)]
    assert (one.n, one.windowstart) == (2, int(day.timestamp() * 1000) + 3_600_000)
    assert dict(hours.items())["Harlem", one.windowstart] == one
    with pytest.raises(KsqlError) as refused:
        hours["Harlem"]
    assert refused.value.code == "bad-key-value"


def test_a_persistent_query(engine: Engine) -> None:
    [made] = engine.sql("CREATE STREAM big AS SELECT * FROM rides WHERE total > 1000;")
    assert made.query_id is not None
    query = engine.persistent(made.query_id)
    assert query.id in [q.id for q in engine.queries()]
    assert (query.sink, query.sources) == ("BIG", ["RIDES"]) and "total > 1000" in query.sql
    engine.insert("rides", [{"id": 1, "borough": "Queens", "total": 5000}])
    query.wait(timeout=WAIT)
    assert [r.total for r in engine.query("SELECT total FROM big")] == [5000]
    assert query.state == "RUNNING" and query.figures()["live"]
    query.pause()
    assert query.state == "PAUSED"
    with pytest.raises(KsqlError) as ahead:
        query.wait(timeout=5)
    assert ahead.value.code == "inputs-ahead" and "PAUSED" in ahead.value.message
    query.resume()
    query.wait(caught_up=False, timeout=WAIT)
    query.terminate()
    for use in (query.figures, lambda: engine.persistent("nothing")):
        with pytest.raises(KsqlError) as gone:
            use()
        assert gone.value.code == "unknown-query"
    with pytest.raises(KsqlError) as refused:
        query.wait(timeout=-1)
    assert refused.value.code == "bad-wait"


def test_the_same_over_rest(engine: Engine) -> None:
    with ServerThread(engine._engine) as server, connect(server.url) as session:
        session.properties.update(EARLIEST)
        session.insert("rides", [{"id": 2, "borough": "Rest", "total": Decimal("3.33")}])
        table = session.table("revenue")
        row = table.get("Rest", wait=WAIT)
        assert row == ("Rest", Decimal("3.33"), 1) and type(row.total) is Decimal
        [query] = [q for q in session.queries() if q.sink == "REVENUE"]
        query.wait(timeout=WAIT)
        asked = "SELECT total, FROM_UNIXTIME(ROWTIME) AS came FROM rides WHERE borough = :b"
        [local] = engine.query(asked, b="Rest")
        with session.query(f"{asked} EMIT CHANGES", b="Rest") as push:
            assert push.fetchone() == local and local.came.tzinfo is UTC


async def _with_asyncio(engine: Engine) -> None:
    async with AsyncSession(lambda: Lent(engine)) as session:
        assert await session.insert("rides", [{"id": 3, "borough": "Async", "total": 1}]) == 1
        table = await session.table("revenue")
        assert (await table.get("Async", wait=WAIT)).n == 1 and (await table["Async"]).n == 1
        assert "Async" in {key async for key, _ in table.items()}
        result = await session.query("SELECT id FROM rides WHERE borough = :b EMIT CHANGES", b="Async")
        async with result:
            assert await result.fetchone() == (3,)
        [query] = [q for q in await session.queries() if q.sink == "REVENUE"]
        await query.wait(timeout=WAIT)
        assert await query.state() == "RUNNING"


class Lent(Session):
    """The session of a test, for another one that must not close it."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine._transport, "a lent engine")
        self.properties = dict(EARLIEST)
        self._forgotten.detach()

    def close(self) -> None:
        self._closing = True


def test_with_asyncio(engine: Engine) -> None:
    asyncio.run(_with_asyncio(engine))


def test_a_process_has_one_engine(engine: Engine) -> None:
    with pytest.raises(KsqlError) as refused:
        Engine()
    assert refused.value.code == "engine-open"
