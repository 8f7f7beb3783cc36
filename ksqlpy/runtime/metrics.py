"""What an engine tells for GET /metrics: all queries at once, and one question to Spark's JVM for all of them."""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ksqlpy.catalog import Catalog
from ksqlpy.figures import CopyFigures, Counts, EngineMetrics, JvmFigures, QueryFigures, QueryMetrics
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.lagtime import LagTime
from ksqlpy.runtime.questions import Answer, Questions
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.spark.figures import all_figures
from ksqlpy.spark.query_status import State
from ksqlpy.version import __version__

__all__ = ["Metrics"]

PATIENCE = 1.0
"""Seconds for which the JVM is waited for; then its figures of before are told."""

OLD = 60.0
"""Seconds after which figures are told no more: who looks at them would take them for those of now."""


@dataclass(frozen=True)
class _Look:
    """What a query had done at a time, which is that of its figures: those that are told again are no other look.

    ``since``: when it was first seen to read nothing of what there is; ``rates``: records read and written, and dead
    letters, in a second since the look before; ``behind``: its lag in seconds.
    """

    at: float
    read: int
    written: int
    letters: int
    since: float | None
    rates: tuple[float, float, float] = (0.0, 0.0, 0.0)
    behind: float | None = None

    @classmethod
    def at_time(cls, at: float, figures: QueryFigures, before: _Look | None, lag: LagTime) -> _Look:
        counts, since = figures.counts, None
        read = sum(counts.consumed.values())
        if counts.lag:
            since = before.since if before is not None and before.read == read and before.since is not None else at
        look = cls(at, read, sum(counts.sent.values()), sum(figures.letters.values()), since)
        return replace(look, rates=look._rates(before), behind=lag.at(at, read, counts.lag))

    def _rates(self, before: _Look | None) -> tuple[float, float, float]:
        """Counts may have begun at 0 again."""
        if before is None:
            return 0.0, 0.0, 0.0
        of = (self.read - before.read, self.written - before.written, self.letters - before.letters)
        read, written, letters = (max(0, n) / (self.at - before.at) for n in of)
        return read, written, letters


_UNKNOWN = _Look(0.0, 0, 0, 0, None)
_NOTHING = JvmFigures()


class Metrics:
    """The metrics of one engine; any thread may ask. ``clock``: the time in seconds."""

    def __init__(self, brokers: Brokers, supervisor: Supervisor, clock: Callable[[], float] = time.monotonic) -> None:
        self._brokers, self._supervisor, self._clock = brokers, supervisor, clock
        self._figures = Questions(self._asked, "figures", clock)
        self._capacity: int | None = None
        self._looks: dict[str, _Look] = {}
        self._lags = defaultdict[str, LagTime](LagTime)

    def now(
        self,
        catalog: Catalog,
        push_queries: int,
        folder: Path,
        pull_queries: int = 0,
        copies: Mapping[str, CopyFigures] | None = None,
    ) -> EngineMetrics:
        """Those of now; the JVM's figures are up to a minute old if it does not answer soon, as ``age`` tells."""
        answer = self._figures.ask(PATIENCE)
        age = self._age(answer)
        known = answer if age <= OLD else None
        if known is None:
            self._looks = {}
        blocked = {name for kind, name in catalog.blocked if kind == "query"}
        told = tuple(self._query(q, catalog, known) for q in sorted({*catalog.queries, *blocked}))
        there = {q.id for q in told}
        self._looks = {query_id: look for query_id, look in self._looks.items() if query_id in there}
        for gone in self._lags.keys() - there:
            del self._lags[gone]
        return EngineMetrics(
            version=__version__,
            service=self._brokers.config.get("ksql.service.id"),
            queries=told,
            slots=self._slots(),
            push_queries=push_queries,
            jvm_restarts=self._supervisor.driver.restarts,
            age=None if answer is None else age,
            free_bytes=_free(folder),
            machine=(_NOTHING if known is None else known.told).machine,
            pull_queries=pull_queries,
            copies=copies or {},
        )

    def _slots(self) -> Mapping[str, int]:
        queries, capacity = self._supervisor.queries, self._capacity
        used = sum(queries.task_slots.of(q.spec) for q in queries.all() if not q.refused)
        return {"used": used, **({"free": max(0, capacity - used)} if capacity is not None else {})}

    def _query(self, query_id: str, catalog: Catalog, known: Answer[JvmFigures] | None) -> QueryMetrics:
        status, running = self._supervisor.status(query_id, catalog), self._supervisor.queries.get(query_id)
        query, told = catalog.queries.get(query_id), _NOTHING if known is None else known.told
        counts = told.counts.get(query_id, Counts())
        aside = {self._brokers.topics.dead_letters, running.spec.plan.late_topic if running is not None else None}
        figures = QueryFigures(
            replace(counts, sent={t: n for t, n in counts.sent.items() if t not in aside}),
            running.doing if running is not None and status.state is State.RUNNING else None,
            told.progress.get(query_id),
            self._brokers.dead_letters.of(query_id),
        )
        look = self._look(query_id, figures, known)
        return QueryMetrics(
            query_id,
            query.sink if query is not None else "",
            status.state,
            status.since,
            running.restarts if running is not None else 0,
            0.0 if look.since is None else look.at - look.since,
            figures,
            *look.rates,
            behind=look.behind,
            error=catalog.blocked.get(("query", query_id)) or (running.error if running is not None else None),
        )

    def _look(self, query_id: str, figures: QueryFigures, known: Answer[JvmFigures] | None) -> _Look:
        if known is None:
            return _UNKNOWN
        look = self._looks.get(query_id)
        if look is None or look.at < known.at:
            look = self._looks[query_id] = _Look.at_time(known.at, figures, look, self._lags[query_id])
        return look

    def _age(self, answer: Answer[JvmFigures] | None) -> float:
        return float("inf") if answer is None else self._clock() - answer.at

    def _asked(self) -> JvmFigures | None:
        self._capacity = self._supervisor.queries.task_slots.capacity
        return all_figures(self._supervisor.session)


def _free(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
