"""A topic of dead letters as a list: what lies there, and which of it was replayed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from ksqlpy.connection import KafkaConnection
from ksqlpy.connection.reading import Reader
from ksqlpy.errors import ConfigProblem, EngineProblem, EnvironmentProblem, reason_of

__all__ = [
    "CUT",
    "HEADERS",
    "NOTE",
    "READER",
    "REPLAYED",
    "RESULT",
    "TOPIC_ID",
    "Begun",
    "Headers",
    "Letter",
    "Letters",
    "headers_of",
    "letter_of",
    "read_letters",
    "records",
]

HEADERS = {
    "topic": "ksqlpy.source.topic",
    "partition": "ksqlpy.source.partition",
    "offset": "ksqlpy.source.offset",
    "reason": "ksqlpy.reason",
    "timestamp": "ksqlpy.source.timestamp",
    "query": "ksqlpy.query",
}
"""Header names of a dead letter and of a late record; all values are text, the timestamp in ms.

They follow the headers that the record itself had, so the last one of a name counts.
"""

TOPIC_ID = "ksqlpy.source.topic.id"
"""Header with the id that the brokers gave to the source topic: one that was recreated has other records."""

CUT = "ksqlpy.cut"
"""Header of a dead letter that holds only a part of the record or the result, as all of it did not fit: the bytes of
the whole key and the whole value with a colon between them, -1 for null."""

RESULT = "ksqlpy.result"
"""Header of a dead letter that is a result, not a record that was read: the topic that it was meant for."""

NOTE = "ksqlpy.replay"
"""Header of a note among the letters: ``begin`` ahead of the records of a replay, ``done`` behind them."""

REPLAYED = "ksqlpy.replayed"
"""Header of a record that was replayed: topic, partition and offset of its dead letter, with colons between them."""

READER: Mapping[str, object] = {
    "group.id": "ksqlpy-reader",
    "enable.auto.commit": False,
    "isolation.level": "read_uncommitted",
}
"""Settings of the consumers."""

TIMEOUT = 15.0
"""Seconds for which brokers are waited for."""

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Letter:
    """One letter. ``id``: partition and offset of the letter; ``offset``: of the record in its own topic.

    ``timestamp``: ms. ``headers``: those that the record had. ``result``: the topic that it was meant for, if it is a
    result of that record, else None.
    """

    id: str
    query: str
    topic: str
    partition: int
    offset: int
    timestamp: int
    reason: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    result: str | None = None
    topic_id: str = ""
    cut: str | None = None

    @property
    def record(self) -> object:
        """What tells its record from all others: the letters of several queries may be about one. A result is its own.

        Letters of older versions do not say which topic of that name it was.
        """
        if self.result is not None:
            return self.id
        if self.topic_id:
            return self.topic, self.topic_id, self.partition, self.offset
        return self.topic, self.partition, self.offset, self.timestamp, self.key, self.value

    @property
    def copy_of(self) -> str | None:
        """Which letter was replayed as this record, None if none was: the record came back."""
        value = dict(self.headers).get(REPLAYED)
        return None if value is None else value.decode(errors="replace")

    @property
    def target(self) -> str:
        """The topic that it is replayed to."""
        return self.topic if self.result is None else self.result


@dataclass(frozen=True)
class Begun:
    """A replay that began: the ids of its letters, and the ends of the topics before it, by topic and partition."""

    ids: tuple[str, ...]
    ends: Mapping[str, Mapping[str, int]]


@dataclass
class Letters:
    """All letters of a topic in order; ``done``: ids of those that were replayed; ``begun``: replays without an end."""

    topic: str
    letters: list[Letter] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    begun: list[Begun] = field(default_factory=list)

    @property
    def replayed(self) -> set[object]:
        """The records (:attr:`Letter.record`) that were replayed: all letters about them are done, also later ones."""
        return {letter.record for letter in self.letters if letter.id in self.done}

    def take(self, message: Message) -> None:
        """Adds what a record of the topic says; records of others are passed over."""
        letter = letter_of(message)
        if letter is not None:
            self.letters.append(letter)
        elif (note := dict(headers_of(message)).get(NOTE)) is not None:
            said = json.loads(message.value() or b"{}")
            if note == b"begin":
                self.begun.append(Begun(tuple(said["ids"]), said["ends"]))
            else:
                self.done.update(said["ids"])


def letter_of(message: Message) -> Letter | None:
    """The letter that a record of the topic is, None if it is none."""
    given = headers_of(message)
    headers = dict(given)
    found = {name: _text(headers.get(header)) for name, header in HEADERS.items()}
    topic = found["topic"]
    try:
        partition, offset = int(found["partition"] or ""), int(found["offset"] or "")
        time = int(found["timestamp"] or message.timestamp()[1])
    except ValueError:  # it is missing, or somebody else wrote it
        return None
    if topic is None:
        return None
    names = [n for n, _ in given]
    had = len(names) - 1 - names[::-1].index(HEADERS["topic"])  # the first that was added
    own = dict(given[had:])
    return Letter(
        f"{message.partition()}-{message.offset()}",
        found["query"] or "",
        topic,
        partition,
        offset,
        time,
        found["reason"] or "",
        message.key(),
        message.value(),
        given[:had],
        _text(own.get(RESULT)),
        _text(own.get(TOPIC_ID)) or "",
        _text(own.get(CUT)),
    )


def headers_of(message: Message) -> Headers:
    """The headers of a record, in their order."""
    found: Any = message.headers() or ()
    return tuple((str(n), v) for n, v in found)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def read_letters(connection: KafkaConnection, topic: str) -> Letters:
    """What lies in the topic now.

    Raises ConfigProblem ``no-letters`` where there is no such topic, EngineProblem ``query-failed`` for one that cannot
    be read, and EnvironmentProblem ``broker-unavailable``.
    """
    found = Letters(topic)
    for message in records(connection, {topic: {}}):
        found.take(message)
    return found


def records(connection: KafkaConnection, begin: Mapping[str, Mapping[int, int]]) -> Iterator[Message]:
    """The records of topics up to their present ends; ``begin``: where to begin, by partition, for others at 0.

    Letters and replayed records are written without transactions; open ones of others must not hide them. Raises as
    :func:`read_letters` does.
    """
    consumer = Reader(connection.consumer({**READER, "enable.partition.eof": True}))
    try:
        places = [p for topic, given in begin.items() for p in _places(consumer, topic, given)]
        consumer.assign(places)
        left = {(p.topic, p.partition) for p in places}
        while left:
            message = consumer.poll(TIMEOUT)
            if message is None:
                raise EnvironmentProblem("broker-unavailable", "the brokers do not answer")
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard((str(message.topic()), int(message.partition() or 0)))
            else:
                raise EngineProblem("query-failed", f"topic {message.topic()} cannot be read: {error.str()}")
    finally:
        consumer.close()


def _places(consumer: Consumer, topic: str, begin: Mapping[int, int]) -> list[TopicPartition]:
    try:
        known = consumer.list_topics(topic, timeout=TIMEOUT).topics[topic]
    except KafkaException as e:
        raise EnvironmentProblem("broker-unavailable", f"the brokers do not answer: {reason_of(e)}") from e
    if known.error is not None or not known.partitions:
        raise ConfigProblem(
            "no-letters",
            f"topic {topic} does not exist",
            hint="a service makes it when it first starts; --letters names another one, as for late records",
        )
    return [TopicPartition(topic, p, begin.get(p, 0)) for p in known.partitions]
