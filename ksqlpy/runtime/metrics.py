"""What an engine tells for GET /metrics: all queries at once, and one question to Spark's JVM for all of them."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ksqlpy.catalog import Catalog
from ksqlpy.figures import CopyFigures, Counts, EngineMetrics, JvmFigures, QueryFigures, QueryMetrics
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.lagtime import LagTime
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.spark.figures import all_figures
from ksqlpy.spark.query_status import State
from ksqlpy.version import __version__

__all__ = ["Metrics"]

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds for which the JVM is waited for; then its figures of before are told."""

OLD = 60.0
"""Seconds after which figures are told no more: who looks at them would take them for those of now."""


@dataclass(frozen=True)
class _Look:
    """What a query had done at a time. ``since``: when it was first seen to read nothing of what there is."""

    at: float
    read: int
    written: int
    letters: int
    since: float | None

    @classmethod
    def at_time(cls, now: float, figures: QueryFigures, before: _Look | None) -> _Look:
        counts, since = figures.counts, None
        read = sum(counts.consumed.values())
        if counts.lag:
            since = before.since if before is not None and before.read == read and before.since is not None else now
        return cls(now, read, sum(counts.sent.values()), sum(figures.letters.values()), since)

    def rates(self, before: _Look | None) -> tuple[float, float, float]:
        """Records read and written, and dead letters, in a second; counts may have begun at 0 again."""
        if before is None or self.at <= before.at:
            return 0.0, 0.0, 0.0
        of = (self.read - before.read, self.written - before.written, self.letters - before.letters)
        read, written, letters = (max(0, n) / (self.at - before.at) for n in of)
        return read, written, letters


class Metrics:
    """The metrics of one engine; any thread may ask. ``clock``: the time in seconds."""

    def __init__(self, brokers: Brokers, supervisor: Supervisor, clock: Callable[[], float] = time.monotonic) -> None:
        self._brokers, self._supervisor, self._clock = brokers, supervisor, clock
        self._known = JvmFigures()
        self._at: float | None = None
        self._capacity: int | None = None
        self._asking = threading.Lock()
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
        """Those of now, with figures that may be a minute old if the JVM does not answer."""
        self._ask()
        now, at, known = self._clock(), self._at, self._known
        if at is None or now - at > OLD:
            known = JvmFigures()
        blocked = {name for kind, name in catalog.blocked if kind == "query"}
        told = tuple(self._query(q, catalog, known, now) for q in sorted({*catalog.queries, *blocked}))
        self._looks = {q.id: self._looks[q.id] for q in told if q.id in self._looks}
        for gone in self._lags.keys() - self._looks.keys():
            del self._lags[gone]
        return EngineMetrics(
            version=__version__,
            service=self._brokers.config.get("ksql.service.id"),
            queries=told,
            slots=self._slots(),
            push_queries=push_queries,
            jvm_restarts=self._supervisor.driver.restarts,
            age=None if at is None else now - at,
            free_bytes=_free(folder),
            machine=known.machine,
            pull_queries=pull_queries,
            copies=copies or {},
        )

    def _slots(self) -> Mapping[str, int]:
        queries, capacity = self._supervisor.queries, self._capacity
        used = sum(queries.task_slots.of(q.spec) for q in queries.all() if not q.refused)
        return {"used": used, **({"free": max(0, capacity - used)} if capacity is not None else {})}

    def _query(self, query_id: str, catalog: Catalog, known: JvmFigures, now: float) -> QueryMetrics:
        status, running = self._supervisor.status(query_id, catalog), self._supervisor.queries.get(query_id)
        counts, query = known.counts.get(query_id, Counts()), catalog.queries.get(query_id)
        aside = {self._brokers.topics.dead_letters, running.spec.plan.late_topic if running is not None else None}
        figures = QueryFigures(
            replace(counts, sent={t: n for t, n in counts.sent.items() if t not in aside}),
            running.doing if running is not None and status.state is State.RUNNING else None,
            known.progress.get(query_id),
            self._brokers.dead_letters.of(query_id),
        )
        before = self._looks.get(query_id)
        self._looks[query_id] = look = _Look.at_time(now, figures, before)
        return QueryMetrics(
            query_id,
            query.sink if query is not None else "",
            status.state,
            status.since,
            running.restarts if running is not None else 0,
            0.0 if look.since is None else now - look.since,
            figures,
            *look.rates(before),
            behind=self._lags[query_id].at(now, look.read, figures.counts.lag),
        )

    def _ask(self) -> None:
        """Has the JVM asked, in a thread of its own: one that is stopped never answers."""
        if not self._asking.acquire(blocking=False):
            return
        done = threading.Event()
        threading.Thread(target=self._answer, args=(done,), name="metrics", daemon=True).start()
        done.wait(PATIENCE)

    def _answer(self, done: threading.Event) -> None:
        try:
            self._capacity = self._supervisor.queries.task_slots.capacity
            known = all_figures(self._supervisor.session)
            if known is not None:
                self._known, self._at = known, self._clock()
        except Exception as e:  # whatever it is, the metrics that are known are told
            log.warning("no figures for metrics: %s", e)
        finally:
            self._asking.release()
            done.set()


def _free(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
