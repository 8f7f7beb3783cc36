"""The truth of streams that are joined in time: each pair once, each left record without a partner once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.records import Sent
from tests.chaos.verdict import Verdict

__all__ = ["Bounds", "Joined", "check_pairs"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a join: how far apart two records may be and its grace period, in ms; ``padded``: whether it is a LEFT one."""

    within: int
    grace: int
    padded: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """A result: the numbers of its two records; no right one where the left one has no partner."""

    key: str
    left: int
    right: int | None
    partition: int
    place: str


def check_pairs(
    verdict: Verdict, left: Sequence[Sent], right: Sequence[Sent], bounds: Bounds, results: Iterable[Joined]
) -> None:
    """Compares results, in the order of their topic, with the pairs that are due. No record may be late.

    A left record without a partner must come if a record of its key and partition number is so much later that it
    closes its window; if not, a record of another key may have done so.
    """
    lefts, rights = ({r.number: r for r in records} for records in (left, right))
    due, may = _due(left, right, bounds)
    verdict.due = len(due)
    seen: set[tuple[int, int | None]] = set()
    last: dict[tuple[str, int, int], tuple[int, int]] = {}
    for result in results:
        pair = (result.left, result.right)
        said = f"{result.place}: key {result.key}, record {result.left} with {result.right}"
        if pair not in due and pair not in may:
            verdict.note_wrong(f"{said} is not due")
            continue
        if lefts[result.left].key != result.key:
            verdict.note_wrong(f"{said} is of another key")
            continue
        if pair in seen:
            verdict.note_twice(said)
        seen.add(pair)
        if result.right is not None:
            # One of the two has just been read, and records of a key and a partition are read in their order.
            lane = (result.key, lefts[result.left].partition, rights[result.right].partition)
            before = last.get(lane, (0, 0))
            if result.left < before[0] and result.right < before[1]:
                verdict.note_back(f"{said} after records {before[0]} and {before[1]}")
            last[lane] = (max(result.left, before[0]), max(result.right, before[1]))
    for number, partner in sorted(due - seen, key=lambda pair: (pair[0], pair[1] or 0)):
        verdict.note_missing(f"key {lefts[number].key}, record {number} with {partner}")


Pairs = set[tuple[int, int | None]]


def _due(left: Sequence[Sent], right: Sequence[Sent], bounds: Bounds) -> tuple[Pairs, Pairs]:
    """The pairs that must come, with None for no partner, and those that may."""
    partners: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for r in right:
        partners[r.key].append((r.time, r.number))
    for found in partners.values():
        found.sort()
    latest = _latest(left, right)
    due: Pairs = set()
    may: Pairs = set()
    for r in left:
        near = partners.get(r.key, [])
        begin = bisect_left(near, (r.time - bounds.within, 0))
        end = bisect_right(near, (r.time + bounds.within, 1 << 62))
        due |= {(r.number, number) for _, number in near[begin:end]}
        if bounds.padded and begin == end:
            closed = latest[r.key, r.partition] > r.time + bounds.within + bounds.grace
            (due if closed else may).add((r.number, None))
    return due, may


def _latest(left: Sequence[Sent], right: Sequence[Sent]) -> Mapping[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = defaultdict(int)
    for r in (*left, *right):
        found[r.key, r.partition] = max(r.time, found[r.key, r.partition])
    return found
