"""What an engine tells for GET /metrics: all queries at once, and one question to Spark's JVM for all of them."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ksqlpy import __version__
from ksqlpy.catalog import Catalog
from ksqlpy.figures import Counts, EngineMetrics, JvmFigures, QueryFigures, QueryMetrics
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.spark.figures import all_figures
from ksqlpy.spark.query_status import State

__all__ = ["Metrics"]

log = logging.getLogger(__name__)

PATIENCE = 1.0
"""Seconds for which the JVM is waited for; then its figures of before are told."""

OLD = 60.0
"""Seconds after which figures are told no more: who looks at them would take them for those of now."""


class Metrics:
    """The metrics of one engine; any thread may ask. ``clock``: the time in seconds."""

    def __init__(self, brokers: Brokers, supervisor: Supervisor, clock: Callable[[], float] = time.monotonic) -> None:
        self._brokers, self._supervisor, self._clock = brokers, supervisor, clock
        self._known = JvmFigures()
        self._at: float | None = None
        self._capacity: int | None = None
        self._asking = threading.Lock()
        self._read: dict[str, tuple[int, float | None]] = {}

    def now(self, catalog: Catalog, push_queries: int, folder: Path) -> EngineMetrics:
        """Those of now, with figures that may be a minute old if the JVM does not answer."""
        self._ask()
        now, at, known = self._clock(), self._at, self._known
        if at is None or now - at > OLD:
            known = JvmFigures()
        blocked = {name for kind, name in catalog.blocked if kind == "query"}
        told = tuple(self._query(q, catalog, known, now) for q in sorted({*catalog.queries, *blocked}))
        self._read = {q.id: self._read[q.id] for q in told if q.id in self._read}
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
        return QueryMetrics(
            query_id,
            query.sink if query is not None else "",
            status.state,
            status.since,
            running.restarts if running is not None else 0,
            self._stalled(query_id, counts, now),
            figures,
        )

    def _stalled(self, query_id: str, counts: Counts, now: float) -> float:
        """Seconds since it has read anything, if there is something to read."""
        read, (before, since) = sum(counts.consumed.values()), self._read.get(query_id, (-1, None))
        if not counts.lag:
            since = None
        elif read != before or since is None:
            since = now
        self._read[query_id] = read, since
        return 0.0 if since is None else now - since

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
