"""Replays dead letters: writes their records to where they came from, each once, also where a replay is killed.

Ahead of the records a note says which letters are meant and where their topics end; behind them another one says that
they are done. What a replay without that note has written is found by the header of its records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters.letters import NOTE, REPLAYED, TIMEOUT, Begun, Letter, Letters, headers_of, records
from ksqlpy.errors import ConfigProblem, EngineProblem, reason_of

__all__ = ["replay"]

TOGETHER = 1000
"""Letters between two notes."""

_BY_KEY = -1
"""How librdkafka says that the key decides on the partition."""


def replay(
    connection: KafkaConnection,
    letters: Letters,
    wanted: Sequence[Letter],
    tell: Callable[[int], None] = lambda count: None,
) -> int:
    """Writes the records of those letters that were not replayed; returns how many.

    ``wanted``: letters of ``letters``, with other keys, values and headers perhaps. A letter that is a result goes to
    the topic that it was meant for. One replay at a time. Raises EngineProblem ``not-written`` for records that the
    brokers do not take, and ConfigProblem ``no-letters`` for a topic that is gone.
    """
    producer = Producer(
        connection.producer(
            {
                "acks": "all",
                "enable.idempotence": True,
                "message.timeout.ms": int(TIMEOUT * 1000),
                "partitioner": "murmur2_random",  # as Kafka's Java clients do, Spark's among them
            }
        )
    )
    done = letters.done | _written(connection, letters)
    left = [letter for letter in wanted if letter.id not in done]
    if lost := done - letters.done:  # a replay was killed ahead of its last note
        _note(producer, letters.topic, "done", {"ids": sorted(lost)})
    count = 0
    for at in range(0, len(left), TOGETHER):
        some = left[at : at + TOGETHER]
        ids = [letter.id for letter in some]
        _note(producer, letters.topic, "begin", {"ids": ids, "ends": _ends(connection, some)})
        _write(producer, letters.topic, some)
        _note(producer, letters.topic, "done", {"ids": ids})
        count += len(some)
        tell(count)
    return count


def _written(connection: KafkaConnection, letters: Letters) -> set[str]:
    """Ids whose records are there though no note says so."""
    open_ = [b for b in letters.begun if not letters.done.issuperset(b.ids)]
    if not open_:
        return set()
    begin = _earliest(open_)
    mark = f"{letters.topic}:".encode()
    found = set()
    for message in records(connection, begin):
        value = dict(headers_of(message)).get(REPLAYED)
        if value is not None and value.startswith(mark):
            partition, _, offset = value[len(mark) :].decode().partition(":")
            found.add(f"{partition}-{offset}")
    return found


def _earliest(begun: Iterable[Begun]) -> Mapping[str, Mapping[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for replay in begun:
        for topic, ends in replay.ends.items():
            known = found.setdefault(topic, {})
            for partition, end in ends.items():
                known[int(partition)] = min(end, known.get(int(partition), end))
    return found


def _ends(connection: KafkaConnection, letters: Iterable[Letter]) -> dict[str, dict[str, int]]:
    consumer = Consumer(connection.consumer({"group.id": "ksqlpy-reader", "enable.auto.commit": False}))
    try:
        ends: dict[str, dict[str, int]] = {}
        for topic in sorted({letter.target for letter in letters}):
            known = consumer.list_topics(topic, timeout=TIMEOUT).topics[topic]
            if known.error is not None or not known.partitions:
                raise ConfigProblem("no-letters", f"topic {topic}, to which the records belong, does not exist")
            ends[topic] = {
                str(p): int(consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=TIMEOUT)[1])
                for p in known.partitions
            }
        return ends
    except KafkaException as e:
        raise EngineProblem("not-written", f"nothing was replayed: {reason_of(e)}") from e
    finally:
        consumer.close()


def _write(producer: Producer, topic: str, letters: Iterable[Letter]) -> None:
    failures: list[str] = []

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            failures.append(str(error.str()))

    for letter in letters:
        headers: list[Any] = [h for h in letter.headers if h[0] != REPLAYED]  # of a record that failed again
        headers.append((REPLAYED, f"{topic}:{letter.id.replace('-', ':')}".encode()))
        while True:
            try:
                producer.produce(
                    letter.target,
                    key=letter.key,
                    value=letter.value,
                    partition=letter.partition if letter.result is None else _BY_KEY,
                    timestamp=letter.timestamp,
                    headers=headers,
                    on_delivery=delivered,
                )
                break
            except BufferError:
                producer.poll(0.1)
            except KafkaException as e:
                raise EngineProblem("not-written", f"letter {letter.id} was not replayed: {reason_of(e)}") from e
    producer.flush()
    if failures:
        raise EngineProblem(
            "not-written",
            f"{len(failures)} records were not replayed: {failures[0]}",
            hint="run it again: what was written is not written twice",
        )


def _note(producer: Producer, topic: str, kind: str, said: Mapping[str, object]) -> None:
    failures: list[str] = []
    producer.produce(
        topic,
        value=json.dumps(said).encode(),
        partition=0,
        headers=[(NOTE, kind.encode())],
        on_delivery=lambda error, message: failures.append(str(error.str())) if error is not None else None,
    )
    producer.flush()
    if failures:
        raise EngineProblem("not-written", f"the note of the replay was not written: {failures[0]}")
