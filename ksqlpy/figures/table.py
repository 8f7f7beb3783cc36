"""The table of figures of queries: name, title, unit and meaning of each, and how its value follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import UTC, datetime
from typing import Any

from ksqlpy.figures.counts import MERGES, Counts, Latency, Merge
from ksqlpy.figures.metrics import SUM, Kind, Metric, Sample, one

__all__ = [
    "FIGURES",
    "Figure",
    "Progress",
    "QueryFigures",
    "figures_json",
    "lag_text",
    "latency_text",
    "plain",
    "time_text",
]

NONE = "-"
"""Stands for a figure that there is not."""

OLD = 24 * 60 * 60 * 1000
"""Ms: a result that seems to take longer is about an old event, and says nothing of how quick the query is."""


def lag_text(lag: int | None) -> str:
    """How many records a query has still to read; a dash before any consumer knows."""
    return NONE if lag is None else f"{lag:,}"


def latency_text(took: Latency) -> str:
    """The percentiles in ms, each a dash where only the event times are old."""
    if min(took.p50, took.p99, took.max) >= OLD:
        return f"{NONE} (event times are over a day old)"
    p50, p99, most = (NONE if ms >= OLD else f"{ms:,} ms" for ms in (took.p50, took.p99, took.max))
    return f"p50 {p50}, p99 {p99}, at most {most}"


def time_text(ms: int) -> str:
    """A time in ms since 1970, to the second."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class Progress:
    """``last_commit``: of the last checkpoint, ms since 1970; ``state_bytes``: of files on disk. None if not known."""

    last_commit: int | None = None
    state_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """The values of a query from which its figures follow.

    ``counts``: of all JVMs; its ``sent`` is without dead letters and late records. ``mode``: None unless it runs.
    ``progress``: None where the query is not there. ``letters``: its dead letters, by kind.
    """

    counts: Counts
    mode: str | None = None
    progress: Progress | None = None
    letters: Mapping[str, int] = field(default_factory=dict)

    @property
    def so_far(self) -> Progress:
        """The progress, of which nothing is known where the query is not there."""
        return self.progress or Progress()


@dataclass(frozen=True)
class Figure:
    """A figure of a query.

    ``name``: in answers of the server; ``title``: for people, ``text``: how they read its value, None where they do
    not. ``of``: its value. ``counted``: the field of :class:`Counts` that it follows from, by whose rule it adds up
    over executors; None where it is known of the whole query. ``metric``: how GET /metrics tells it, with the meaning
    of the figure unless it has another one.
    """

    name: str
    title: str
    unit: str
    meaning: str
    of: Callable[[QueryFigures], Any]
    text: Callable[[Any], object] = lambda value: value
    counted: str | None = None
    metric: Metric[QueryFigures] | None = None

    @property
    def merge(self) -> Merge[Any] | None:
        """How it adds up over executors."""
        return None if self.counted is None else MERGES[self.counted]


def figures_json(figures: QueryFigures) -> dict[str, object]:
    """The figures as answers have them, by name."""
    return {f.name: plain(f.of(figures)) for f in FIGURES}


def plain(value: object) -> object:
    """A value of a figure as JSON has it."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _latency_text(took: Mapping[str, int] | None) -> str | None:
    return latency_text(Latency(took["p50"], took["p99"], took["max"])) if took else None


def _waits_text(waits: Mapping[str, Any] | None) -> str | None:
    return f"partition {waits['partition']}, since {time_text(waits['since'])}" if waits else None


def _counter(name: str, samples: Callable[[QueryFigures], Iterable[Sample]], *labels: str) -> Metric[QueryFigures]:
    return Metric(f"query_{name}_total", Kind.COUNTER, "", samples, labels)


def _gauge(name: str, samples: Callable[[QueryFigures], Iterable[Sample]], *labels: str) -> Metric[QueryFigures]:
    return Metric(f"query_{name}", Kind.GAUGE, "", samples, labels)


_LATENCY = "from the event time until the brokers had the result, of all results"


def _durations(q: QueryFigures) -> Iterable[Sample]:
    found = q.counts.durations
    if not found:
        return
    so_far = 0
    for bound in sorted(int(name) for name in found if name.isdigit()):
        so_far += found[str(bound)]
        yield (str(bound / 1000),), so_far
    yield ("+Inf",), so_far + found.get("more", 0)
    yield (SUM,), found[SUM] / 1000


def _waits(q: QueryFigures) -> Iterable[Sample]:
    wait = q.counts.waiting
    return () if wait is None else (((wait.partition,), wait.since / 1000),)


def _committed(q: QueryFigures) -> Iterable[Sample]:
    ms = q.so_far.last_commit
    return one(None if ms is None else ms / 1000)


FIGURES = [
    Figure("mode", "Mode", "", "what it does: real-time, micro-batch, recovery", lambda q: q.mode),
    Figure(
        "rowsIn",
        "Rows in",
        "records",
        "records that were read from its topics",
        lambda q: sum(q.counts.consumed.values()),
        counted="consumed",
        metric=_counter("rows_in", lambda q: one(sum(q.counts.consumed.values()))),
    ),
    Figure(
        "rowsOut",
        "Rows out",
        "records",
        "records that were written to its sink, without dead letters and late records",
        lambda q: sum(q.counts.sent.values()),
        counted="sent",
        metric=_counter("rows_out", lambda q: one(sum(q.counts.sent.values()))),
    ),
    Figure(
        "lag",
        "Lag",
        "records",
        "records that are still to be read",
        lambda q: q.counts.lag,
        lag_text,
        counted="lags",
        metric=_gauge("lag_records", lambda q: one(q.counts.lag)),
    ),
    Figure(
        "waitsFor",
        "Waits for",
        "ms since 1970",
        "the partition for whose next record the others wait, and since when they do",
        lambda q: q.counts.waiting,
        _waits_text,
        counted="waiting",
        metric=_gauge("waits_since_timestamp_seconds", _waits, "partition"),
    ),
    Figure(
        "latency",
        "Latency",
        "ms",
        "from the event time until the brokers had the result, of results of the last one to two minutes",
        lambda q: q.counts.latency,
        _latency_text,
        counted="took",
        metric=Metric("query_latency_seconds", Kind.HISTOGRAM, _LATENCY, _durations, ("le",)),
    ),
    Figure(
        "lateRows",
        "Late rows",
        "rows",
        "rows that were left out, as their window was closed",
        lambda q: q.counts.late,
        counted="late",
        metric=_counter("late_rows", lambda q: one(q.counts.late)),
    ),
    Figure(
        "failedValues",
        "Failed expressions",
        "values",
        "values that an error made null, and rows that a failed condition left out",
        lambda q: q.counts.failed,
        counted="failed",
        metric=_counter("failed_values", lambda q: one(q.counts.failed)),
    ),
    Figure(
        "deadLetters",
        "Dead letters",
        "records",
        "records that could not be read, and results that could not be written",
        lambda q: sum(q.letters.values()),
        metric=_counter("dead_letters", lambda q: [((kind,), n) for kind, n in q.letters.items()], "reason"),
    ),
    Figure(
        "lastCommit",
        "Last commit",
        "ms since 1970",
        "when the last checkpoint was made",
        lambda q: q.so_far.last_commit,
        lambda ms: ms and time_text(ms),
        metric=_gauge("last_commit_timestamp_seconds", _committed),
    ),
    Figure(
        "stateBytes",
        "Size of state",
        "bytes",
        "size of the files of its state",
        lambda q: q.so_far.state_bytes,
        lambda size: None if size is None else f"{size:,} bytes",
        metric=_gauge("state_bytes", lambda q: one(q.so_far.state_bytes)),
    ),
]
"""Extension point: the figures, in the order of the shell."""
