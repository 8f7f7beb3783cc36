"""Runs cases on a real engine: Kafka on both sides, queries in real-time mode.

One engine serves any number of cases side by side. Each case gets names of its own for its streams, tables and topics,
by a suffix that files never see.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ksqlpy.catalog import Source
from ksqlpy.deadletters import HEADERS
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.spark.once import HEADER
from ksqlpy.sql import nodes, parse
from ksqlpy.testing.cases import Case
from ksqlpy.testing.check import Outcome, check_outcome
from ksqlpy.testing.memory import EARLIEST, MemoryRunner
from ksqlpy.testing.names import functions_of, with_suffix
from ksqlpy.testing.records import Record, find_source, inputs
from ksqlpy.testing.served import Pace, Served, Written, drop

__all__ = ["KafkaRunner", "LiveCase", "new_suffix", "with_suffix", "without_marks"]

_NUMBERS = itertools.count(1)


def new_suffix() -> str:
    """A suffix that no case of this process has had."""
    return f"__{next(_NUMBERS)}"


class KafkaRunner:
    """Runs cases on a started engine; one runner may serve several threads.

    ``deadline``: seconds that a case waits for its queries to start, and again for its records to come out.
    """

    def __init__(self, engine: Engine, deadline: float = 60) -> None:
        self._engine = engine
        self._pace = Pace(deadline)

    def run(self, case: Case) -> Outcome:
        """Runs the case; raises CaseFailed if a query fails, and FileProblem."""
        if case.error is not None:  # what is refused never comes to Kafka
            return MemoryRunner(self._engine.session).run(case)
        live = LiveCase(self._engine, case, self._pace)
        try:
            try:
                live.start()
            except KsqlError as e:
                return Outcome(error=e.render())
            live.served.wait_until_live()
            live.served.send(live.records())
            return live.outcome()
        finally:
            live.drop()


class LiveCase:
    """A case of a statement file on an engine; ``properties``: of the session that runs its statements."""

    def __init__(self, engine: Engine, case: Case, pace: Pace, properties: Mapping[str, object] = EARLIEST) -> None:
        self._engine, self._case, self._pace, self._properties = engine, case, pace, properties
        self._suffix = new_suffix()
        self._types: list[str] = []
        self._functions = functions_of(case.texts)
        self.served: Served

    @property
    def name(self) -> str:
        """The file and the case."""
        return f"{self._case.file.stem}: {self._case.name}"

    def start(self, properties: Mapping[str, object] | None = None) -> None:
        """Runs the statements, with more properties; raises KsqlError."""
        for text in self._case.texts:
            sql = with_suffix(text, self._suffix, self._functions)
            self._types += [p.node.this.this for p in parse(sql) if isinstance(p.node, nodes.CreateType)]
            self._engine.execute(sql, {**self._properties, **(properties or {})})
        self.served = Served(self._engine, self._suffix, self._case.where(), self._pace)

    def records(self) -> list[Record]:
        """The records that go in; raises FileProblem."""
        return inputs(self._case, self.served.sources, self._written)

    def _written(self, source: Source) -> Source:
        """A source of the case as it is once records are written into it."""
        own = self._engine.catalog.sources[source.name + self._suffix]
        return replace(self._engine.catalog_service.written(own), name=source.name, topic=source.topic)

    def outcome(self) -> Outcome:
        """Waits for what comes out, when all has gone in; raises CaseFailed, and FileProblem."""
        served, case = self.served, self._case
        served.settle()
        wanted = {}
        for section in case.of_kind("output"):
            source = find_source(section.name, served.sources, case.where(section.number))
            wanted[source.topic] = len(section.content)
        served.wait_for(wanted, sum(len(s.content) for s in case.of_kind("dead letters")))
        served.settle()
        out = {t: [self._record(w) for w in found] for t, found in served.written().items()}
        several = {served.plain(t) for t, n in served.partitions.items() if n > 1}
        return Outcome(served.sources, out, served.dead_letters(), frozenset(several | self._united()))

    def verify(self) -> None:
        """As :meth:`outcome`, and compares; raises CaseFailed."""
        check_outcome(self._case, self.outcome())

    def _united(self) -> set[str]:
        """The topics of results that come from streams of several topics."""
        plans = {q.sink: self._engine.plan_of(q.id) for q in self.served.queries}
        sinks = {name for name, plan in plans.items() if len({r.source.topic for r in plan.streams}) > 1}
        return {self.served.sources[self.served.plain(name)].topic for name in sinks}

    def _record(self, w: Written) -> Record:
        # Where a result came from is ours, not the user's; the suffix of names is the runner's.
        own = self._suffix.encode()
        headers = tuple(
            (n, v.removesuffix(own) if v is not None and n in HEADERS.values() else v)
            for n, v in without_marks(w.headers)
        )
        return Record(w.topic, w.key, w.value, w.time, headers)

    def drop(self) -> None:
        """Takes all of it off the engine."""
        drop(self._engine, self._suffix)
        for name in self._types:
            self._engine.execute(f"DROP TYPE IF EXISTS `{name}`;")
        for name in self._functions:
            self._engine.execute(f"DROP FUNCTION IF EXISTS `{name}{self._suffix}`;")


def without_marks(headers: Sequence[tuple[str, bytes | None]]) -> tuple[tuple[str, bytes | None], ...]:
    """The headers that are the user's."""
    return tuple((n, v) for n, v in headers if n != HEADER)
