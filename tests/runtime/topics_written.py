"""One more figure of queries, as someone would add it: to how many topics a query has written."""

from __future__ import annotations

from ksqlpy.figures import Figure, Kind, Metric
from ksqlpy.figures.metrics import one

TOPICS = Figure(
    "topicsWritten",
    "Topics written",
    "topics",
    "topics to which it has written results",
    lambda q: len(q.counts.sent),
    lambda n: n and f"{n:,}",
    counted="sent",
    metric=Metric("query_topics_written", Kind.GAUGE, "", lambda q: one(len(q.counts.sent))),
)
