"""Figures of queries as texts for people: of the server in DESCRIBE … EXTENDED, and of the shell."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["lag_text", "latency_text"]

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
