"""An embedded engine: statements, queries and rows on a real broker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.session.embedded import Engine

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

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
    wait = {"ksqlpy.pull.wait.ms": 60_000}
    [row] = engine.query("SELECT * FROM revenue WHERE borough = 'Queens'", properties=wait)
    assert (row.borough, row.total, row.n) == ("Queens", Decimal("3.30"), 3)
    [row] = engine.query("SELECT UCASE(borough) AS b, n FROM revenue WHERE borough = 'Queens';")
    assert row.asdict() == {"B": "QUEENS", "N": 3}
    assert engine.query("SELECT * FROM revenue WHERE borough = 'nowhere';").fetchall() == []


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
    with pytest.raises(KsqlError) as refused:
        engine.insert("rides", [{"id": 500}, {"id": "many"}, {"id": 501}])
    assert refused.value.message.startswith("row 2 is not inserted: ") and "1 rows before it" in str(refused.value)
    with pytest.raises(KsqlError) as bad:
        engine.insert("rides", [7])
    assert bad.value.code == "bad-row"
    assert [r.id for r in engine.query("SELECT id FROM rides WHERE id >= 500")] == [500]


def test_print_is_no_query(engine: Engine) -> None:
    with pytest.raises(KsqlError) as refused:
        engine.query("PRINT rides FROM BEGINNING LIMIT 1;")
    assert refused.value.code == "not-a-query"


def test_a_process_has_one_engine(engine: Engine) -> None:
    with pytest.raises(KsqlError) as refused:
        Engine()
    assert refused.value.code == "engine-open"
