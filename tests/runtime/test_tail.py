"""What a query reads of its sink when it starts again, and what it need not work on again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ServiceLost
from ksqlpy.runtime import Engine
from ksqlpy.spark.checkpoint import Checkpoint
from ksqlpy.spark.clients import tell_jvm
from ksqlpy.spark.fencing import ProducerRegister
from ksqlpy.spark.once import Tail, place, sink_value
from ksqlpy.spark.query import Phase, RunningQuery
from ksqlpy.spark.query.spark_run import SparkRun
from tests.support.waiting import count as written
from tests.support.waiting import until

EARLIEST = {"auto.offset.reset": "earliest"}
SOURCES = """
CREATE STREAM orders (item STRING KEY, n INT) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE items (item STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC = 'items', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""


@pytest.fixture
def engine(spark: SparkSession, fresh_broker: EmbeddedKafka, tmp_path: Path) -> Iterator[Engine]:
    made = Engine(
        Config.of(
            {"bootstrap.servers": fresh_broker.bootstrap, "ksqlpy.data.dir": str(tmp_path), "ksqlpy.warm.up": "false"}
        )
    )
    made.start()
    made.execute(SOURCES)
    yield made
    made.stop()


def send(engine: Engine, topic: str, numbers: Sequence[int]) -> None:
    producer = Producer({"bootstrap.servers": engine.bootstrap, "queue.buffering.max.messages": 1_000_000})
    for n in numbers:
        producer.produce(topic, key=b"a", value=json.dumps({"N": n}).encode())
    assert producer.flush(20) == 0


def started(engine: Engine, text: str, **settings: object) -> RunningQuery:
    engine.execute(text, {**EARLIEST, **settings})
    [query_id] = engine.catalog.queries
    query = engine.queries.get(query_id)
    assert query is not None and query.live.wait(60)
    return query


def test_the_notes_of_the_sink(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note is as late as the last look ahead of its commit, and holds only for the batch that was seen to end."""
    monkeypatch.setattr("ksqlpy.runtime.recovery.watch.NOTE_EVERY", 1)  # looks a second, not one in five
    query = started(
        engine, "CREATE STREAM out WITH (KAFKA_TOPIC = 'out') AS SELECT * FROM orders;", **{"commit.interval.ms": 5000}
    )
    assert until(lambda: noted(query) > 0)
    batch = noted(query) + 1
    assert until(lambda: noted(query) == batch)  # it has just begun
    assert query.checkpoint.ends_before(batch)["out"] == {"0": 0}
    send(engine, "orders", range(10))
    assert until(lambda: noted(query) > batch)
    assert query.checkpoint.ends_before(batch)["out"] == {"0": 10}
    send(engine, "orders", range(5))
    assert until(lambda: written(engine, "out") == 15)
    engine.execute("PAUSE ALL;")
    engine.execute("RESUME ALL;")
    [query_id] = engine.catalog.queries
    again = engine.queries.get(query_id)
    assert again is not None and again.live.wait(60)
    # The batch after the next may begin anywhere now: what it has to leave out may lie before the 15.
    assert noted(again) == again.checkpoint.last_commit == batch
    assert until(lambda: noted(again) == batch + 2)
    assert again.checkpoint.ends_before(batch + 1)["out"] == {"0": 10}
    assert until(lambda: noted(again) == batch + 3)
    assert again.checkpoint.ends_before(batch + 2)["out"] == {"0": 15}


def test_a_note_of_an_earlier_start_does_not_count(spark: SparkSession, tmp_path: Path) -> None:
    """An engine that was stopped while another one took over goes on, and notes its interrupted batch."""
    stopped = Checkpoint(spark, str(tmp_path / "q"))
    stopped.begin_notes(-1)
    stopped.note(3, {"out": {"0": 30}})
    stopped.note(4, {"out": {"0": 45}})  # batch 4 runs
    other = Checkpoint(spark, str(tmp_path / "q"))
    other.begin_notes(3)
    assert other.noted == 3
    stopped.note(4, {"out": {"0": 45}})
    assert other.ends_before(4) == {"out": {"0": 30}}, "batch 4 of the other engine may end ahead of result 45"
    other.note(5, {"out": {"0": 60}})
    stopped.note(5, {"out": {"0": 90}})
    third = Checkpoint(spark, str(tmp_path / "q"))
    assert third.ends_before(5) == {"out": {"0": 60}}
    third.begin_notes(5)
    assert third.ends_before(5) == {"out": {"0": 60}} and third.ends_before(4) == {"out": {"0": 30}}


def test_notes_of_an_earlier_version_count(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = Checkpoint(spark, str(tmp_path / "q"))
    for batch in (2, 3):
        checkpoint._write(f"sink/{batch}", {"out": {"0": 10 * batch}})
    checkpoint.begin_notes(2)
    assert (checkpoint.noted, checkpoint.ends_before(9)) == (2, {"out": {"0": 20}})


def test_a_batch_that_another_engine_has_planned_is_planned_again(spark: SparkSession, tmp_path: Path) -> None:
    """An engine that has lost the service, and goes on when it is continued, may have planned it with fewer records."""
    checkpoint = Checkpoint(spark, str(tmp_path / "q"))
    for folder, batches in (("offsets", 3), ("commits", 2)):
        for n in range(batches):
            checkpoint.write(f"spark/{folder}/{n}", f'v1\n{{}}\n{{"in":{{"0":{n}}}}}')
    assert checkpoint.mend() == []
    assert (sorted(checkpoint.names("spark/offsets")), checkpoint.last_commit) == (["0", "1"], 1)


def test_an_engine_that_has_lost_the_service_plans_no_further_batch(engine: Engine) -> None:
    """It may be continued between two phases of a query, long after another one has taken the service."""
    query = started(engine, "CREATE STREAM out WITH (KAFKA_TOPIC = 'out') AS SELECT * FROM orders;")
    other = ProducerRegister(engine.kafka, engine.topics.producers, "other")
    other.take()
    try:
        with pytest.raises(ServiceLost):
            SparkRun(query._parts, query.spec, Phase.RECOVERY, None)._start()
    finally:
        other.close()


def noted(query: RunningQuery) -> int:
    found = query.checkpoint.noted
    return -1 if found is None else found


QUERIES = {
    "a filter": ("STREAM", "SELECT item, n + 1 AS m FROM orders WHERE n > 1", True),
    "a table as it is": ("TABLE", "SELECT item, n + 1 AS m FROM items", True),
    "a stream-table join": (
        "STREAM", "SELECT orders.item, items.n AS n FROM orders LEFT JOIN items ON orders.item = items.item", True,
    ),
    "a group": ("TABLE", "SELECT item, COUNT(*) AS n FROM orders GROUP BY item", False),
    "a group of a join": (
        "TABLE",
        "SELECT items.n AS n, COUNT(*) AS c FROM orders JOIN items ON orders.item = items.item GROUP BY items.n",
        False,
    ),
    "several results of a record": ("STREAM", "SELECT item, EXPLODE(ARRAY[n, n + 1]) AS m FROM orders", False),
    "a filter of a table, which remembers what passed": ("TABLE", "SELECT item, n FROM items WHERE n > 1", False),
}  # fmt: skip


def test_only_a_record_that_changes_no_state_and_has_one_result_is_done_with_as_it_is_read(engine: Engine) -> None:
    found = {}
    for i, (what, (kind, select, _)) in enumerate(QUERIES.items()):
        engine.execute(f"CREATE {kind} o{i} AS {select};")
        query = engine.queries.get(list(engine.catalog.queries)[-1])
        assert query is not None
        found[what] = query.spec.plan.done_as_read
        engine.execute("PAUSE ALL;")
    assert found == {what: done for what, (_, _, done) in QUERIES.items()}


def test_results_of_seventeen_topics_are_told_apart(engine: Engine) -> None:
    """What is numbered 0 and what is numbered 16 are two topics, though offset and partition are the same."""
    tables = [f"t{i}" for i in range(17)]
    with_ = "WITH (KAFKA_TOPIC = '{0}', VALUE_FORMAT = 'JSON', PARTITIONS = 1)"
    engine.execute(" ".join(f"CREATE TABLE {t} (item STRING PRIMARY KEY, n INT) {with_.format(t)};" for t in tables))
    joined = " ".join(f"FULL JOIN {b} ON {a}.item = {b}.item" for a, b in itertools.pairwise(tables))
    select = f"SELECT ROWKEY AS item, t0.n AS a, t16.n AS b FROM t0 {joined}"
    topic = "WITH (KAFKA_TOPIC = 'joined')"
    started(engine, f"CREATE TABLE joined {topic} AS {select};", **{"commit.interval.ms": 3_600_000})
    send(engine, "t16", [5])
    assert until(lambda: written(engine, "joined") == 1)
    engine.execute("PAUSE ALL;")
    send(engine, "t0", [7])
    engine.execute("RESUME ALL;")
    assert until(lambda: written(engine, "joined") == 2)


@dataclass(frozen=True)
class At:
    """What a header says: the record's place, which of its results this is, the offsets seen of two joined tables."""

    topic: int
    partition: int
    offset: int
    window: int
    seen: tuple[int, int]


HEADERS = {
    At(0, 0, 0, 0, (-1, -1)): "fec2dc340000000101",
    At(0, 3, 7, 1_700_000_000_000, (2, -1)): "fec2dc34060e80a0abfef9620401",
    At(15, 0, 0, 0, (0, 5)): "fec2dc348080780000000a",
    At(16, 0, 0, 0, (1, 6)): "fec2dc34808080010000020c",
    At(17, 65_535, 2**40, 3, (-1, 9)): "fec2dc34feff8f01808080808040060112",
    At(300, 1, 2**62, -(2**62), (4, 4)): "fec2dc348280e01280808080808080808001ffffffffffffffff7f0808",
}
"""Headers of the query Q_1 in hexadecimal, written when a tail had room for 16 topics. They do not change."""


@pytest.mark.parametrize("at", HEADERS, ids=lambda at: f"topic {at.topic}")
def test_a_header_is_written_as_ever(spark: SparkSession, at: At) -> None:
    where = place(at.topic, str(at.partition))
    seen = [f"{offset}L" for offset in at.seen]
    sent = sink_value("1L", "cast(null as binary)", (where, f"{at.offset}L", f"{at.window}L"), seen)
    [(value,)] = spark.range(1).selectExpr(sent).collect()
    jvm: Any = spark._jvm
    interceptor = jvm.ksqlpy.sink.SinkInterceptor()
    interceptor.configure({"client.id": "Q_1"})
    record = interceptor.onSend(
        jvm.org.apache.kafka.clients.producer.ProducerRecord("t", bytearray(), bytearray(value))
    )
    assert bytes(record.headers().lastHeader("ksqlpy.at").value()).hex() == HEADERS[at]


def test_headers_are_read_as_ever_and_kept_apart(engine: Engine, spark: SparkSession) -> None:
    engine.kafka.create_topic("results", 1, None, {})
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for header in HEADERS.values():
        producer.produce("results", b"{}", headers=[("ksqlpy.at", bytes.fromhex(header))])
    assert producer.flush(20) == 0
    tell_jvm(engine.session, engine.connection)
    ends = {"results": {"0": len(HEADERS)}}
    tail = Tail(engine.connection, "Q_1", 2, {"results": {"0": 0}}, ends, unsigned=ends)
    found = []
    for at in HEADERS:
        where, offset = place(at.topic, str(at.partition)), f"{at.offset}L"
        asked = [tail.position(where, offset, f"{at.window}L"), *(tail.table(where, offset, n) for n in range(2))]
        # Another topic, partition, offset or window has none.
        others = [
            tail.position(place(at.topic + 32, str(at.partition)), offset, f"{at.window}L"),
            tail.position(where, f"{at.offset + 1}L", f"{at.window}L"),
            tail.position(where, offset, f"{at.window + 1}L"),
        ]
        found.append(tuple(spark.range(1).selectExpr(*asked, *others).collect()[0]))
    assert found == [(n, *at.seen, None, None, None) for n, at in enumerate(HEADERS)]


def test_a_dead_letter_does_not_say_that_the_results_before_it_are_there(engine: Engine, spark: SparkSession) -> None:
    """The broker may have taken it, and not yet the result of a record before it."""
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for topic in ("results", "dead"):
        engine.kafka.create_topic(topic, 1, None, {})
        header = bytes.fromhex(HEADERS[At(0, 3, 7, 1_700_000_000_000, (2, -1))])
        producer.produce(topic, key=topic.encode(), value=b"{}", headers=[("ksqlpy.at", header)])
    assert producer.flush(20) == 0
    start, end = {"results": {"0": 0}, "dead": {"0": 0}}, {"results": {"0": 1}, "dead": {"0": 1}}
    tell_jvm(engine.session, engine.connection)
    tail = Tail(engine.connection, "Q_1", 2, start, end, unsigned=end, by_key=True, results="results")
    asked = [tail.is_ahead("3", "6L", f"cast('{key}' as binary)") for key in ("results", "dead")]
    assert list(spark.range(1).selectExpr(*asked).collect()[0]) == [True, False]
