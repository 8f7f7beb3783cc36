"""One more figure of queries, as someone would add it: to how many topics a query has written."""

from __future__ import annotations

from ksqlpy.figuretexts import Figure

TOPICS = Figure("topicsWritten", "Topics written", lambda n: n and f"{n:,}", lambda counts: len(counts["sent"]))
