"""INSERT VALUES and DELETE: constants become a record, and the record is written.

Values that need no function are encoded in Python, by the formats' codecs; Spark computes all others, which takes fifty
times as long. The INSERTs that follow one another into a topic of one partition are on their way together.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ksqlpy.analysis import Insert, analyze_delete, analyze_insert
from ksqlpy.catalog import PartSpec
from ksqlpy.errors import EngineProblem, reason_of
from ksqlpy.formats import Codec, codec
from ksqlpy.functions.times import LATEST
from ksqlpy.reading.conditions import folded
from ksqlpy.runtime.context import Command, Context, Sandbox
from ksqlpy.runtime.internal import check_written
from ksqlpy.sql import Parsed

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

__all__ = ["Writing", "check_delete", "check_insert", "delete", "insert"]

POLL = 0.05
"""Seconds of a wait for the brokers, between two looks."""

Record = tuple[bytes | None, bytes | None, int | None]
"""Key, value and time in ms (None: now)."""


def check_insert(parsed: Parsed, sandbox: Sandbox) -> Command:
    """INSERT VALUES; raises AnalysisProblem."""
    made = analyze_insert(parsed, sandbox.catalog)
    check_written(made.source, parsed)
    return Command(made, None, (made.source,), sandbox.catalog.types)


def insert(parsed: Parsed, context: Context) -> None:
    """Writes the record of INSERT VALUES; raises AnalysisProblem ``insert-failed``, EngineProblem ``not-inserted``."""
    checked = context.checked
    made = _writable(checked.made if checked is not None else analyze_insert(parsed, context.catalog), context)
    record = plain_record(made)
    if record is None:
        from ksqlpy.spark.evaluate import record_of  # slow to import

        record = record_of(context.supervisor.session, made)
    context.writing.send(parsed, made, record, context)


def check_delete(parsed: Parsed, sandbox: Sandbox) -> Command:
    """DELETE of a row by its key; raises AnalysisProblem."""
    made = analyze_delete(parsed, sandbox.catalog)
    check_written(made.source, parsed)
    return Command(made, None, (made.source,), sandbox.catalog.types)


def delete(parsed: Parsed, context: Context) -> None:
    """Writes the tombstone of DELETE; raises what :func:`insert` raises."""
    checked = context.checked
    made = _writable(checked.made if checked is not None else analyze_delete(parsed, context.catalog), context)
    record = plain_record(made)
    if record is None:
        from ksqlpy.spark.evaluate import record_of

        record = record_of(context.supervisor.session, made)
    context.writing.send(parsed, made, (record[0], None, None), context)


def _writable(made: Insert, context: Context) -> Insert:
    return replace(made, source=context.definitions.written(made.source))


def plain_record(made: Insert) -> Record | None:
    """The record of an INSERT whose values are constants in Python, too; None for all others, which Spark computes."""
    source = made.source
    found = [folded(v) for v in made.values]
    time = (None,) if made.rowtime is None else folded(made.rowtime)
    if time is None or any(f is None for f in found):
        return None
    values = {c.name: f[0] for c, f in zip(source.written, found, strict=True) if f is not None}
    try:
        key = _codec(source.key).encode([values[c.name] for c in source.keys])
        value = _codec(source.value).encode([values[c.name] for c in source.values])
    except Exception:  # whatever it is, Spark says what is wrong with the value
        return None
    return key, value, time[0]


@lru_cache(256)
def _codec(spec: PartSpec) -> Codec:
    return codec(spec)


# ---------------------------------------------------------------- on their way to the brokers


@dataclass
class _Sent:
    parsed: Parsed
    made: Insert
    size: int
    done: list[KafkaError | None] = field(default_factory=list)


class Writing:
    """The records of one request that are on their way. ``named``: puts the statement on an error that comes of it."""

    def __init__(self, named: Callable[[Parsed], AbstractContextManager[None]]) -> None:
        self._named = named
        self._sent: list[_Sent] = []
        self._single: dict[str, bool] = {}
        """Topics, and whether they have one partition, which keeps the order of what is on its way."""

    def send(self, parsed: Parsed, made: Insert, record: Record, context: Context) -> None:
        """Sends a record, behind all of other topics. Raises EngineProblem ``not-inserted``."""
        from confluent_kafka import KafkaException  # not needed to check a statement

        topic, (key, value, time) = made.source.topic, record
        if time is not None and time < 0:
            raise EngineProblem("not-inserted", f"ROWTIME {time} is before 1970", error_code=40001)
        if time is not None and time > LATEST:
            raise EngineProblem("not-inserted", f"ROWTIME {time} is too late for milliseconds", error_code=40001)
        if self._sent and (self._sent[-1].made.source.topic != topic or not self._keeps_order(topic, context)):
            self.settle(context)
        if time == 0:  # which librdkafka takes for none
            self.settle(context)
            problem = context.brokers.kafka.write_at_epoch(context.supervisor.session, topic, key, value)
            if problem is not None:
                message = f"the record was not written to topic {topic}: {problem}"
                raise EngineProblem("not-inserted", message, error_code=50000)
            return
        sent = _Sent(parsed, made, len(key or b"") + len(value or b""))
        options: dict[str, Any] = {} if time is None else {"timestamp": time}
        producer = context.brokers.producer

        def produce() -> None:
            producer.produce(topic, key=key, value=value, on_delivery=lambda e, m: sent.done.append(e), **options)

        try:
            try:
                produce()
            except BufferError:  # too many wait
                self.settle(context)
                produce()
        except KafkaException as e:
            sent.done.append(e.args[0])
        except BufferError:  # those of other requests
            raise _not_written(sent) from None
        self._sent.append(sent)
        producer.poll(0)
        if sent.done:
            self.settle(context)

    def _keeps_order(self, topic: str, context: Context) -> bool:
        if topic not in self._single:
            self._single[topic] = context.brokers.kafka.partitions({topic}).get(topic) == 1
        return self._single[topic]

    def settle(self, context: Context) -> None:
        """Waits until the brokers have all that was sent. Raises EngineProblem ``not-inserted`` for the first lost."""
        from ksqlpy.spark.kafka import TIMEOUT

        sent, self._sent = self._sent, []
        end = clock.monotonic() + TIMEOUT
        for one in sent:
            while not one.done and clock.monotonic() < end:  # not for what other requests have sent
                context.brokers.producer.poll(POLL)
            if not one.done or one.done[0] is not None:
                with self._named(one.parsed):
                    raise _not_written(one)


def _not_written(sent: _Sent) -> EngineProblem:
    from confluent_kafka import KafkaError

    from ksqlpy.spark.kafka import error_code_of

    topic, done = sent.made.source.topic, sent.done
    reason, code, hint = "the brokers do not answer", 50000, None
    if done and done[0] is not None:
        reason, code = reason_of(done[0]), error_code_of(done[0])
        if done[0].code() == KafkaError.MSG_SIZE_TOO_LARGE:
            reason = f"it has {sent.size:,} bytes, which are too many for the topic"
            hint = f"max.message.bytes of topic {topic} says how many it takes"
    message = f"the record was not written to topic {topic}: {reason}"
    return EngineProblem("not-inserted", message, hint=hint, error_code=code)
