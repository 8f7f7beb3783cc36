"""How long the next record of a query has been there: its lag in seconds.

Kafka tells how many records a consumer is behind, and nobody asks the brokers for each record's time. So what was seen
at each look is kept: when there were how many records. The record that is read next came between two of these looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["LagTime"]

MOST = 240
"""Looks that are kept; of more, each second one goes, so that a long lag is told less exactly, not lost."""


@dataclass
class LagTime:
    """Of one query. ``seen``: times of looks, and how many records there were in all since the counts began."""

    seen: list[tuple[float, int]] = field(default_factory=list)
    read: int = 0

    def at(self, now: float, read: int, lag: int | None) -> float | None:
        """In seconds, when so many records are read and so many left; None where that is not known.

        What was there at the first look is taken to have come then.
        """
        if lag is None:
            return None
        total = read + lag
        if read < self.read:  # the counts began at 0 again
            self.seen = []
        self.read = read
        # Offsets without a record, as those of transactions, are in the lag and are never read.
        self.seen = [(at, min(there, total)) for at, there in self.seen]
        self.seen.append((now, total))
        passed = sum(there <= read for _, there in self.seen)
        self.seen = self.seen[max(0, passed - 1) :]
        if lag == 0:
            return 0.0
        if len(self.seen) > MOST:
            self.seen = [*self.seen[:-1:2], self.seen[-1]]
        (begin, before), *later = self.seen
        if before > read:
            return now - begin
        end, there = later[0]
        return now - (begin + (end - begin) * (read - before) / (there - before))
