"""Runs cases on a real engine: Kafka on both sides, queries in real-time mode.

One engine serves any number of cases side by side. Each case gets names of its own for its streams, tables and topics,
by a suffix that files never see.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import TopicPartition
from sqlglot import exp

from ksqlpy.analysis.windows import LATE_TOPIC
from ksqlpy.catalog import PersistentQuery
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.spark.once import HEADER_PREFIX
from ksqlpy.spark.output import HEADERS
from ksqlpy.sql import Parsed, nodes, parse, span_of
from ksqlpy.testing.cases import Case
from ksqlpy.testing.check import CaseFailed, Outcome
from ksqlpy.testing.memory import EARLIEST, MemoryRunner
from ksqlpy.testing.records import DeadLetter, Record, find_source, inputs

__all__ = ["KafkaRunner", "with_suffix"]

log = logging.getLogger(__name__)

_LOOK = 0.1
"""Seconds between two looks at what a query has done; after three that see no change the topics count as quiet."""
_QUIET = 3


class KafkaRunner:
    """Runs cases on a started engine; one runner may serve several threads.

    ``deadline``: seconds that a case waits for its queries to start, and again for its records to come out.
    """

    def __init__(self, engine: Engine, deadline: float = 60) -> None:
        self._engine = engine
        self._deadline = deadline
        self._numbers = itertools.count(1)

    def run(self, case: Case) -> Outcome:
        """Runs the case; raises CaseFailed if a query fails, and FileProblem."""
        if case.error is not None:  # what is refused never comes to Kafka
            return MemoryRunner(self._engine.session).run(case)
        suffix = f"__{next(self._numbers)}"
        try:
            for sql in (case.shared, case.sql):
                self._engine.execute(with_suffix(sql, suffix), EARLIEST)
        except KsqlError as e:
            self._drop(suffix)
            return Outcome(error=e.render())
        try:
            return _Run(self._engine, case, suffix, self._deadline).outcome()
        finally:
            self._drop(suffix)

    def _drop(self, suffix: str) -> None:
        writers = [q.id for q in self._engine.catalog.queries.values() if q.sink.endswith(suffix)]
        for query_id in writers:
            self._engine.execute(f"TERMINATE `{query_id}`;")
        made = [s for s in self._engine.catalog.sources.values() if s.name.endswith(suffix)]
        for source in reversed(made):
            try:
                self._engine.execute(f"DROP {source.kind} `{source.name}` DELETE TOPIC;")
            except KsqlError as e:
                log.warning("%s is left behind: %s", source.name, e)


class _Run:
    """One case whose statements are done."""

    def __init__(self, engine: Engine, case: Case, suffix: str, deadline: float) -> None:
        self._engine, self._case, self._suffix, self._deadline = engine, case, suffix, deadline
        catalog = engine.catalog
        self._queries = [q for q in catalog.queries.values() if q.sink.endswith(suffix)]
        self._sources = {
            (name := self._plain(s.name)): replace(s, name=name, topic=self._plain(s.topic))
            for s in catalog.sources.values()
            if s.name.endswith(suffix)
        }
        self._partitions = engine.topics.partitions({s.topic + suffix for s in self._sources.values()})
        self._dead_topic = engine.topics.dead_letters
        self._first_dead = self._ends([self._dead_topic])

    def _plain(self, name: str) -> str:
        return name.removesuffix(self._suffix)

    def outcome(self) -> Outcome:
        """Sends the records in, and waits for those that come out."""
        records = inputs(self._case, self._sources)
        self._wait(self._all_live, "its queries did not start")
        self._send(records)
        self._settle()
        wanted = self._wanted()
        self._wait(lambda: self._there(wanted), None)
        self._settle()
        out = {
            self._plain(t): [self._record(m) for m in self._read({t: {str(p): 0 for p in range(n)}})]
            for t, n in self._partitions.items()
        }
        several = {self._plain(t) for t, n in self._partitions.items() if n > 1}
        return Outcome(self._sources, out, self._dead_letters(), frozenset(several | self._united()))

    def _united(self) -> set[str]:
        """The topics of results that come from streams of several topics."""
        plans = {q.sink: self._engine.plan_of(q.id) for q in self._queries}
        sinks = {name for name, plan in plans.items() if len({s.relation.source.topic for s in plan.streams}) > 1}
        return {self._sources[self._plain(name)].topic for name in sinks}

    # ------------------------------------------------------------ waiting

    def _wait(self, done: Callable[[], bool], complaint: str | None) -> None:
        """Looks until it is done; at the deadline it complains, or goes on with what there is."""
        end = time.monotonic() + self._deadline
        while not done():
            for query in self._queries:
                running = self._engine.queries.get(query.id)
                if running is None or running.state == "ERROR":
                    why = running.error if running is not None else "it was terminated"
                    raise CaseFailed(f"{self._case.where()}: query {self._plain_id(query)} failed: {why}")
            if time.monotonic() > end:
                if complaint is not None:
                    raise CaseFailed(f"{self._case.where()}: {complaint} within {self._deadline:.0f} seconds")
                return
            time.sleep(_LOOK)

    def _plain_id(self, query: PersistentQuery) -> str:
        return query.id.replace(self._suffix, "")

    def _all_live(self) -> bool:
        running = [self._engine.queries.get(q.id) for q in self._queries]
        return all(r is not None and r.live.is_set() for r in running)

    def _settle(self) -> None:
        """Waits until every query has read all of its topics and nothing changes any more."""
        seen: list[object] = []

        def quiet() -> bool:
            ends = self._ends([*self._partitions, self._dead_topic])
            read_all = all(self._has_read(q, ends) for q in self._queries)
            ends.pop(self._dead_topic)
            if not read_all or (seen and seen[-1] != ends):
                seen.clear()
            if read_all:
                seen.append(ends)
            return len(seen) >= _QUIET

        self._wait(quiet, "its queries did not read all records")

    def _has_read(self, query: PersistentQuery, ends: Mapping[str, Mapping[str, int]]) -> bool:
        consumed = self._engine.queries.figures(query.id)["consumed"]
        return all(
            consumed.get(topic, 0) >= sum(ends[topic][p] - first for p, first in begins.items())
            for topic, begins in query.offsets.items()
        )

    def _wanted(self) -> dict[str, int]:
        """How many records the case wants, by topic."""
        wanted: dict[str, int] = {}
        for section in self._case.of_kind("output"):
            source = find_source(section.name, self._sources, self._case.where(section.number))
            wanted[source.topic + self._suffix] = len(section.content)
        for section in self._case.of_kind("dead letters"):
            wanted[self._dead_topic] = len(section.content)
        return wanted

    def _there(self, wanted: Mapping[str, int]) -> bool:
        ends = self._ends([t for t in wanted if t != self._dead_topic])
        return all(
            (len(self._dead_letters()) if t == self._dead_topic else sum(ends[t].values())) >= n
            for t, n in wanted.items()
        )

    # ------------------------------------------------------------ records

    def _send(self, records: Sequence[Record]) -> None:
        sinks = [q.sink for q in self._queries]
        several = any(len(q.offsets) > 1 for q in self._queries) or len(set(sinks)) < len(sinks)
        refused: list[object] = []
        before: str | None = None
        for record in records:
            # Kafka keeps no order between topics, so the one must be read before the other is written.
            if several and before not in (None, record.topic):
                self._engine.producer.flush(self._deadline)
                self._settle()
            before = record.topic
            self._engine.producer.produce(
                record.topic + self._suffix,
                key=record.key,
                value=record.value,
                timestamp=record.time or 0,
                headers=list(record.headers),
                on_delivery=lambda error, _: refused.append(error) if error is not None else None,
            )
        if self._engine.producer.flush(self._deadline) or refused:
            why = refused[0] if refused else "it does not answer"
            raise CaseFailed(f"{self._case.where()}: Kafka did not take the records: {why}")

    def _ends(self, topics: Sequence[str]) -> dict[str, dict[str, int]]:
        sizes = {**getattr(self, "_partitions", {}), self._engine.topics.dead_letters: 1}
        return self._engine.kafka.offsets({t: sizes[t] for t in topics}, latest=True) if topics else {}

    def _read(self, begins: Mapping[str, Mapping[str, int]]) -> list[_Message]:
        """The records from those offsets to the ends, partition by partition."""
        ends = self._ends(list(begins))
        left = {
            (t, int(p)): ends[t][p] for t, partitions in begins.items() for p, o in partitions.items() if ends[t][p] > o
        }
        if not left:
            return []
        consumer = self._engine.kafka.reader()
        found: list[_Message] = []
        limit = time.monotonic() + self._deadline
        try:
            consumer.assign([TopicPartition(t, p, begins[t][str(p)]) for t, p in left])
            while left and time.monotonic() < limit:
                message = consumer.poll(0.5)
                if message is None or message.error() is not None:
                    continue
                place = (message.topic() or "", message.partition() or 0)
                offset = message.offset() or 0
                if place in left and offset < left[place]:
                    given: Any = message.headers() or ()  # its stubs allow for more than consumers give
                    headers = tuple((n, v.encode() if isinstance(v, str) else v) for n, v in given)
                    time_ms = message.timestamp()[1]
                    found.append(_Message(*place, offset, message.key(), message.value(), time_ms, headers))
                if offset >= left.get(place, 0) - 1:
                    left.pop(place, None)
        finally:
            consumer.close()
        return sorted(found, key=lambda m: (m.partition, m.offset))

    def _record(self, m: _Message) -> Record:
        # Where a result came from is ours, not the user's.
        plain = self._suffix.encode()
        headers = tuple(
            (n, v.removesuffix(plain) if v is not None and n in HEADERS.values() else v)
            for n, v in m.headers
            if not n.startswith(HEADER_PREFIX)
        )
        return Record(self._plain(m.topic), m.key, m.value, m.time, headers)

    def _dead_letters(self) -> list[DeadLetter]:
        """Those of the case, query by query."""
        found: dict[str, list[DeadLetter]] = {q.id: [] for q in self._queries}
        for message in self._read(self._first_dead):
            named = {n: v.decode() for n, v in message.headers if n in HEADERS.values() and v is not None}
            letters = found.get(named.get(HEADERS["query"], ""))
            if letters is not None:
                topic = self._plain(named[HEADERS["topic"]])
                letters.append(DeadLetter(topic, int(named[HEADERS["offset"]]), named[HEADERS["reason"]]))
        return [letter for letters in found.values() for letter in letters]


@dataclass(frozen=True)
class _Message:
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    time: int
    headers: tuple[tuple[str, bytes | None], ...]


# ---------------------------------------------------------------- names


def with_suffix(sql: str, suffix: str) -> str:
    """The statements with the suffix behind the names of sources and topics; all else stays as it is written.

    >>> with_suffix("CREATE STREAM b AS SELECT a.x FROM a;", "__1")
    'CREATE STREAM `B__1` AS SELECT a.x FROM `A__1` AS `A`;'
    """
    edits: list[tuple[int, int, str]] = []

    def replace_node(node: exp.Expr, text: str) -> None:
        span = span_of(node, sql)
        assert span is not None
        edits.append((span.start, span.end, text))

    for parsed in parse(sql):
        for node in _named(parsed):
            replace_node(node, f"`{node.this}{suffix}`")
        for table in parsed.node.find_all(exp.Table):
            if _names_a_query(table):
                continue
            alias = "" if table.args.get("alias") is not None else f" AS `{table.this.this}`"
            replace_node(table.this, f"`{table.this.this}{suffix}`{alias}")
        for found in parsed.node.find_all(exp.Property):
            if found.this.name.upper() == "KAFKA_TOPIC":
                value = found.args["value"]
                replace_node(value, "'" + value.name.replace("'", "''") + suffix + "'")
        if isinstance(parsed.node, nodes.SetProperty) and parsed.node.this.this == LATE_TOPIC:
            replace_node(parsed.node.expression, f"'{parsed.node.expression.this}{suffix}'")
    for start, end, text in sorted(edits, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


def _names_a_query(table: exp.Expr) -> bool:
    """Whether the name in FROM is one that WITH gives to a query."""
    name, node = table.this.this, table
    while (parent := node.parent) is not None:
        clause = parent.args.get("with_")
        tables = clause.expressions if clause is not None and clause is not node else []
        if isinstance(parent, exp.With):  # a query of WITH knows those before it
            tables = parent.expressions[: parent.expressions.index(node)]
        if any(t.args["alias"].this.this == name for t in tables):
            return True
        node = parent
    return False


def _named(parsed: Parsed) -> list[exp.Expr]:
    """The identifiers with which a statement names a source, outside of queries."""
    own = (
        nodes.CreateSource,
        nodes.AlterSource,
        nodes.InsertValues,
        nodes.InsertSelect,
        nodes.DeleteFrom,
        nodes.DropSource,
        nodes.DescribeSource,
    )
    return [parsed.node.this] if isinstance(parsed.node, own) else []
