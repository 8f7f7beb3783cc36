"""The command log: a Kafka topic with every accepted change of the catalog and the queries.

A record is JSON: the statement, the properties in force, the resolved schema, and the plan version. The catalog and the
running queries are derived from it; reading it again changes nothing outside.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition

from ksqlpy.access import GRANTABLE, On, Right
from ksqlpy.catalog import Column, Header, Owner, PersistentQuery, Source, WindowKey, type_from_json, type_to_json
from ksqlpy.errors import AnalysisProblem, EngineProblem, reason_of
from ksqlpy.plan import PLAN_VERSION
from ksqlpy.plan.stored.source import StoredSource
from ksqlpy.spark.kafka import TIMEOUT, Kafka
from ksqlpy.tracing import span

__all__ = [
    "FORMAT_VERSION",
    "CommandLog",
    "Entry",
    "grant_from_json",
    "grant_to_json",
    "query_from_json",
    "source_from_json",
]

FORMAT_VERSION = 1

_FRAME = 200
"""Bytes that Kafka adds to a record, and some to spare."""


@dataclass(frozen=True)
class Entry:
    """A record of the topic; ``deleted``: it stands for all up to this offset, which are not there any more."""

    offset: int
    value: bytes | None
    deleted: bool = False


class CommandLog:
    """One topic with one partition, kept for ever. ``next_offset`` is the number of the next entry.

    ``topic_id``: the id of the topic that was read; a topic of the same name that was made later has another one.
    """

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self.topic = topic
        self._kafka = kafka
        self._producer = Producer(
            kafka.connection.producer(
                {
                    "acks": "all",
                    "linger.ms": 0,
                    "enable.idempotence": True,
                    "message.timeout.ms": int(TIMEOUT * 1000),
                    "message.max.bytes": 1_000_000_000,  # the topic's own limit counts
                }
            )
        )
        self.next_offset = 0
        self.topic_id = ""
        self._largest = 2**20
        self.guard: Callable[[], None] = lambda: None
        """Called ahead of each entry; raises if this engine must not write it."""

    def make(self) -> None:
        """Makes the topic if there is none yet."""
        if self.topic not in self._kafka.topics():
            self._kafka.create_topic(self.topic, 1, None, {"cleanup.policy": "delete", "retention.ms": "-1"})
        self.topic_id = self._kafka.topic_id(self.topic) or ""
        self._largest = int(self._kafka.topic_setting(self.topic, "max.message.bytes") or self._largest)

    def problem(self) -> str | None:
        """What became of the topic, if it is not the one that was read; one request to the brokers.

        Raises EnvironmentProblem ``broker-unavailable``.
        """
        found = self._kafka.topic_id(self.topic)
        if found is None:
            return f"the command log topic {self.topic} was deleted"
        if found != self.topic_id:
            return f"the command log topic {self.topic} was deleted and created again"
        return None

    def _check(self) -> None:
        problem = self.problem()
        if problem is not None:
            raise EngineProblem(
                "command-log",
                f"{problem}: the definitions in it are lost",
                hint="the queries that run go on until the server stops; then start it with another ksqlpy.data.dir and"
                " create them again",
            )

    @property
    def end(self) -> int:
        """The offset of the next entry, as the brokers know it."""
        return self._kafka.offsets({self.topic: 1}, latest=True)[self.topic]["0"]

    def read(self) -> list[Entry]:
        """All entries, oldest first. Raises EngineProblem if it cannot be read to its end."""
        start = self._kafka.offsets({self.topic: 1}, latest=False)[self.topic]["0"]
        end = self._kafka.offsets({self.topic: 1}, latest=True)[self.topic]["0"]
        # It is kept for ever: what is before its start somebody has deleted.
        entries = [] if start == 0 else [Entry(start - 1, None, deleted=True)]
        consumer = self._kafka.reader()
        try:
            consumer.assign([TopicPartition(self.topic, 0, start)])
            while start < end:
                message = consumer.poll(TIMEOUT)
                if message is None:
                    raise EngineProblem("command-log", f"the command log {self.topic} ends before offset {end}")
                if message.error() is not None:
                    raise EngineProblem("command-log", f"the command log cannot be read: {reason_of(message.error())}")
                start = (message.offset() or 0) + 1
                entries.append(Entry(start - 1, message.value()))
        finally:
            consumer.close()
        self.next_offset = end
        return entries

    def check_size(self, entry: Mapping[str, Any]) -> bytes:
        """The entry as a record; raises AnalysisProblem ``statement-too-large`` if the topic does not take it."""
        body = {"version": FORMAT_VERSION, "planVersion": PLAN_VERSION, **entry}
        data = json.dumps(body).encode()
        if len(data) > self._largest - _FRAME:
            raise AnalysisProblem(
                "statement-too-large",
                f"the statement makes an entry of {len(data):,} bytes, and the command log takes {self._largest:,}",
                hint=f"make it shorter, or raise max.message.bytes of topic {self.topic} and start the server again",
            )
        return data

    def append(self, entry: Mapping[str, Any]) -> int:
        """Writes an entry; returns its offset when the brokers have it.

        Raises EngineProblem ``command-log``, AnalysisProblem ``statement-too-large``.
        """
        data = self.check_size(entry)
        self.guard()
        self._check()  # a producer's request could recreate a topic
        done: list[Any] = []
        try:
            with span("command log", {"messaging.system": "kafka", "messaging.destination.name": self.topic}):
                self._producer.produce(self.topic, data, partition=0, on_delivery=lambda e, m: done.append((e, m)))
                self._producer.flush(TIMEOUT)
        except (KafkaException, BufferError) as e:
            raise EngineProblem("command-log", f"the command log cannot be written: {reason_of(e)}") from e
        if not done or done[0][0] is not None:
            reason = reason_of(done[0][0]) if done else "the brokers do not answer"
            raise EngineProblem("command-log", f"the command log cannot be written: {reason}")
        offset: int = done[0][1].offset()
        self.next_offset = offset + 1
        return offset


def source_to_json(source: Source) -> dict[str, Any]:
    """A source as plain data."""
    data = asdict(StoredSource.of(source))
    data["columns"] = [
        [c.name, type_to_json(c.type), c.key] + ([{"header": c.header.key}] if c.header is not None else [])
        for c in source.columns
    ]
    return data


def source_from_json(data: Mapping[str, Any]) -> StoredSource:
    """The inverse of :func:`source_to_json`, in the form in which sources are stored."""
    columns = tuple(
        Column(n, type_from_json(t), k, Header(mark[0]["header"]) if mark else None)
        for n, t, k, *mark in data["columns"]
    )
    window = WindowKey(**data["window"]) if data["window"] is not None else None
    return StoredSource(**{**data, "columns": columns, "window": window})


def query_to_json(query: PersistentQuery) -> dict[str, Any]:
    """A persistent query as plain data."""
    found = asdict(query)
    if not query.skipped:
        del found["skipped"]  # earlier versions do not know it
    if query.owner is None:
        del found["owner"]
    if not query.rewound:
        del found["rewound"]
    return found


def query_from_json(data: Mapping[str, Any]) -> PersistentQuery:
    """The inverse of :func:`query_to_json`."""
    earlier = tuple(data.get("upgraded_from") or ())
    skipped = tuple((t, p, o) for t, p, o in data.get("skipped") or ())
    made = data.get("owner")
    owner = None if made is None else Owner(made["name"], made["how"])
    own = {"sources": tuple(data["sources"]), "upgraded_from": earlier, "skipped": skipped, "owner": owner}
    return PersistentQuery(**{**data, **own})


def grant_to_json(op: str, role: str, rights: Iterable[Right], on: On) -> dict[str, Any]:
    """The entry of a GRANT or REVOKE."""
    return {
        "op": op,
        "role": role,
        "rights": sorted(r.value for r in rights),
        "on": {"kind": on.kind, "name": on.name, "like": on.like},
    }


def grant_from_json(data: Mapping[str, Any]) -> tuple[frozenset[Right], On]:
    """The inverse of :func:`grant_to_json`; raises ValueError where it says nothing that is known here."""
    rights, on = data.get("rights"), data.get("on")
    if not isinstance(rights, list) or not isinstance(on, dict) or on.keys() != {"kind", "name", "like"}:
        raise ValueError("its rights cannot be read")
    found = frozenset(map(Right, rights))
    texts = [t for t in (on["name"], on["like"]) if t is not None]
    if on["kind"] not in GRANTABLE or not found <= set(GRANTABLE[on["kind"]]) or len(texts) > 1:
        raise ValueError("its rights cannot be read")
    if not all(isinstance(t, str) and t for t in texts):
        raise ValueError("its rights cannot be read")
    return found, On(on["kind"], on["name"], on["like"])
