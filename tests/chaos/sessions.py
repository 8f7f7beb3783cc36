"""The truth of sessions: each record makes one version of one session, out of the sessions that it reaches.

A version says which records are in it, and which of them came last. Versions of a key may lie in several partitions of
the sink, since the bounds are part of the key; what they are made of, not their place, tells which was there before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.chaos.records import Sent
from tests.chaos.verdict import Verdict

__all__ = ["Version", "check_sessions"]

Bounds = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Version:
    """A result: a session from its first to its last time, in ms.

    ``numbers``: of its records, None for a tombstone. ``newest``: the one that came last.
    """

    key: str
    start: int
    end: int
    numbers: frozenset[int] | None
    newest: int
    partition: int
    place: str

    @property
    def bounds(self) -> Bounds:
        """What the records of one session have as their key in the sink."""
        return self.key, self.start, self.end

    def __str__(self) -> str:
        if self.numbers is None:
            return f"{self.place}: key {self.key}, tombstone of {self.start} to {self.end}"
        return f"{self.place}: key {self.key}, {self.start} to {self.end}, {sorted(self.numbers)}, last {self.newest}"


def check_sessions(verdict: Verdict, sent: Sequence[Sent], gap: int, results: Iterable[Version]) -> None:
    """Compares versions, in the order of their topic, with the records; none of these may be late."""
    records = {r.number: r for r in sent}
    verdict.due = _due(sent, gap)
    by_newest: dict[int, Version] = {}
    last: dict[Bounds, Version] = {}
    widest: dict[tuple[int, int], Version] = {}
    gone: Counter[Bounds] = Counter()
    for version in results:
        before = last.get(version.bounds)
        last[version.bounds] = version
        if version.numbers is None:
            gone[version.bounds] += 1
            if before is None:
                verdict.note_wrong(f"{version}, which was not there")
            continue
        if not _is_session(version, records, gap):
            verdict.note_wrong(str(version))
            continue
        if version.newest in by_newest:
            verdict.note_twice(f"{version}, which came before as {by_newest[version.newest]}")
        else:
            by_newest[version.newest] = version
        beyond = [w for n in version.numbers if (w := widest.get((version.partition, n))) is not None]
        if any(w.numbers is not None and w.numbers > version.numbers for w in beyond):
            verdict.note_back(f"{version} after {beyond[0]}")
        widest |= {(version.partition, n): version for n in version.numbers}
    left = sorted(records.keys() - by_newest.keys())
    for number in left:
        verdict.note_missing(f"key {records[number].key}, record {number} is in no session")
    replaced, current = _followed(verdict, by_newest, set(left))
    missing = _check_gone(verdict, replaced, gone, current if left else ())
    if not left:
        _check_current(verdict, current, last)
    elif (more := verdict.due - len(by_newest) - sum(gone.values()) - missing - len(left)) > 0:
        verdict.note_missing(f"{more} tombstones of records that are in no session", more)


def _is_session(version: Version, records: Mapping[int, Sent], gap: int) -> bool:
    """Whether its records are of its key, have its bounds, and are nowhere further apart than the gap."""
    found = [records.get(n) for n in version.numbers or ()]
    times = sorted(r.time for r in found if r is not None and r.key == version.key)
    return (
        len(times) == len(found)
        and version.numbers is not None
        and version.newest in version.numbers
        and (times[0], times[-1]) == (version.start, version.end)
        and all(b - a <= gap for a, b in pairwise(times))
    )


def _followed(
    verdict: Verdict, by_newest: Mapping[int, Version], left: set[int]
) -> tuple[list[tuple[Version, Version]], list[Version]]:
    """Each version with the one that took its place, and those that are current in the end.

    A version is made of its newest record and of whole versions before it, of which each is used once.
    """
    top: dict[int, Version] = {}
    replaced: list[tuple[Version, Version]] = []
    for version in sorted(by_newest.values(), key=lambda v: (len(v.numbers or ()), v.newest)):
        numbers = version.numbers or frozenset()
        others = numbers - {version.newest}
        merged = {top[n].newest: top[n] for n in others if n in top}
        unknown = others - top.keys() - left
        whole = frozenset[int]().union(*(v.numbers or frozenset() for v in merged.values()))
        if unknown or not whole <= others or version.newest in top:
            verdict.note_wrong(f"{version} is not one record more than what was there")
        replaced += [(v, version) for v in merged.values()]
        top |= dict.fromkeys(numbers, version)
    return replaced, list({v.newest: v for v in top.values()}.values())


def _check_gone(
    verdict: Verdict, replaced: Sequence[tuple[Version, Version]], gone: Counter[Bounds], cut: Sequence[Version]
) -> int:
    """Each version that is replaced has a tombstone; not so if both have the time of one record as their bounds.

    ``cut``: those that may have one more, as what follows them is missing. Gives how many tombstones are missing.
    """
    due = Counter(old.bounds for old, new in replaced if not (old.bounds == new.bounds and old.start == old.end))
    more = Counter(v.bounds for v in cut)
    missing = 0
    for bounds in sorted(due.keys() | gone.keys()):
        said = f"{gone[bounds]} tombstones of key {bounds[0]}, {bounds[1]} to {bounds[2]}; due are {due[bounds]}"
        for _ in range(due[bounds] - gone[bounds]):
            verdict.note_missing(said)
            missing += 1
        for _ in range(gone[bounds] - due[bounds] - more[bounds]):
            verdict.note_twice(said)
    return missing


def _check_current(verdict: Verdict, current: Sequence[Version], last: Mapping[Bounds, Version]) -> None:
    """The last record of each session in the sink is its current version, and a tombstone where there is none."""
    wanted = {v.bounds: v.numbers for v in current}
    for bounds, version in last.items():
        if version.numbers != wanted.get(bounds):
            verdict.note_back(f"{version} is the last of these bounds, not {wanted.get(bounds) or 'a tombstone'}")


def _due(sent: Sequence[Sent], gap: int) -> int:
    """How many results there are when the records come in the order of their times: versions and tombstones."""
    times: dict[str, list[int]] = defaultdict(list)
    for r in sent:
        times[r.key].append(r.time)
    due = len(sent)
    for found in times.values():
        found.sort()
        begin = found[0]
        for before, at in pairwise(found):
            if at - before > gap:
                begin = at
            elif at != begin:
                due += 1
    return due
