"""Streams of rows on a broker: each row once and in order, acknowledged in order, and what ends a stream."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Message, TopicPartition

from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem, EngineProblem
from ksqlpy.runtime import inserting
from ksqlpy.runtime.inserting import InsertStreams
from ksqlpy.runtime.insertrows import InsertStream
from ksqlpy.spark.kafka import Kafka
from ksqlpy.testing.memory import MemoryEngine
from tests.harness.broker import Broker
from tests.support.waiting import messages, until

pytestmark = pytest.mark.kafka

STATEMENTS = """
CREATE STREAM rides (city STRING KEY, id BIGINT, metres DOUBLE)
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE people (id INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = 'people', VALUE_FORMAT = 'DELIMITED', PARTITIONS = 1);
CREATE STREAM small (v STRING) WITH (KAFKA_TOPIC = 'small', VALUE_FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE SOURCE STREAM seen (v INT) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON');
CREATE STREAM windows (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', WINDOW_TYPE = 'SESSION');
"""
TOPICS = {"rides": 4, "people": 1, "small": 1}


@pytest.fixture
def engine() -> MemoryEngine:
    made = MemoryEngine(None)  # type: ignore[arg-type]  # nothing is run
    made.execute(STATEMENTS)
    return made


def streams_on(bootstrap: str, engine: MemoryEngine) -> InsertStreams:
    """Streams whose catalog is that of an engine without brokers."""
    connection = KafkaConnection(bootstrap)
    kafka = Kafka(connection)
    for topic, partitions in TOPICS.items():
        kafka.create_topic(topic, partitions, None, {"max.message.bytes": "2000"} if topic == "small" else {})
    topics = SimpleNamespace(
        inserts="_ksqlpy-test_inserts", subscriptions="_ksqlpy-test_subscriptions", partitions=kafka.partitions
    )
    config = Config.of({})
    brokers = SimpleNamespace(
        connection=connection, kafka=kafka, topics=topics, config=config, check_owner=lambda: None
    )

    class Catalogs:
        catalog = property(lambda self: engine.catalog)

        def written(self, source: Any) -> Any:
            return source

    return InsertStreams(cast(Any, brokers), cast(Any, Catalogs()), lambda: cast(Any, None))


@pytest.fixture
def streams(fresh_broker: EmbeddedKafka, engine: MemoryEngine) -> Iterator[InsertStreams]:
    made = streams_on(fresh_broker.bootstrap, engine)
    yield made
    made.close()


def lines(*rows: object) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows]


def written(stream: InsertStream, rows: list[bytes], seconds: float = 40) -> None:
    """Writes all, as far as they are taken, and waits until it is known what became of them."""
    changed = threading.Event()
    stream.tell = changed.set
    while rows and not stream.ended:
        rows = rows[stream.write(rows) :]
        changed.wait(0.01)
        changed.clear()
    assert until(lambda: stream.failure is not None or stream.acked == stream.taken, seconds, every=0.01)


def topic(streams: InsertStreams, name: str) -> list[Message]:
    """The records of a topic that has none of transactions."""
    kafka = streams.brokers.kafka
    ends = kafka.offsets({name: TOPICS[name]}, latest=True)[name]
    consumer = kafka.reader()
    consumer.assign([TopicPartition(name, int(p), 0) for p in ends])
    return messages(cast(Any, consumer), sum(ends.values()), quiet=0.5)


def test_each_row_once_and_in_order(streams: InsertStreams) -> None:
    cities = [f"city {n}" for n in range(9)]
    rows = [{"CITY": cities[n % 9], "ID": n, "METRES": n / 4} for n in range(30_000)]
    stream = streams.open("rides")
    written(stream, lines(*rows))
    assert (stream.acked, stream.taken, stream.failure) == (30_000, 30_000, None)
    found: dict[str, list[int]] = {}
    for m in topic(streams, "rides"):
        value = json.loads(m.value() or b"")
        assert value["METRES"] == value["ID"] / 4
        found.setdefault((m.key() or b"").decode(), []).append(value["ID"])
    assert found == {city: list(range(n, 30_000, 9)) for n, city in enumerate(cities)}


def test_many_streams_at_one_time(streams: InsertStreams) -> None:
    open_ = [streams.open("people") for _ in range(8)]

    def insert(number: int) -> None:
        written(open_[number], lines(*[{"id": number * 1000 + n, "name": "x"} for n in range(1000)]))

    threads = [threading.Thread(target=insert, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [s.acked for s in open_] == [1000] * 8
    assert len({m.key() for m in topic(streams, "people")}) == 8000


def test_a_bad_row_ends_it_behind_those_before_it(streams: InsertStreams) -> None:
    stream = streams.open("people")
    written(stream, lines({"id": 1, "name": "Ann"}, {"id": 2}, {"name": "nobody"}, {"id": 3}))
    assert (stream.acked, stream.taken, stream.ended) == (2, 2, True)
    assert stream.failure is not None
    assert (stream.failure.code, stream.failure.error_code) == ("no-key", 40000)
    assert [m.value() for m in topic(streams, "people")] == [b"Ann", b""]
    assert stream.write(lines({"id": 4})) == 0


def test_a_row_that_the_topic_does_not_take(streams: InsertStreams) -> None:
    stream = streams.open("small")
    written(stream, lines({"v": "a"}, {"v": "x" * 5000}, {"v": "b"}))
    assert stream.acked == 1
    assert stream.failure is not None
    assert "which are too many for the topic" in stream.failure.message
    assert stream.failure.error_code == 40001
    other = streams.open("small")
    written(other, lines({"v": "c"}))
    assert other.acked == 1


def test_times(streams: InsertStreams) -> None:
    stream = streams.open("people")
    written(stream, lines({"id": 1, "ROWTIME": 1_700_000_000_000}, {"id": 2, "ROWTIME": -1}))
    assert [m.timestamp()[1] for m in topic(streams, "people")] == [1_700_000_000_000]
    assert stream.failure is not None and stream.failure.message == "ROWTIME -1 is before 1970"
    late = streams.open("people")
    written(late, lines({"id": 1, "ROWTIME": 2**62}))
    assert late.failure is not None and "too late" in late.failure.message


@pytest.mark.parametrize(
    ("target", "code", "says"),
    [
        ("nowhere", "unknown-source", "there is no stream or table NOWHERE"),
        ("ride", "unknown-source", "there is no stream or table RIDE (hint: did you mean `RIDES`?"),
        ("`rides`", "unknown-source", "there is no stream or table rides"),
        ("rides; DROP STREAM rides", "unknown-source", "is no name of a stream or table"),
        ("", "unknown-source", "'' is no name of a stream or table"),
        ("select", "unknown-source", "'select' is no name"),
        ("seen", "read-only", "stream SEEN was made with CREATE SOURCE and can only be read"),
        ("windows", "windowed-source", "WINDOWS has a windowed key"),
    ],
)
def test_targets_that_are_not_written(streams: InsertStreams, target: str, code: str, says: str) -> None:
    with pytest.raises(ConfigProblem) as caught:
        streams.open(target)
    assert (caught.value.code, caught.value.error_code) == (code, 40000)
    assert says in caught.value.summary()


@pytest.mark.parametrize("target", ["RIDES", "rides", "Rides", "`RIDES`", '"RIDES"'])
def test_names_of_targets(streams: InsertStreams, target: str) -> None:
    assert streams.open(target).taken == 0


def test_a_source_that_is_changed_while_rows_come(streams: InsertStreams, engine: MemoryEngine) -> None:
    stream = streams.open("rides")
    written(stream, lines({"id": 1}))
    engine.execute("ALTER STREAM rides ADD COLUMN note STRING;")
    written(stream, lines({"id": 2, "note": "new"}))
    assert stream.acked == 2
    assert {json.loads(m.value() or b"").get("NOTE") for m in topic(streams, "rides")} == {None, "new"}
    engine.execute("DROP STREAM rides;")
    written(stream, lines({"id": 3}))
    assert stream.acked == 2
    assert stream.failure is not None and stream.failure.code == "source-gone"


def test_no_more_are_on_their_way_than_there_is_room(streams: InsertStreams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inserting, "ROOM", 10)
    stream = streams.open("rides")
    rows = lines(*[{"id": n} for n in range(1000)])
    assert stream.write(rows) <= 1000 - stream.acked  # those that have arrived meanwhile make room
    written(stream, rows[stream.taken :])
    assert stream.acked == 1000


def test_one_that_is_closed_takes_nothing(streams: InsertStreams) -> None:
    streams.close()
    with pytest.raises(EngineProblem) as caught:
        streams.open("rides")
    assert caught.value.error_code == 50303


@pytest.mark.slow
def test_brokers_that_are_away(tmp_path: Path, engine: MemoryEngine) -> None:
    broker = Broker(tmp_path / "broker")
    broker.start()
    streams = streams_on(broker.bootstrap, engine)
    stream = streams.open("people")
    written(stream, lines({"id": 1}))

    def away() -> None:
        written(stream, lines({"id": 2}, {"id": 3}), 90)
        assert stream.acked == 1
        assert stream.failure is not None
        assert (stream.failure.code, stream.failure.error_code) == ("not-inserted", 50000)

    broker.kill(0, away)
    again = streams.open("people")
    written(again, lines({"id": 4}), 90)
    assert again.acked == 1
    assert {m.key() for m in topic(streams, "people")} == {n.to_bytes(4, "big") for n in (1, 4)}
    streams.close()
    broker.end()
