"""Who may write the topics of a query cannot make it leave out a result, or stop it: headers count by their tags."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.runtime import Engine
from ksqlpy.spark.checkpoint import Checkpoint
from ksqlpy.spark.header import HEADER, TAG, coordinates, mark
from ksqlpy.spark.output import sink_options
from ksqlpy.spark.query import RunningQuery
from ksqlpy.spark.query_status import State
from tests.support.waiting import until

EARLIEST = {"auto.offset.reset": "earliest"}
SOURCE = """
CREATE STREAM orders (item STRING KEY, n INT) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""
FILTER = "CREATE STREAM big WITH (KAFKA_TOPIC = 'big') AS SELECT item, n FROM orders WHERE n >= 0;"
COUNTS = """
CREATE TABLE counts WITH (KAFKA_TOPIC = 'counts') AS
  SELECT item, COUNT(*) AS c FROM orders GROUP BY item HAVING COUNT(*) > 1;
"""

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    made = Engine(
        Config.of({"ksqlpy.data.dir": str(tmp_path), "ksqlpy.warm.up": "false", "commit.interval.ms": 600_000})
    )
    made.start()
    made.execute(SOURCE)
    yield made
    made.stop()


def write(engine: Engine, topic: str, *records: tuple[bytes, bytes, bytes | None], partition: int = 0) -> None:
    """Records as anybody may write them: key, value, header."""
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for key, value, header in records:
        headers = [] if header is None else [(HEADER, header)]
        producer.produce(topic, key=key, value=value, headers=headers, partition=partition)
    assert producer.flush(20) == 0


def order(engine: Engine, *numbers: int, partition: int = 0) -> None:
    write(engine, "orders", *((b"a", b'{"N":%d}' % n, None) for n in numbers), partition=partition)


def records(engine: Engine, topic: str) -> list[tuple[bytes, bytes, bytes]]:
    """Key, value and header of all that is in a topic, partition by partition."""
    ends = engine.kafka.offsets(engine.kafka.partitions([topic]), latest=True)[topic]
    reader = engine.kafka.reader(ends=True)
    reader.assign([TopicPartition(topic, int(p), 0) for p in ends])
    found: list[tuple[int, int, tuple[bytes, bytes, bytes]]] = []
    at_end = 0
    while at_end < len(ends):
        message = reader.poll(10)
        assert message is not None
        if message.error() is not None:
            at_end += 1
            continue
        given: Any = message.headers() or ()
        place = message.partition() or 0, message.offset() or 0
        found.append((*place, (message.key() or b"", message.value() or b"", dict(given).get(HEADER, b""))))
    reader.close()
    return [record for *_, record in sorted(found)]


def own(engine: Engine, topic: str, of: str) -> list[int]:
    """The values that the query has written, whatever others have."""
    return [json.loads(v)[of] for _, v, _ in records(engine, topic) if b"forged" not in v]


def started(engine: Engine, text: str) -> RunningQuery:
    engine.execute(text, EARLIEST)
    return running(engine)


def running(engine: Engine) -> RunningQuery:
    [query_id] = engine.catalog.queries
    query = engine.queries.get(query_id)
    assert query is not None and query.live.wait(90), query and query.error
    return query


def varlong(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    begin = b""
    while number >= 0x80:
        begin, number = begin + bytes([number & 0x7F | 0x80]), number >> 7
    return begin + bytes([number])


def forged(query_id: str, place: int, offset: int) -> bytes:
    """What everybody can make of the query's id."""
    return mark(query_id) + varlong(place) + varlong(offset) + varlong(0)


def test_results_that_others_say_are_there_are_written(engine: Engine) -> None:
    query = started(engine, FILTER)
    order(engine, 0, 1, 2)
    assert until(lambda: sorted(own(engine, "big", "N")) == [0, 1, 2])
    engine.execute("PAUSE ALL;")
    begin, fake = mark(query.spec.id), b'{"forged":1}'
    malformed = [b"\xff" * 20, b"", b"\x80", b"\xff" * 4 + bytes(TAG), b"\x01\x00\x00", bytes(7)]
    for topic in ("big", engine.topics.dead_letters):
        write(engine, topic, *((b"a", fake, begin + end) for end in malformed))
        for offset in range(3, 6):
            header = forged(query.spec.id, 0, offset)
            write(engine, topic, (b"a", fake, header), (b"a", fake, header + bytes(TAG)))
        write(engine, topic, (b"a", fake, forged(query.spec.id, 2**31 - 1, 2**62)))
    genuine = [h for _, v, h in records(engine, "big") if b"forged" not in v]
    assert [coordinates(h).offset for h in genuine] == [0, 1, 2]
    moved = genuine[0][:4] + varlong(0) + varlong(4) + varlong(0) + coordinates(genuine[0]).tag
    write(engine, "big", (b"a", fake, moved), *((b"b", fake, h) for h in genuine), *((b"b", fake, h) for h in genuine))
    order(engine, 3, 4, 5)
    engine.execute("RESUME ALL;")
    assert until(lambda: len(own(engine, "big", "N")) >= 6)
    assert running(engine).state is State.RUNNING and not running(engine).failures
    assert sorted(own(engine, "big", "N")) == [0, 1, 2, 3, 4, 5]


def test_copies_change_no_order(engine: Engine) -> None:
    """The count of a group over two partitions goes on, though its results stand in the topic once more."""
    started(engine, COUNTS)
    for n in range(3):
        order(engine, n, partition=n % 2)
        order(engine, n, partition=1)
    assert until(lambda: own(engine, "counts", "C") == [2, 3, 4, 5, 6])
    engine.execute("PAUSE ALL;")
    copies = [(key, b'{"forged":1}', header) for key, _, header in records(engine, "counts")]
    [partition] = {p for p in "01" if engine.kafka.offsets({"counts": 2}, latest=True)["counts"][p] > 0}
    write(engine, "counts", *reversed(copies), partition=int(partition))
    order(engine, 7, 8)
    engine.execute("RESUME ALL;")
    assert until(lambda: len(own(engine, "counts", "C")) >= 7)
    assert own(engine, "counts", "C") == [2, 3, 4, 5, 6, 7, 8]


def test_results_of_an_earlier_version_are_known(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no tags. They count up to where they ended when the query began to sign, and not behind that."""
    with monkeypatch.context() as earlier:
        earlier.setattr("ksqlpy.spark.query.life.with_keys", lambda session, checkpoint, spec: spec)
        earlier.setattr(Checkpoint, "unsigned_until", lambda self, ends: {})
        query = started(engine, FILTER)
        order(engine, 0, 1, 2)
        assert until(lambda: sorted(own(engine, "big", "N")) == [0, 1, 2])
        engine.execute("PAUSE ALL;")
    assert not set(query.checkpoint.names()) & {"keys", "unsigned.json"}
    assert [h for *_, h in records(engine, "big")] == [forged(query.spec.id, 0, n) for n in range(3)]
    order(engine, 3)
    engine.execute("RESUME ALL;")
    assert until(lambda: len(own(engine, "big", "N")) >= 4)
    assert query.checkpoint.unsigned_until({})["big"] == {"0": 3, "1": 0}
    engine.execute("PAUSE ALL;")
    write(engine, "big", (b"a", b'{"forged":1}', forged(query.spec.id, 0, 4)))
    order(engine, 4)
    engine.execute("RESUME ALL;")
    assert until(lambda: len(own(engine, "big", "N")) >= 5)
    assert sorted(own(engine, "big", "N")) == [0, 1, 2, 3, 4]


def test_a_query_that_has_lost_its_key_says_so(engine: Engine) -> None:
    """Its results could not be told from what others write, and would be written again."""
    query = started(engine, FILTER)
    order(engine, 0)
    assert until(lambda: own(engine, "big", "N") == [0])
    engine.execute("PAUSE ALL;")
    [key] = query.checkpoint.keys()
    (Path(query.checkpoint.folder) / "keys" / key).unlink()
    engine.execute("RESUME ALL;")
    again = engine.queries.get(query.spec.id)
    assert again is not None and until(lambda: again.error is not None)
    assert "it has lost a key with which results are signed" in (again.error or "")
    assert own(engine, "big", "N") == [0]


def test_the_key_is_in_no_setting_and_no_topic(engine: Engine) -> None:
    query = started(engine, FILTER)
    order(engine, 0)
    assert until(lambda: own(engine, "big", "N") == [0])
    [secret] = query.checkpoint.keys().values()
    assert len(secret) == 32
    engine.execute("PAUSE ALL;")
    engine.execute("RESUME ALL;")
    jvm: Any = engine.session._jvm
    again = running(engine)
    [name] = again.spec.keys
    given = f"{sink_options(again.spec, 2**31 - 1)} {list(jvm.ksqlpy.once.Tail.known())} {again.spec}"
    assert name in given and secret not in given
    for topic in (engine.topics.command_log, engine.topics.producers, "big"):
        assert all(secret.encode() not in b"".join(r) for r in records(engine, topic))
