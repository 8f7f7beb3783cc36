"""Replays dead letters: writes their records to where they came from, each once, also where a replay is killed.

Several queries may have a letter about one record: it is written once, and all its letters are done, also those that
come later. Ahead of the records a note says which letters are meant and where their topics end; behind them another one
says that they are done. What a replay without that note has written is found by the header of its records.

A replayed record that cannot be read again has letters of its own, with that header. They are not written again as they
are: each time there would be new ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition

from ksqlpy.connection import KafkaConnection
from ksqlpy.connection.reading import Reader
from ksqlpy.deadletters.letters import NOTE, READER, REPLAYED, TIMEOUT, Begun, Letter, Letters, headers_of, records
from ksqlpy.errors import ConfigProblem, EngineProblem, reason_of

__all__ = ["Choice", "choice", "replay"]

TOGETHER = 1000
"""Letters between two notes."""

_BY_KEY = -1
"""How librdkafka says that the key decides on the partition."""


@dataclass(frozen=True)
class Choice:
    """What a replay of some letters writes: a letter for each record, and how many records it leaves out.

    ``before``: were replayed before; ``returned``: came back from a replay, and are as they were; ``cut``: their
    letters hold a part of them only, and are as they were.
    """

    letters: tuple[Letter, ...]
    before: int = 0
    returned: int = 0
    cut: int = 0


def choice(letters: Letters, wanted: Sequence[Letter], *, again: bool = False) -> Choice:
    """What a replay of the wanted letters writes, by what is known of all.

    Of several letters about a record the mended one counts. ``again``: also records that came back. Raises
    ConfigProblem ``bad-letter`` where letters about one record are mended differently.
    """
    known = {letter.id: letter for letter in letters.letters}
    groups: dict[object, list[Letter]] = {}
    for letter in wanted:
        groups.setdefault(known.get(letter.id, letter).record, []).append(letter)
    replayed, found = letters.replayed, list[Letter]()
    before = returned = cut = 0
    for record, group in groups.items():
        if record in replayed or group[0].id in letters.done:
            before += 1
            continue
        mended = [letter for letter in group if _content(letter) != _content(known.get(letter.id, letter))]
        if any(_content(letter) != _content(mended[0]) for letter in mended):
            ids = " and ".join(letter.id for letter in mended)
            raise ConfigProblem(
                "bad-letter",
                f"letters {ids} are about one record, which cannot be mended in several ways",
                hint="mend one of them only, or all alike",
            )
        whole = [letter for letter in group if letter.cut is None]
        chosen = next(iter(mended or whole), None)
        if chosen is None:
            cut += 1
        elif not mended and chosen.copy_of is not None and not again:
            returned += 1
        else:
            found.append(chosen)
    return Choice(tuple(found), before, returned, cut)


def _content(letter: Letter) -> tuple[object, ...]:
    return letter.key, letter.value, letter.headers


def replay(
    connection: KafkaConnection,
    letters: Letters,
    wanted: Sequence[Letter],
    tell: Callable[[int], None] = lambda count: None,
    *,
    again: bool = False,
) -> int:
    """Writes the records of those letters that were not replayed, each once; returns how many.

    ``wanted``: letters of ``letters``, with other keys, values and headers perhaps; ``again``: see :func:`choice`. A
    letter that is a result goes to the topic that it was meant for. One replay at a time. Raises EngineProblem
    ``not-written`` for records that the brokers do not take, and ConfigProblem ``no-letters`` for a topic that is gone.
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
    about = _about(letters)
    if lost := _written(connection, letters) - letters.done:  # a replay was killed ahead of its last note
        ids = sorted({x for i in lost for x in about.get(i, [i])})
        _note(producer, letters.topic, "done", {"ids": ids})
        letters.done.update(ids)
    left = choice(letters, wanted, again=again).letters
    count = 0
    for at in range(0, len(left), TOGETHER):
        some = left[at : at + TOGETHER]
        ids = [x for letter in some for x in about.get(letter.id, [letter.id])]
        _note(producer, letters.topic, "begin", {"ids": ids, "ends": _ends(connection, some)})
        _write(producer, letters.topic, some)
        _note(producer, letters.topic, "done", {"ids": ids})
        count += len(some)
        tell(count)
    return count


def _about(letters: Letters) -> dict[str, list[str]]:
    """By the id of a letter, the ids of all letters about its record."""
    groups: dict[object, list[str]] = {}
    for letter in letters.letters:
        groups.setdefault(letter.record, []).append(letter.id)
    return {i: ids for ids in groups.values() for i in ids}


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
    consumer = Reader(connection.consumer(READER))
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
