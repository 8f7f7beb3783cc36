"""REWIND: queries drop their state and read their sources again, from the beginning or from a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.spark.checkpoint import Checkpoint
from tests.runtime.lifecycle import EARLIEST, Read, all_live, configured, read, send
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

RIDES = """
CREATE STREAM {n}_rides (id STRING KEY, km INT) WITH (kafka_topic='{n}_rides', value_format='JSON', partitions=1);
CREATE TABLE {n}_drivers (id STRING PRIMARY KEY, name STRING)
  WITH (kafka_topic='{n}_drivers', value_format='JSON', partitions=1);
"""
MAY, JUNE = 1_777_593_600_000, 1_780_272_000_000
"""2026-05-01 and 2026-06-01, ms since 1970."""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("rewind")
    made = Engine(configured(broker, folder, "rewind"))
    made.start()
    yield made
    made.stop()


def ride(engine: Engine, topic: str, rides: list[tuple[str, int, int]]) -> None:
    """Writes rides: id, kilometres, time."""
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for key, km, at in rides:
        producer.produce(topic, key=key.encode(), value=b'{"KM": %d}' % km, timestamp=at)
    assert producer.flush(20) == 0


def begin(engine: Engine, statement: str) -> str:
    """Starts a query; gives its id once it runs."""
    query = str(engine.execute(statement, EARLIEST)[-1]["commandStatus"]["queryId"])
    assert until(lambda: all_live(engine))
    return query


def rewind(engine: Engine, query: str, to: str) -> dict[str, Any]:
    [answer] = engine.execute(f"REWIND {query} TO {to};")
    return dict(answer)


def columns(found: Read, *names: str) -> list[tuple[object, ...]]:
    return [(None if key is None else key.decode(), *(value[n] for n in names)) for key, value in found]


FOUR = [("ann", 1, MAY - 2), ("bob", 2, MAY - 1), ("ann", 3, MAY), ("bob", 4, JUNE)]


def test_a_stream_is_written_again(engine: Engine) -> None:
    engine.execute(RIDES.format(n="again"))
    ride(engine, "again_rides", FOUR)
    query = begin(engine, "CREATE STREAM again AS SELECT id, km * 10 AS m FROM again_rides;")
    assert columns(read(engine, "AGAIN", 4), "M") == [("ann", 10), ("bob", 20), ("ann", 30), ("bob", 40)]
    answer = rewind(engine, query, "BEGINNING")
    assert answer["commandStatus"]["message"] == "Query rewound."
    assert answer["warnings"] == []
    assert [m for _, m in columns(read(engine, "AGAIN", 8), "M")] == [10, 20, 30, 40] * 2
    rewind(engine, query, "'2026-05-01'")
    assert [m for _, m in columns(read(engine, "AGAIN", 10), "M")] == [10, 20, 30, 40, 10, 20, 30, 40, 30, 40]
    rewind(engine, query, "'2026-06-01T02:00:00+02:00'")
    assert [m for _, m in columns(read(engine, "AGAIN", 11), "M")][10:] == [40]
    rewind(engine, query, "'1969-12-31T23:59:59.999'")  # a millisecond before 1970, by which Kafka means the end
    assert [m for _, m in columns(read(engine, "AGAIN", 15), "M")][11:] == [10, 20, 30, 40]
    ride(engine, "again_rides", [("eve", 5, JUNE)])
    assert columns(read(engine, "AGAIN", 16), "M")[15:] == [("eve", 50)]


def test_an_aggregate_begins_without_its_state(engine: Engine) -> None:
    engine.execute(RIDES.format(n="sums"))
    ride(engine, "sums_rides", FOUR)
    query = begin(engine, "CREATE TABLE sums AS SELECT id, SUM(km) AS km FROM sums_rides GROUP BY id;")
    due = [("ann", 1), ("bob", 2), ("ann", 4), ("bob", 6)]
    assert columns(read(engine, "SUMS", 4), "KM") == due
    running = engine.queries.get(query)
    assert running is not None
    assert until(lambda: running.checkpoint.last_commit is not None)
    rewind(engine, query, "BEGINNING")
    assert columns(read(engine, "SUMS", 8), "KM") == due * 2
    rewind(engine, query, "'2026-05-01'")
    assert columns(read(engine, "SUMS", 10), "KM")[8:] == [("ann", 3), ("bob", 4)]


def test_tables_are_read_from_their_beginning(engine: Engine) -> None:
    engine.execute(RIDES.format(n="joined"))
    send(engine, "joined_drivers", [("ann", {"NAME": "Ann"}, 0), ("bob", {"NAME": "Bob"}, 0)])
    query = begin(
        engine,
        "CREATE STREAM joined AS SELECT r.id AS id, km, name FROM joined_rides r JOIN joined_drivers d ON r.id = d.id;",
    )
    until(lambda: False, 1.0)
    now = int(time.time() * 1000)
    ride(engine, "joined_rides", [("ann", 1, now), ("bob", 2, now + 1)])
    assert columns(read(engine, "JOINED", 2), "KM", "NAME") == [("ann", 1, "Ann"), ("bob", 2, "Bob")]
    rewind(engine, query, f"'{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now // 1000))}'")
    assert columns(read(engine, "JOINED", 4), "KM", "NAME")[2:] == [("ann", 1, "Ann"), ("bob", 2, "Bob")]


def test_a_paused_query_begins_again_when_it_is_resumed(engine: Engine) -> None:
    engine.execute(RIDES.format(n="rest"))
    ride(engine, "rest_rides", FOUR[:2])
    query = begin(engine, "CREATE TABLE rest AS SELECT id, COUNT(*) AS n FROM rest_rides GROUP BY id;")
    read(engine, "REST", 2)
    engine.execute(f"PAUSE {query};")
    rewind(engine, query, "BEGINNING")
    assert len(read(engine, "REST", 2)) == 2
    engine.execute(f"RESUME {query};")
    assert columns(read(engine, "REST", 4), "N") == [("ann", 1), ("bob", 1)] * 2


def test_rows_that_no_checkpoint_holds_are_not_written_twice(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path
) -> None:
    config = configured(broker, tmp_path, "rewound").for_statement({"commit.interval.ms": 60_000})
    engine = Engine(config)
    engine.start()
    try:
        engine.execute(RIDES.format(n="once"))
        query = begin(engine, "CREATE TABLE once AS SELECT id, COUNT(*) AS n FROM once_rides GROUP BY id;")
        ride(engine, "once_rides", FOUR)
        read(engine, "ONCE", 4)
        rewind(engine, query, "BEGINNING")
        read(engine, "ONCE", 8)
    finally:
        engine.stop()
    again = Engine(config)
    again.start()
    try:
        assert until(lambda: all_live(again))
        ride(again, "once_rides", [("ann", 9, JUNE)])
        assert columns(read(again, "ONCE", 9), "N") == [("ann", 1), ("bob", 1), ("ann", 2), ("bob", 2)] * 2 + [
            ("ann", 3)
        ]
    finally:
        again.stop()


def test_rows_that_inserts_write_come_again(engine: Engine) -> None:
    engine.execute(RIDES.format(n="into"))
    engine.execute(
        "CREATE STREAM all_rides (id STRING KEY, km INT) WITH (kafka_topic='all_rides', format='JSON', partitions=1);"
    )
    query = begin(engine, "INSERT INTO all_rides SELECT id, km FROM into_rides;")
    ride(engine, "into_rides", FOUR[:2])
    read(engine, "all_rides", 2)
    rewind(engine, query, "BEGINNING")
    assert [v for _, v in read(engine, "all_rides", 4)] == [{"KM": 1}, {"KM": 2}] * 2


def test_deleted_records_are_named(engine: Engine) -> None:
    engine.execute(RIDES.format(n="cut"))
    ride(engine, "cut_rides", FOUR)
    query = begin(engine, "CREATE STREAM cut AS SELECT id, km FROM cut_rides;")
    read(engine, "CUT", 4)
    admin = AdminClient({"bootstrap.servers": engine.bootstrap})
    [deleted] = admin.delete_records([TopicPartition("cut_rides", 0, 3)]).values()
    deleted.result()
    warnings = [w["message"] for w in rewind(engine, query, "'2026-05-01'")["warnings"]]
    assert warnings == ["topic cut_rides has lost its first records: in partition 0 it begins with offset 3"]
    assert columns(read(engine, "CUT", 5), "KM")[4:] == [("bob", 4)]


def refused(engine: Engine, statement: str) -> KsqlError:
    with pytest.raises(KsqlError) as e:
        engine.execute(statement)
    return e.value


def test_what_cannot_be_rewound_is_refused_and_goes_on(engine: Engine) -> None:
    engine.execute(RIDES.format(n="odd"))
    ride(engine, "odd_rides", FOUR)
    query = begin(engine, "CREATE STREAM odd AS SELECT id, km FROM odd_rides;")
    table = begin(engine, "CREATE TABLE odd_names AS SELECT id, name FROM odd_drivers;")
    read(engine, "ODD", 4)
    assert refused(engine, f"REWIND {query} TO '2026-07-01';").code == "nothing-to-rewind"
    assert refused(engine, f"REWIND {query} TO 'yesterday';").code == "invalid-time"
    assert refused(engine, f"REWIND {table} TO '2026-05-01';").code == "rewind-of-table"
    assert refused(engine, "REWIND nobody TO BEGINNING;").code == "unknown-query"
    ride(engine, "odd_rides", [("eve", 5, JUNE)])
    assert len(read(engine, "ODD", 5)) == 5


# ------------------------------------------------------------ the checkpoint


def test_an_era_that_was_rewound_forgets_what_was_written(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = Checkpoint(spark, str(tmp_path))
    checkpoint.note(3, {"out": {"0": 10}})
    checkpoint.write("spark/offsets/3", 'v1\n{}\n{"in": {"0": 7}}')
    checkpoint.write("spark/commits/3", "v1\n{}")
    assert checkpoint.position({"in": {"0": 2}}, 0) == {"in": {"0": 7}}
    assert checkpoint.rewinds(2)
    assert checkpoint.position({"in": {"0": 2}}, 2) == {"in": {"0": 2}}
    for _ in range(2):  # the second time nothing is left to do
        assert checkpoint.begin_era(2, {"out": {"0": 30}}) == {}
        assert checkpoint.ends_before(-1) == {"out": {"0": 30}}
        assert checkpoint.last_commit is None
        assert not checkpoint.rewinds(2)
