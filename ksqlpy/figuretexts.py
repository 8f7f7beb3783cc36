"""Figures of queries: what each is called, where it comes from, and how people read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["FIGURES", "Figure", "lag_text", "latency_text", "time_text"]

NONE = "-"
"""Stands for a figure that there is not."""

OLD = 24 * 60 * 60 * 1000
"""Ms: a result that seems to take longer is about an old event, and says nothing of how quick the query is."""


def lag_text(lag: int | None) -> str:
    """How many records a query has still to read; a dash before any consumer knows."""
    return NONE if lag is None else f"{lag:,}"


def latency_text(took: Mapping[str, int]) -> str:
    """``p50``, ``p99`` and ``max`` in ms, each a dash where only the event times are old."""
    if all(ms >= OLD for ms in took.values()):
        return f"{NONE} (event times are over a day old)"
    p50, p99, most = (NONE if took[n] >= OLD else f"{took[n]:,} ms" for n in ("p50", "p99", "max"))
    return f"p50 {p50}, p99 {p99}, at most {most}"


def time_text(ms: int) -> str:
    """A time in ms since 1970, to the second."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True)
class Figure:
    """A figure of a query.

    ``name``: in answers of the server; ``title``: for people; ``text``: how they read its value, None where they do
    not. ``of``: its value from the counts of the JVMs (:func:`ksqlpy.spark.figures.figures`), where ``sent`` is without
    dead letters and late records; None where it comes from elsewhere.
    """

    name: str
    title: str
    text: Callable[[Any], object] = lambda value: value
    of: Callable[[Mapping[str, Any]], Any] | None = None


def _waits_text(waits: Mapping[str, Any]) -> str:
    return f"partition {waits['partition']}, since {time_text(waits['since'])}"


FIGURES = [
    Figure("mode", "Mode"),
    Figure("rowsIn", "Rows in", of=lambda counts: sum(counts["consumed"].values())),
    Figure("rowsOut", "Rows out", of=lambda counts: sum(counts["sent"].values())),
    Figure("lag", "Lag", lag_text, lambda counts: counts["lag"]),
    Figure("waitsFor", "Waits for", lambda w: w and _waits_text(w), lambda counts: counts.get("waiting")),
    Figure("latency", "Latency", lambda took: took and latency_text(took), lambda counts: counts["latency"]),
    Figure("lateRows", "Late rows", of=lambda counts: counts["late"]),
    Figure("failedValues", "Failed expressions", of=lambda counts: counts["failed"]),
    Figure("deadLetters", "Dead letters"),
    Figure("lastCommit", "Last commit", lambda ms: ms and time_text(ms)),
    Figure("stateBytes", "Size of state", lambda size: None if size is None else f"{size:,} bytes"),
]
"""Extension point: the figures, in the order of the shell."""
