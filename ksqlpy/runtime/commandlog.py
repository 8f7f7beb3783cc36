"""The command log: a Kafka topic with every accepted change of the catalog and the queries.

A record is JSON: the statement, the properties in force, the resolved schema, and the plan version. The catalog and the
running queries are derived from it; reading it again changes nothing outside.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition

from ksqlpy.catalog import Column, Header, PersistentQuery, Source, WindowKey, type_from_json, type_to_json
from ksqlpy.errors import EngineProblem
from ksqlpy.plan import PLAN_VERSION
from ksqlpy.spark.kafka import TIMEOUT, Kafka

__all__ = ["CommandLog", "query_from_json", "source_from_json"]

FORMAT_VERSION = 1


class CommandLog:
    """One topic with one partition, kept for ever. ``next_offset`` is the number of the next entry.

    ``topic_id``: the id of the topic that was read; a topic of the same name that was made later has another one.
    """

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self.topic = topic
        self._kafka = kafka
        self._producer = Producer(
            {"bootstrap.servers": kafka.bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0,
             "enable.idempotence": True, "message.timeout.ms": int(TIMEOUT * 1000)}
        )  # fmt: skip
        self.next_offset = 0
        self.topic_id = ""

    def make(self) -> None:
        """Makes the topic if there is none yet."""
        if self.topic not in self._kafka.topics():
            self._kafka.create_topic(self.topic, 1, None, {"cleanup.policy": "delete", "retention.ms": "-1"})
        self.topic_id = self._kafka.topic_id(self.topic) or ""

    def problem(self) -> str | None:
        """What became of the topic, if it is not the one that was read; one request to the brokers.

        Raises EnvironmentProblem ``broker-away``.
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
                hint="the queries that run go on until the server stops; then start it anew and create them again",
            )

    def read(self) -> list[dict[str, Any]]:
        """All entries, oldest first. Raises EngineProblem for a broken entry."""
        start = self._kafka.offsets({self.topic: 1}, latest=False)[self.topic]["0"]
        end = self._kafka.offsets({self.topic: 1}, latest=True)[self.topic]["0"]
        entries: list[dict[str, Any]] = []
        consumer = self._kafka.reader()
        try:
            consumer.assign([TopicPartition(self.topic, 0, start)])
            while start < end:
                message = consumer.poll(TIMEOUT)
                if message is None:
                    raise EngineProblem("command-log", f"the command log {self.topic} ends before offset {end}")
                if message.error() is not None:
                    raise EngineProblem("command-log", f"the command log cannot be read: {message.error()}")
                start = (message.offset() or 0) + 1
                entries.append(_entry(message.value(), start - 1))
        finally:
            consumer.close()
        self.next_offset = end
        return entries

    def append(self, entry: Mapping[str, Any]) -> int:
        """Writes an entry; returns its offset when the brokers have it. Raises EngineProblem ``command-log``."""
        self._check()  # a producer's request could make a topic anew
        done: list[Any] = []
        body = {"version": FORMAT_VERSION, "planVersion": PLAN_VERSION, **entry}
        try:
            self._producer.produce(
                self.topic, json.dumps(body).encode(), partition=0, on_delivery=lambda e, m: done.append((e, m))
            )
            self._producer.flush(TIMEOUT)
        except (KafkaException, BufferError) as e:
            raise EngineProblem("command-log", f"the command log cannot be written: {e}") from e
        if not done or done[0][0] is not None:
            reason = done[0][0] if done else "the brokers do not answer"
            raise EngineProblem("command-log", f"the command log cannot be written: {reason}")
        offset: int = done[0][1].offset()
        self.next_offset = offset + 1
        return offset


def _entry(data: bytes | None, offset: int) -> dict[str, Any]:
    try:
        entry = json.loads(data or b"")
    except ValueError as e:
        raise EngineProblem("command-log", f"entry {offset} of the command log is not JSON") from e
    if not isinstance(entry, dict) or entry.get("version") != FORMAT_VERSION:
        raise EngineProblem(
            "command-log",
            f"entry {offset} of the command log was written by another version of ksqlpy",
            hint="start that version, or choose another ksql.service.id",
        )
    return entry


def source_to_json(source: Source) -> dict[str, Any]:
    """A source as plain data."""
    data = asdict(source)
    data["columns"] = [
        [c.name, type_to_json(c.type), c.key] + ([{"header": c.header.key}] if c.header is not None else [])
        for c in source.columns
    ]
    return data


def source_from_json(data: Mapping[str, Any]) -> Source:
    """The inverse of :func:`source_to_json`."""
    columns = tuple(
        Column(n, type_from_json(t), k, Header(mark[0]["header"]) if mark else None)
        for n, t, k, *mark in data["columns"]
    )
    window = WindowKey(**data["window"]) if data["window"] is not None else None
    return Source(**{**data, "columns": columns, "window": window})


def query_to_json(query: PersistentQuery) -> dict[str, Any]:
    """A persistent query as plain data."""
    return asdict(query)


def query_from_json(data: Mapping[str, Any]) -> PersistentQuery:
    """The inverse of :func:`query_to_json`."""
    earlier = tuple(data.get("upgraded_from") or ())
    return PersistentQuery(**{**data, "sources": tuple(data["sources"]), "upgraded_from": earlier})
