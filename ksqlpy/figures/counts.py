"""What a JVM counts of a query, and how the counts of several JVMs add up."""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from itertools import accumulate
from typing import Any, Generic, TypeVar

__all__ = ["MERGES", "Counts", "Latency", "Merge", "Seen", "Wait"]

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Latency:
    """Of results, ms from their event time until the brokers had them, as Kafka Streams' ``record-e2e-latency``."""

    p50: int
    p99: int
    max: int


@dataclass(frozen=True, slots=True)
class Wait:
    """``partition`` (topic-partition) has had no record since that time, ms since 1970; others wait for its records."""

    partition: str
    since: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a consumer says of a partition; ``age``: seconds since it has asked for records."""

    value: int
    age: float = math.inf


@dataclass(frozen=True)
class Merge(Generic[T]):
    """How the values of two JVMs become one; ``text`` says it in the documentation."""

    text: str
    both: Callable[[T, T], T]


def _sums(a: Mapping[K, int], b: Mapping[K, int]) -> Mapping[K, int]:
    return {**a, **{name: a.get(name, 0) + n for name, n in b.items()}}


def _newest(a: Mapping[str, Seen], b: Mapping[str, Seen]) -> Mapping[str, Seen]:
    return {**a, **{place: min(a.get(place, seen), seen, key=lambda s: s.age) for place, seen in b.items()}}


def _longest(a: Wait | None, b: Wait | None) -> Wait | None:
    return min((w for w in (a, b) if w is not None), key=lambda w: w.since, default=None)


_SUM = {"merge": Merge[int]("sum", operator.add)}
_SUMS = {"merge": Merge[Mapping[Any, int]]("sum", _sums)}
_HISTOGRAM = {"merge": Merge[Mapping[Any, int]]("one histogram", _sums)}
_NEWEST = {"merge": Merge("of each partition, the consumer that has asked last", _newest)}
_LONGEST = {"merge": Merge("the longest", _longest)}
_EACH = {"merge": Merge[Mapping[str, "Counts"]]("by executor", lambda a, b: {**a, **b})}


@dataclass(frozen=True, slots=True)
class Counts:
    """What one JVM has counted of a query since it started, or several have.

    ``consumed``, ``sent``: records by topic; ``late``: rows of closed windows; ``failed``: values that an error made
    null. ``lags``, ``leads``: by topic-partition, how many records its consumer has still to read, and how many offsets
    behind the first one it is. ``took``: how many results of the last one to two minutes took how many ms.
    ``durations``: of all results, how many took so many ms at most and more than the bound before, by that bound or
    ``more``; and their ``sum``. ``executors``: those of a cluster that are there, by their ids; all else is also of
    executors that were lost.
    """

    consumed: Mapping[str, int] = field(default_factory=dict, metadata=_SUMS)
    sent: Mapping[str, int] = field(default_factory=dict, metadata=_SUMS)
    late: int = field(default=0, metadata=_SUM)
    failed: int = field(default=0, metadata=_SUM)
    lags: Mapping[str, Seen] = field(default_factory=dict, metadata=_NEWEST)
    leads: Mapping[str, Seen] = field(default_factory=dict, metadata=_NEWEST)
    took: Mapping[int, int] = field(default_factory=dict, metadata=_HISTOGRAM)
    durations: Mapping[str, int] = field(default_factory=dict, metadata=_SUMS)
    waiting: Wait | None = field(default=None, metadata=_LONGEST)
    executors: Mapping[str, Counts] = field(default_factory=dict, metadata=_EACH)

    def __add__(self, other: Counts) -> Counts:
        """Both together, each field by its rule."""
        return Counts(*(merge.both(getattr(self, name), getattr(other, name)) for name, merge in MERGES.items()))

    @property
    def lag(self) -> int | None:
        """In records, None before a consumer knows any."""
        return sum(seen.value for seen in self.lags.values()) if self.lags else None

    @property
    def latency(self) -> Latency | None:
        """None without results of the last minute."""
        if not self.took:
            return None
        values = sorted(self.took)
        up_to = list(accumulate(self.took[ms] for ms in values))

        def at(percent: float) -> int:
            # As HdrHistogram does: the slightly smaller percentage, so that rounding takes no result too many.
            rank = max(1, math.ceil(math.nextafter(percent, 0) * up_to[-1] / 100))
            return values[bisect_left(up_to, rank)]

        return Latency(at(50), at(99), values[-1])


MERGES: Mapping[str, Merge[Any]] = {f.name: f.metadata["merge"] for f in fields(Counts)}
"""The rules by which :class:`Counts` add up, by field."""
