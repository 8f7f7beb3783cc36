"""What GET /metrics tells of queries beside their figures, and of the server."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ksqlpy.figures.counts import Counts
from ksqlpy.figures.metrics import Kind, Metric, Sample, one
from ksqlpy.figures.table import FIGURES, Progress, QueryFigures

__all__ = [
    "ENGINE_METRICS",
    "SERVER_METRICS",
    "CopyFigures",
    "EngineMetrics",
    "JvmFigures",
    "Machine",
    "QueryMetrics",
    "ServerMetrics",
    "query_metrics",
]


@dataclass(frozen=True, slots=True)
class Machine:
    """Of Spark's JVM: bytes of its heap, the collections of its garbage, and the ms that they took.

    Its threads, and the ms that processors have worked for it. None: not known.
    """

    heap_used: int | None = None
    heap_max: int | None = None
    collections: int | None = None
    collection_ms: int | None = None
    threads: int | None = None
    cpu_ms: int | None = None


@dataclass(frozen=True, slots=True)
class JvmFigures:
    """What Spark's JVM tells at one time, of queries by their ids."""

    counts: Mapping[str, Counts] = field(default_factory=dict)
    progress: Mapping[str, Progress] = field(default_factory=dict)
    machine: Machine = Machine()


@dataclass(frozen=True, slots=True)
class CopyFigures:
    """Of the copy of a table. ``lag``: in records, None before all ends are known; ``size``: in bytes."""

    lag: int | None = None
    size: int = 0

    def __add__(self, other: CopyFigures) -> CopyFigures:
        """Of two copies of the same table: the one that is further behind, and the size of both."""
        lags = [c.lag for c in (self, other) if c.lag is not None]
        return CopyFigures(max(lags, default=None), self.size + other.size)


@dataclass(frozen=True, slots=True)
class QueryMetrics:
    """A persistent query. ``since``: of its state, seconds since 1970; ``stalled``, ``behind``: see the metrics.

    Rates are those since the look before. ``error``: why it does not run.
    """

    id: str
    sink: str
    state: str
    since: float | None
    restarts: int
    stalled: float
    figures: QueryFigures
    read_per_second: float = 0.0
    written_per_second: float = 0.0
    letters_per_second: float = 0.0
    behind: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class EngineMetrics:
    """What an engine tells. ``slots``: by ``used`` and ``free``; ``age``: of the JVM's figures, in seconds.

    ``free_bytes``: of the disk with the data folder; ``copies``: of tables, by their names.
    """

    version: str
    service: str
    queries: tuple[QueryMetrics, ...] = ()
    slots: Mapping[str, int] = field(default_factory=dict)
    push_queries: int = 0
    jvm_restarts: int = 0
    age: float | None = None
    free_bytes: int | None = None
    machine: Machine = Machine()
    pull_queries: int = 0
    copies: Mapping[str, CopyFigures] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerMetrics:
    """What a server counts. ``requests``: by endpoint and code; ``open``: those that are answered now, by endpoint.

    ``audit_lost``: lines of the audit log that were not written, by the place where they were to go. ``age``: of the
    figures of queries, in seconds.
    """

    ready: bool
    requests: Mapping[tuple[str, str], int]
    open: Mapping[str, int]
    audit_lost: Mapping[str, int] = field(default_factory=dict)
    age: float | None = None


_OF_QUERY = (
    Metric[QueryMetrics](
        "query_info", Kind.GAUGE, "1; the stream or table that the query writes", lambda q: [((q.sink,), 1)], ("sink",)
    ),
    Metric[QueryMetrics](
        "query_state",
        Kind.GAUGE,
        "1; the state of the query",
        lambda q: [((q.state,), 1)],
        ("state",),
    ),
    Metric[QueryMetrics](
        "query_state_since_timestamp_seconds", Kind.GAUGE, "when its state began", lambda q: one(q.since)
    ),
    Metric[QueryMetrics](
        "query_restarts_total",
        Kind.COUNTER,
        "tries of the query that failed; a death of Spark's JVM is none",
        lambda q: one(q.restarts),
    ),
    Metric[QueryMetrics](
        "query_stalled_seconds",
        Kind.GAUGE,
        "for how long the query has had records to read and has read none; 0 as long as it reads",
        lambda q: one(q.stalled),
    ),
    Metric[QueryMetrics](
        "query_lag_seconds",
        Kind.GAUGE,
        "for how long the record that the query reads next has been there, as far as the server has seen; 0 at the end",
        lambda q: one(q.behind),
    ),
)


def query_metrics() -> Iterator[Metric[QueryMetrics]]:
    """All of a query, those of its figures with their meanings; each has the label ``query`` ahead of its own."""
    yield from _OF_QUERY
    for figure in FIGURES:
        if (of := figure.metric) is not None:
            yield Metric(of.name, of.kind, of.help or figure.meaning, _of_figures(of), of.labels)


def _of_figures(metric: Metric[QueryFigures]) -> Callable[[QueryMetrics], Iterable[Sample]]:
    return lambda q: metric.samples(q.figures)


def _seconds(ms: int | None) -> Iterable[Sample]:
    return one(None if ms is None else ms / 1000)


COPIES = 100
"""Tables whose copies are told: so many series at most for each metric of copies."""


def _copies(told: EngineMetrics) -> list[tuple[str, CopyFigures]]:
    """Of each table; of more than may be told, those that are furthest behind."""
    return heapq.nsmallest(COPIES, told.copies.items(), key=lambda of: (-(of[1].lag or 0), of[0]))


ENGINE_METRICS = [
    Metric[EngineMetrics](
        "info",
        Kind.GAUGE,
        "1; the version of ksqlpy, and the id of the service",
        lambda e: [((e.version, e.service), 1)],
        ("version", "service"),
    ),
    Metric[EngineMetrics](
        "slots",
        Kind.GAUGE,
        "task slots of Spark that queries hold, and that are free",
        lambda e: [((kind,), n) for kind, n in e.slots.items()],
        ("state",),
    ),
    Metric[EngineMetrics]("push_queries", Kind.GAUGE, "push queries that are open", lambda e: one(e.push_queries)),
    Metric[EngineMetrics](
        "pull_queries",
        Kind.GAUGE,
        "pull queries that are being answered, without lookups",
        lambda e: one(e.pull_queries),
    ),
    Metric[EngineMetrics](
        "table_copies",
        Kind.GAUGE,
        "tables that the server has copied for pull queries; the copies of reader processes are not among them",
        lambda e: one(len(e.copies)),
    ),
    Metric[EngineMetrics](
        "table_copy_lag_records",
        Kind.GAUGE,
        "records of the table's topic that its copy has not taken over, those of open transactions among them; of the "
        f"{COPIES} tables that are furthest behind",
        lambda e: [((table,), c.lag) for table, c in _copies(e) if c.lag is not None],
        ("table",),
    ),
    Metric[EngineMetrics](
        "table_copy_bytes",
        Kind.GAUGE,
        "size of the copy, on disk and not yet written to it; of the same tables",
        lambda e: [((table,), c.size) for table, c in _copies(e)],
        ("table",),
    ),
    Metric[EngineMetrics](
        "data_free_bytes", Kind.GAUGE, "free space where the data folder is", lambda e: one(e.free_bytes)
    ),
    Metric[EngineMetrics](
        "jvm_restarts_total",
        Kind.COUNTER,
        "starts of Spark's JVM after a death",
        lambda e: one(e.jvm_restarts),
    ),
    Metric[EngineMetrics]("jvm_heap_used_bytes", Kind.GAUGE, "heap of Spark's JVM", lambda e: one(e.machine.heap_used)),
    Metric[EngineMetrics]("jvm_heap_max_bytes", Kind.GAUGE, "what it may become", lambda e: one(e.machine.heap_max)),
    Metric[EngineMetrics](
        "jvm_collections_total",
        Kind.COUNTER,
        "garbage collections of Spark's JVM",
        lambda e: one(e.machine.collections),
    ),
    Metric[EngineMetrics](
        "jvm_collection_seconds_total",
        Kind.COUNTER,
        "time that they took",
        lambda e: _seconds(e.machine.collection_ms),
    ),
    Metric[EngineMetrics](
        "jvm_cpu_seconds_total",
        Kind.COUNTER,
        "time that processors have worked for Spark's JVM",
        lambda e: _seconds(e.machine.cpu_ms),
    ),
    Metric[EngineMetrics]("jvm_threads", Kind.GAUGE, "threads of Spark's JVM", lambda e: one(e.machine.threads)),
]
"""Extension point: of the engine."""

SERVER_METRICS = [
    Metric[ServerMetrics]("ready", Kind.GAUGE, "1 while statements are taken, else 0", lambda s: one(float(s.ready))),
    Metric[ServerMetrics](
        "figures_age_seconds",
        Kind.GAUGE,
        "how old the figures of the queries are: the time since Spark's JVM was asked for those that are told",
        lambda s: one(s.age),
    ),
    Metric[ServerMetrics](
        "requests_total",
        Kind.COUNTER,
        "requests that were answered, by endpoint and code; lookups that a reader process answers are not among them",
        lambda s: [(labels, n) for labels, n in s.requests.items()],
        ("endpoint", "code"),
    ),
    Metric[ServerMetrics](
        "requests_open",
        Kind.GAUGE,
        "requests that are being answered, push and pull queries among them",
        lambda s: [((endpoint,), n) for endpoint, n in s.open.items()],
        ("endpoint",),
    ),
    Metric[ServerMetrics](
        "audit_lines_lost_total",
        Kind.COUNTER,
        "lines of the audit log that were not written, by where they were to go; those of reader processes are not "
        "among them",
        lambda s: [((place,), n) for place, n in s.audit_lost.items()],
        ("place",),
    ),
]
"""Extension point: of the server."""
