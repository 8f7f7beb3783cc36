"""PRINT: the records of a topic as they come, in formats that are guessed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, Message, TopicPartition

from ksqlpy.access import Grants, Need, Principal, Right, Thing, allowed, refusal
from ksqlpy.analysis import Text
from ksqlpy.atwork import working
from ksqlpy.catalog import Column
from ksqlpy.errors import EngineProblem, similar_names
from ksqlpy.formats.guess import Guess, time_text
from ksqlpy.reading.batch import Unshared
from ksqlpy.registry import SchemaRegistry
from ksqlpy.sql import Parsed
from ksqlpy.topicnames import is_internal

__all__ = ["Printing", "Wanted", "check_print", "wanted"]

IDLE_SECONDS = 0.5


@dataclass(frozen=True)
class Wanted:
    """What PRINT asks for: every so many records (``interval``), at most ``limit``, None for all.

    ``principal``: who asks, None where there is no login.
    """

    topic: str
    beginning: bool
    interval: int
    limit: int | None
    principal: Principal | None = None

    @property
    def needs(self) -> list[Need]:
        """The rights that it needs as long as it is open."""
        return [Need(Right.SELECT, Thing.topic(self.topic))]


def wanted(parsed: Parsed, topics: dict[str, list[int]], *, readable: Callable[[str], bool]) -> Wanted:
    """A PRINT that is checked. A name without quotes stands for the topic of that name in any case.

    ``topics``: those that are there; ``readable``: whether one may be read. Raises AnalysisProblem
    ``missing-topic``, ``internal-topic`` or ``invalid-interval``.
    """
    node, text = parsed.node, Text(parsed.sql)
    name: str = node.this.this
    found = [t for t in topics if t == name] or [t for t in topics if t.upper() == name]
    if not found:
        shown = [t for t in topics if not is_internal(t)]
        text.refuse(
            "missing-topic",
            f"topic {name} does not exist",
            node.this,
            similar=similar_names(name, shown),
            hint="SHOW TOPICS lists them; a name that is not quoted may be in any case",
        )
    if len(found) > 1:
        text.refuse("missing-topic", f"topics {' and '.join(found)} are {name} in capitals", node.this, hint="quote it")
    if not readable(found[0]):
        hint = "the server property ksqlpy.internal.topics.read = true allows it"
        text.refuse("internal-topic", f"topic {found[0]} is internal and cannot be read", node.this, hint=hint)
    interval = node.args.get("interval")
    if interval is not None and int(interval.this) < 1:
        text.refuse("invalid-interval", "INTERVAL is at least 1", interval)
    limit = node.args.get("limit")
    return Wanted(
        found[0],
        bool(node.args.get("beginning")),
        1 if interval is None else int(interval.this),
        None if limit is None else int(limit.expression.this),
    )


def check_print(
    parsed: Parsed,
    topics: dict[str, list[int]],
    principal: Principal | None,
    grants: Grants,
    *,
    readable: Callable[[str], bool],
) -> Wanted:
    """A PRINT that is checked: of ``topics`` only those count that the principal may read; raises KsqlError."""
    seen = {t: p for t, p in topics.items() if allowed(principal, Right.SELECT, Thing.topic(t), grants)}
    name = parsed.node.this.this
    may = allowed(principal, Right.SELECT, Thing.topic(name), grants)
    if principal is not None and not may and not any(t.upper() == name for t in seen):
        need = Need(Right.SELECT, Thing.topic(name))
        span = Text(parsed.sql).span(parsed.node.this)
        raise refusal(principal, need, span=span, sql=parsed.sql, similar=similar_names(name, seen))
    return replace(wanted(parsed, seen, readable=readable), principal=principal)


class Printing(Unshared):
    """A PRINT that runs: lines of text, first of all the formats, and again whenever fewer of them are possible."""

    columns: tuple[Column, ...] = ()

    plain = True
    """Its rows are lines of text."""
    stream = True

    def __init__(
        self,
        query_id: str,
        asked: Wanted,
        partitions: int,
        consumer: Consumer,
        registry: SchemaRegistry | None,
        closed: Callable[[Printing], None],
    ) -> None:
        self.id = query_id
        self.asked = asked
        self.limit_reached = False
        self._consumer = consumer
        self._key, self._value = Guess(registry, keys=True), Guess(registry, keys=False)
        self._closed = closed
        self._closing = threading.Event()
        self._close_lock = threading.Lock()
        self._reading = threading.Lock()
        begin = OFFSET_BEGINNING if asked.beginning else OFFSET_END
        consumer.assign([TopicPartition(asked.topic, p, begin) for p in range(partitions)])

    def rows(self) -> Iterator[str | None]:
        """The lines; None about twice a second while nothing comes. Ends at the LIMIT or when it is closed.

        Raises EngineProblem when the topic cannot be read, or the schema registry does not answer, and what it was
        ended for.
        """
        seen = shown = 0
        formats = ("", "")
        with self._reading:
            self.limit_reached = self.asked.limit == 0
            while not self._closing.is_set() and not self.limit_reached:
                message = self._consumer.poll(IDLE_SECONDS)
                if message is None:
                    yield None
                    continue
                error = message.error()
                if error is not None:
                    raise EngineProblem("query-failed", f"topic {self.asked.topic} cannot be read: {error.str()}")
                seen += 1
                if (seen - 1) % self.asked.interval:
                    continue
                with working():
                    line = self._line(message)
                    now = (f"Key format: {self._key.text}", f"Value format: {self._value.text}")
                    for before, after in zip(formats, now, strict=True):
                        if before != after:
                            yield after
                    formats = now
                    yield line
                shown += 1
                self.limit_reached = shown == self.asked.limit
        self.close()
        self.check_ended()

    def _line(self, message: Message) -> str:
        key, value = self._key.show(message.key()), self._value.show(message.value())
        at = time_text(message.timestamp()[1])
        return f"rowtime: {at}, key: {key}, value: {value}, partition: {message.partition()}"

    def close(self) -> None:
        """Ends it; closing twice does nothing."""
        with self._close_lock:
            if self._closing.is_set():
                return
            self._closing.set()
        threading.Thread(target=self._finish, name=f"close {self.id}", daemon=True).start()

    def _finish(self) -> None:
        with self._reading:
            self._consumer.close()
        self._closed(self)
