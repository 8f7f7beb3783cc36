"""One more figure of queries, as someone would add it: to how many topics a query has written."""

from __future__ import annotations

from ksqlpy.figures import Figure

TOPICS = Figure(
    "topicsWritten",
    "Topics written",
    "topics",
    "to which it has written results",
    lambda q: len(q.counts.sent),
    lambda n: n and f"{n:,}",
    counted="sent",
)
