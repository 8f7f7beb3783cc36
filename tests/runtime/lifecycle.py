"""What tests of the lives of queries share: settings, and ways to write, read and wait."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import Producer, TopicPartition

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from tests.support.waiting import count as written
from tests.support.waiting import until

EARLIEST = {"auto.offset.reset": "earliest"}


def configured(broker: EmbeddedKafka, folder: Path, name: str) -> Config:
    """The settings of an engine of the test of that name, which commits often and tries again soon."""
    service = "".join(c if c.isalnum() else "_" for c in name)
    return Config.of(
        {
            "bootstrap.servers": broker.bootstrap,
            "ksql.service.id": f"{service}_",
            "ksqlpy.data.dir": str(folder),
            "ksqlpy.warm.up": "false",
            "commit.interval.ms": 3000,
            "ksql.query.retry.backoff.initial.ms": 200,
        }
    )


def send(engine: Engine, topic: str, records: Sequence[tuple[str, object, int]]) -> None:
    """Writes records: key, value as JSON, partition."""
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
    for key, value, partition in records:
        producer.produce(topic, key=key.encode(), value=json.dumps(value).encode(), partition=partition)
    assert producer.flush(20) == 0


Read = list[tuple[bytes | None, dict[str, object]]]


def read(engine: Engine, topic: str, count: int) -> Read:
    """All records of the topic, once there are so many; and what comes within a second more."""
    [found] = read_all(engine, {topic: count})
    return found


def read_all(engine: Engine, counts: Mapping[str, int]) -> list[Read]:
    """The same of several topics, with the one second for all of them."""
    for topic, count in counts.items():
        until(lambda: written(engine, topic) >= count)  # noqa: B023  # it is over when the loop goes on
    time.sleep(1)
    return [_read(engine, topic) for topic in counts]


def _read(engine: Engine, topic: str) -> Read:
    ends = engine.kafka.offsets(engine.kafka.partitions([topic]), latest=True)[topic]
    reader = engine.kafka.reader()
    reader.assign([TopicPartition(topic, int(p), 0) for p in ends])
    found = []
    while len(found) < sum(ends.values()):
        message = reader.poll(10)
        assert message is not None and message.error() is None
        value = message.value()
        found.append((message.key(), json.loads(value) if value is not None else {}))
    reader.close()
    return found


def query_ids(engine: Engine) -> list[str]:
    return list(engine.catalog.queries)


def all_live(engine: Engine) -> bool:
    queries = [engine.queries.get(q) for q in query_ids(engine)]
    return all(q is not None and q.live.is_set() and q.state == "RUNNING" for q in queries)
