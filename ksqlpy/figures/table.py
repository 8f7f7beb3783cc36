"""The table of figures of queries: name, title, unit and meaning of each, and how its value follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from typing import Any

from ksqlpy.figures.counts import MERGES, Counts, Latency, Merge

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
    ``progress``: None where the query is not there.
    """

    counts: Counts
    mode: str | None = None
    progress: Progress | None = None
    dead_letters: int = 0


@dataclass(frozen=True)
class Figure:
    """A figure of a query.

    ``name``: in answers of the server; ``title``: for people, ``text``: how they read its value, None where they do
    not. ``of``: its value. ``counted``: the field of :class:`Counts` that it follows from, by whose rule it adds up
    over executors; None where it is known of the whole query.
    """

    name: str
    title: str
    unit: str
    meaning: str
    of: Callable[[QueryFigures], Any]
    text: Callable[[Any], object] = lambda value: value
    counted: str | None = None

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


FIGURES = [
    Figure("mode", "Mode", "", "what it does: real-time, micro-batch, recovery", lambda q: q.mode),
    Figure(
        "rowsIn",
        "Rows in",
        "records",
        "read from its topics since the server started",
        lambda q: sum(q.counts.consumed.values()),
        counted="consumed",
    ),
    Figure(
        "rowsOut",
        "Rows out",
        "records",
        "written to its sink since the server started, without dead letters and late records",
        lambda q: sum(q.counts.sent.values()),
        counted="sent",
    ),
    Figure("lag", "Lag", "records", "still to be read", lambda q: q.counts.lag, lag_text, "lags"),
    Figure(
        "waitsFor",
        "Waits for",
        "",
        "the partition without records for whose next record the others wait, and since when",
        lambda q: q.counts.waiting,
        _waits_text,
        "waiting",
    ),
    Figure(
        "latency",
        "Latency",
        "ms",
        "of the results of the last one to two minutes, from their event time until the brokers had them",
        lambda q: q.counts.latency,
        _latency_text,
        "took",
    ),
    Figure(
        "lateRows", "Late rows", "rows", "left out, as their window was closed", lambda q: q.counts.late, counted="late"
    ),
    Figure(
        "failedValues",
        "Failed expressions",
        "values",
        "that an error made null, and rows that a failed condition left out",
        lambda q: q.counts.failed,
        counted="failed",
    ),
    Figure(
        "deadLetters",
        "Dead letters",
        "records",
        "that it could not read, and results that it could not write",
        lambda q: q.dead_letters,
    ),
    Figure(
        "lastCommit",
        "Last commit",
        "ms since 1970",
        "the time of the last checkpoint",
        lambda q: q.progress and q.progress.last_commit,
        lambda ms: ms and time_text(ms),
    ),
    Figure(
        "stateBytes",
        "Size of state",
        "bytes",
        "of the files of its state",
        lambda q: q.progress and q.progress.state_bytes,
        lambda size: None if size is None else f"{size:,} bytes",
    ),
]
"""Extension point: the figures, in the order of the shell."""
