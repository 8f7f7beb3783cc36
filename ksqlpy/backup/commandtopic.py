"""The command log as a file, and its topic made again from it.

Entries keep their offsets: ids of queries have them, and clients wait for them. An offset that has no entry, as one
that somebody deleted, gets a record without a value, which the replay leaves out.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from confluent_kafka import KafkaException, Producer

from ksqlpy.errors import EngineProblem, reason_of
from ksqlpy.runtime.commandlog import CommandLog, Entry
from ksqlpy.spark.kafka import TIMEOUT, Kafka

__all__ = ["Standing", "append_entries", "entries_from", "entries_text", "log_facts", "make_anew", "standing"]

_LARGEST = "max.message.bytes"
_PATIENCE = 60.0
"""Seconds for the brokers to forget a topic that is deleted."""


def log_facts(kafka: Kafka, log: CommandLog, entries: Sequence[Entry]) -> dict[str, Any]:
    """What a manifest has of the topic."""
    return {
        "topic": log.topic,
        "id": kafka.topic_id(log.topic) or "",
        "largest": int(kafka.topic_setting(log.topic, _LARGEST) or 0),
        "first": next((e.offset for e in entries if not e.deleted), log.next_offset),
        "next": log.next_offset,
    }


def entries_text(entries: Sequence[Entry]) -> bytes:
    """The entries as lines of JSON; values are texts, those that are no text are in base64."""
    return b"".join(json.dumps(_line(e)).encode() + b"\n" for e in entries if not e.deleted)


def _line(entry: Entry) -> dict[str, Any]:
    if entry.value is None:
        return {"offset": entry.offset, "value": None}
    try:
        return {"offset": entry.offset, "value": entry.value.decode()}
    except UnicodeDecodeError:
        return {"offset": entry.offset, "base64": base64.b64encode(entry.value).decode()}


def entries_from(text: bytes) -> dict[int, bytes | None]:
    """The values by their offsets.

    Raises ValueError, LookupError or TypeError for what :func:`entries_text` never wrote.
    """
    found: dict[int, bytes | None] = {}
    for line in text.splitlines():
        told = json.loads(line)
        value = told["value"] if "base64" not in told else base64.b64decode(told["base64"], validate=True)
        found[int(told["offset"])] = value.encode() if isinstance(value, str) else value
    return found


class Standing(Enum):
    """How a command topic stands to a backup of it."""

    MISSING = "missing"
    BEGINNING = "the beginning"
    WHOLE = "whole"
    LATER = "later"
    OTHER = "other"


def standing(kafka: Kafka, log: CommandLog, wanted: Mapping[int, bytes | None], end: int) -> tuple[Standing, int]:
    """How the topic stands to the entries up to ``end``, and its own next offset."""
    if kafka.topic_id(log.topic) is None:
        return Standing.MISSING, 0
    there = {e.offset: e.value for e in log.read() if not e.deleted}
    own = log.next_offset
    same = all(there.get(offset) == wanted.get(offset) for offset in range(min(end, own)))
    if not same:
        return Standing.OTHER, own
    return Standing.BEGINNING if own < end else Standing.WHOLE if own == end else Standing.LATER, own


def make_anew(kafka: Kafka, log: CommandLog, largest: int, *, delete: bool) -> None:
    """Makes the topic, which takes records as large as before; ``delete``: in place of the one that is there."""
    if delete:
        kafka.delete_topics([log.topic])
        end = time.monotonic() + _PATIENCE
        while kafka.topic_id(log.topic) is not None and time.monotonic() < end:
            time.sleep(0.1)
    settings = {"cleanup.policy": "delete", "retention.ms": "-1"}
    if largest:
        settings[_LARGEST] = str(largest)
    kafka.create_topic(log.topic, 1, None, settings)


def append_entries(kafka: Kafka, log: CommandLog, entries: Mapping[int, bytes | None], begin: int, end: int) -> None:
    """Writes what the topic lacks, from offset ``begin`` on. Raises EngineProblem ``command-log``."""
    settings = {
        "acks": "all",
        "enable.idempotence": True,
        "message.timeout.ms": int(TIMEOUT * 1000),
        "message.max.bytes": 1_000_000_000,
    }
    producer = Producer(kafka.connection.producer(settings))
    done: list[tuple[Any, Any]] = []
    try:
        for offset in range(begin, end):
            value = entries.get(offset)
            producer.produce(log.topic, value, partition=0, on_delivery=lambda e, m: done.append((e, m)))
            if offset % 1000 == 0:
                producer.flush(TIMEOUT)
        producer.flush(TIMEOUT)
    except (KafkaException, BufferError) as e:
        raise EngineProblem("command-log", f"the command log cannot be written: {reason_of(e)}") from e
    failed = next((error for error, _ in done if error is not None), None)
    if failed is not None or len(done) < end - begin:
        reason = reason_of(failed) if failed is not None else "the brokers do not answer"
        raise EngineProblem("command-log", f"the command log cannot be written: {reason}")
    if done and (done[0][1].offset(), done[-1][1].offset()) != (begin, end - 1):
        raise EngineProblem(
            "command-log",
            f"the command log {log.topic} got entries of others while it was restored",
            hint="stop all servers of the service, and restore it again with --force",
        )
