"""The statements of one case on a running engine: records go in, results come out, also when the JVM dies in between.

Kafka keeps no order between topics. So where a query reads several, or several queries write one, the records of a
topic must have been read before those of another are written.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from ksqlpy.catalog import PersistentQuery
from ksqlpy.deadletters import HEADERS
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.spark.once import HEADER, Offsets
from ksqlpy.spark.session import at_rest
from ksqlpy.testing.check import CaseFailed
from ksqlpy.testing.records import DeadLetter, Record

__all__ = ["Pace", "Served", "Written", "committed", "drop"]

log = logging.getLogger(__name__)

REVIVAL = 300.0
"""Seconds that the engine gets to start another JVM with all queries, on a busy machine."""


@dataclass(frozen=True)
class Pace:
    """How a case is waited for; times in seconds.

    ``deadline``: for its queries to start, and again to read all records; ``late``: for results that are missing then.
    ``look``: between two looks at what its queries have done; after ``quiet`` looks that see no change its topics count
    as quiet.
    """

    deadline: float = 60
    late: float = 30
    look: float = 0.1
    quiet: int = 3


@dataclass(frozen=True)
class Written:
    """A record in a topic, as it is there; ``time`` in ms."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    time: int
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def mark(self) -> bytes | None:
        """What tells the query that wrote it (:func:`ksqlpy.spark.once.mark`), if a query did."""
        return next((v[:4] for n, v in self.headers if n == HEADER and v), None)


@dataclass
class Served:
    """A case whose statements are done.

    ``suffix``: behind its names of streams, tables and topics; :meth:`plain` takes it off. ``where`` begins its
    messages. ``more_topics``: plain names of topics that no source has. ``write``: puts records into topics of these
    names, by default with the engine's producer; raises CaseFailed. ``first_dead``: the end that the topic of dead
    letters had before its queries, if not the present one.
    """

    engine: Engine
    suffix: str
    where: str
    pace: Pace = Pace()
    more_topics: frozenset[str] = frozenset()
    write: Callable[[Sequence[Record]], None] | None = None
    first_dead: Offsets | None = None
    _begins: dict[str, Offsets] = field(default_factory=dict)
    _before: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        catalog, suffix = self.engine.catalog, self.suffix
        self.queries = [q for q in catalog.queries.values() if q.sink.endswith(suffix)]
        self.sources = {
            (name := self.plain(s.name)): replace(s, name=name, topic=self.plain(s.topic))
            for s in catalog.sources.values()
            if s.name.endswith(suffix)
        }
        topics = {s.topic + suffix for s in self.sources.values()} | {t + suffix for t in self.more_topics}
        self.partitions = self.engine.topics.partitions(topics | {t for q in self.queries for t in q.offsets})
        self._dead_topic = self.engine.topics.dead_letters
        self.first_dead = self.first_dead or self._ends([self._dead_topic])

    def renewed(self) -> Served:
        """The same behind further statements; dead letters are still those since its beginning."""
        return replace(self)

    def plain(self, name: str) -> str:
        """The name that the case itself uses."""
        return name.removesuffix(self.suffix)

    # ------------------------------------------------------------ waiting

    def wait_until_live(self) -> None:
        """Waits until all its queries read; raises CaseFailed."""
        self._wait(self._all_live, "its queries did not start")

    def settle(self) -> None:
        """Waits until every query has read all of its topics and nothing changes any more; raises CaseFailed."""
        seen: list[object] = []

        def quiet() -> bool:
            ends = self._filled(list(self.partitions))
            read_all = all(self._has_read(q, ends) for q in self.queries)
            if not read_all or (seen and seen[-1] != ends):
                seen.clear()
            if read_all:
                seen.append(ends)
            return len(seen) >= self.pace.quiet

        self._wait(quiet, "its queries did not read all records")

    def wait_for(self, wanted: Mapping[str, int], dead_letters: int = 0) -> None:
        """Waits until there are so many records in its topics, by plain names, or they are too late."""

        def there() -> bool:
            enough = all(self._count({t + self.suffix: {}}) >= n for t, n in wanted.items())
            return enough and (not dead_letters or len(self.dead_letters()) >= dead_letters)

        self._wait(there)

    def wait_until_committed(self) -> None:
        """Waits until the checkpoints of its queries hold all that is in their topics; raises CaseFailed."""

        def kept() -> bool:
            ends = self._filled([t for q in self.queries for t in q.offsets])
            return all(self._holds(q, ends) for q in self.queries)

        self._wait(kept, "its queries made no checkpoint")

    def _wait(self, done: Callable[[], bool], complaint: str | None = None) -> None:
        """Looks until it is done; at the deadline it complains. Without a complaint it goes on with what there is."""
        end = time.monotonic() + (self.pace.deadline if complaint is not None else self.pace.late)
        while not done():
            for query in self.queries:
                running = self.engine.queries.get(query.id)
                if running is None or running.status.failed:
                    why = running.error if running is not None else "it was terminated"
                    raise CaseFailed(f"{self.where}: query {query.id.replace(self.suffix, '')} failed: {why}")
            if time.monotonic() > end:
                if complaint is not None:
                    said = f"{complaint} within {self.pace.deadline:.0f} seconds"
                    raise CaseFailed("\n".join([f"{self.where}: {said}", *self._told()]))
                return
            time.sleep(self.pace.look)

    def _told(self) -> list[str]:
        """How far each query is, for people."""
        lines = []
        for query in self.queries:
            running = self.engine.queries.get(query.id)
            how = "gone" if running is None else f"{running.state}, {running.phase.value}"
            read = self.engine.queries.counts(query.id).consumed
            kept = committed(self._checkpoint(query))
            begin = self._begins.get(query.id)
            lines.append(f"    {query.id}: {how}; records read {read}, from {begin}; committed {kept}")
        return [*lines, f"    ends {self._ends([t for q in self.queries for t in q.offsets])}"]

    def _all_live(self) -> bool:
        running = [self.engine.queries.get(q.id) for q in self.queries]
        return all(r is not None and r.live.is_set() for r in running)

    def _has_read(self, query: PersistentQuery, ends: Offsets) -> bool:
        """Whether it has read all records and made its results of them.

        Its first record may take it longer than topics need to count as quiet: code is made for it.
        """
        if self._holds(query, ends):
            return True
        consumed = self.engine.queries.counts(query.id).consumed
        begins = self._begins.get(query.id, query.offsets)
        return all(
            consumed.get(topic, 0) >= self._count({topic: {**first, **begins[topic]}})
            for topic, first in query.offsets.items()
        ) and at_rest(self.engine.session, query.id)

    def _holds(self, query: PersistentQuery, ends: Offsets) -> bool:
        """Whether the checkpoint of the query holds all records; then it has read them, whatever its clients count.

        Clients count from the start of their JVM.
        """
        found = committed(self._checkpoint(query)) or {}
        return all(found.get(t, {}).get(p, 0) >= ends[t][p] for t, ps in query.offsets.items() for p in ps)

    def _ends(self, topics: Sequence[str]) -> dict[str, dict[str, int]]:
        sizes = {**self.partitions, self._dead_topic: 1}
        return self.engine.kafka.offsets({t: sizes[t] for t in topics}, latest=True) if topics else {}

    def _filled(self, topics: Sequence[str]) -> dict[str, dict[str, int]]:
        """The offsets behind the last records: where producers of a dead JVM were ended, control records follow."""
        ends = self._ends(topics)
        if not self._begins:
            return ends
        found = {t: dict.fromkeys(partitions, 0) for t, partitions in ends.items()}
        for record in self._read(found):
            found[record.topic][str(record.partition)] = record.offset + 1
        return found

    def _count(self, begins: Offsets) -> int:
        """How many records there are from those offsets on; in partitions that are not named, from the first on."""
        ends = self._ends(list(begins))
        all_begins = {t: {p: begins[t].get(p, 0) for p in partitions} for t, partitions in ends.items()}
        if self._begins:  # there may be control records among them
            return len(self._read(all_begins))
        return sum(end - all_begins[t][p] for t, partitions in ends.items() for p, end in partitions.items())

    # ------------------------------------------------------------ the death of the JVM

    def before_death(self) -> None:
        """To be called ahead of it: remembers what runs."""
        self._before = {q.id: self.engine.queries.get(q.id) for q in self.queries}

    def after_death(self) -> None:
        """To be called when the JVM is gone and no other runs yet: looks from where its queries will read again."""
        for query in self.queries:
            found = committed(self._checkpoint(query))
            self._begins[query.id] = query.offsets if found is None else found

    def wait_until_back(self) -> None:
        """Waits until another JVM runs its queries and they have read again what they must; raises CaseFailed."""
        end = time.monotonic() + REVIVAL
        for query in self.queries:
            while (now := self.engine.queries.get(query.id)) is None or now is self._before[query.id]:
                if time.monotonic() > end:
                    raise CaseFailed(f"{self.where}: its queries did not come back within {REVIVAL:.0f} seconds")
                time.sleep(self.pace.look)
        self.wait_until_live()
        self.settle()

    def _checkpoint(self, query: PersistentQuery) -> Path:
        return Path(self.engine.queries.checkpoints.folder(query.id))

    # ------------------------------------------------------------ records

    def send(self, records: Sequence[Record]) -> None:
        """Writes records, with plain names of topics, in their order; raises CaseFailed if Kafka does not take them."""
        sinks = [q.sink for q in self.queries]
        several = any(len(q.offsets) > 1 for q in self.queries) or len(set(sinks)) < len(sinks)
        write = self.write or self._produce
        waiting: list[Record] = []
        for record in records:
            if several and waiting and waiting[-1].topic != record.topic + self.suffix:
                write(waiting)
                waiting = []
                self.settle()
            waiting.append(replace(record, topic=record.topic + self.suffix))
        write(waiting)

    def _produce(self, records: Sequence[Record]) -> None:
        refused: list[object] = []
        for record in records:
            self.engine.brokers.producer.produce(
                record.topic,
                key=record.key,
                value=record.value,
                timestamp=record.time or 0,
                headers=list(record.headers),
                on_delivery=lambda error, _: refused.append(error) if error is not None else None,
            )
        if self.engine.brokers.producer.flush(self.pace.deadline) or refused:
            why = refused[0] if refused else "it does not answer"
            raise CaseFailed(f"{self.where}: Kafka did not take the records: {why}")

    def written(self) -> dict[str, list[Written]]:
        """What its topics hold, by plain names, partition by partition."""
        return {
            self.plain(t): [replace(w, topic=self.plain(t)) for w in self._read({t: {str(p): 0 for p in range(n)}})]
            for t, n in self.partitions.items()
        }

    def _read(self, begins: Offsets) -> list[Written]:
        """The records from those offsets to the ends, partition by partition."""
        ends = self._ends(list(begins))
        left = {
            (t, int(p)): ends[t][p] for t, partitions in begins.items() for p, o in partitions.items() if ends[t][p] > o
        }
        if not left:
            return []
        consumer = self.engine.kafka.reader(ends=True)
        found: list[Written] = []
        limit = time.monotonic() + self.pace.deadline
        try:
            consumer.assign([TopicPartition(t, p, begins[t][str(p)]) for t, p in left])
            while left and time.monotonic() < limit:
                message = consumer.poll(0.5)
                if message is None:
                    continue
                place = (message.topic() or "", message.partition() or 0)
                error = message.error()
                if error is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        left.pop(place, None)
                    continue
                offset = message.offset() or 0
                if place in left and offset < left[place]:
                    given: Any = message.headers() or ()  # its stubs allow for more than consumers give
                    headers = tuple((n, v.encode() if isinstance(v, str) else v) for n, v in given)
                    time_ms = message.timestamp()[1]
                    found.append(Written(*place, offset, message.key(), message.value(), time_ms, headers))
                if offset >= left.get(place, 0) - 1:
                    left.pop(place, None)
        finally:
            consumer.close()
        return sorted(found, key=lambda m: (m.partition, m.offset))

    def dead_letters(self) -> list[DeadLetter]:
        """Those of the case, query by query."""
        found: dict[str, list[DeadLetter]] = {q.id: [] for q in self.queries}
        for message in self._read(self.first_dead or {}):
            named = {n: v.decode() for n, v in message.headers if n in HEADERS.values() and v is not None}
            letters = found.get(named.get(HEADERS["query"], ""))
            if letters is not None:
                topic = self.plain(named[HEADERS["topic"]])
                reason = named[HEADERS["reason"]].replace(self.suffix, "")  # it may name a function
                letters.append(DeadLetter(topic, int(named[HEADERS["offset"]]), reason))
        return [letter for letters in found.values() for letter in letters]


def drop(engine: Engine, suffix: str) -> None:
    """Ends the queries of a case and drops its sources with their topics."""
    writers = [q.id for q in engine.catalog.queries.values() if q.sink.endswith(suffix)]
    for query_id in writers:
        engine.execute(f"TERMINATE `{query_id}`;")
    made = [s for s in engine.catalog.sources.values() if s.name.endswith(suffix)]
    for source in reversed(made):
        try:
            engine.execute(f"DROP {source.kind} `{source.name}` DELETE TOPIC;")
        except KsqlError as e:
            log.warning("%s is left behind: %s", source.name, e)


def committed(checkpoint: Path) -> Offsets | None:
    """Up to where the last committed batch of a checkpoint in a local folder has read; None before the first.

    Read as files, since it is asked for when no JVM runs. A commit that is cut off does not count.
    """
    numbers = [int(f.name) for f in (checkpoint / "spark" / "commits").glob("[0-9]*")]
    for number in sorted(numbers, reverse=True):
        try:
            commit = (checkpoint / "spark" / "commits" / str(number)).read_text().splitlines()
            offsets = (checkpoint / "spark" / "offsets" / str(number)).read_text().splitlines()
            json.loads(commit[-1])
            found: Offsets = json.loads(offsets[-1])
            return found
        except (OSError, ValueError, IndexError):
            continue
    return None
