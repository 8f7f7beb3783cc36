"""The truth of jobs whose every result stands for one record: nothing twice, nothing missing, in order per key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ksqlpy.testing.chaos.records import Sent
from ksqlpy.testing.chaos.verdict import Verdict

__all__ = ["Passed", "check_passed"]


@dataclass(frozen=True, slots=True)
class Passed:
    """A result: the number of its record, its key, and where it lies. ``version``: of the table row that it saw."""

    number: int
    key: str
    place: str
    version: int | None = None


def check_passed(
    verdict: Verdict,
    due: Mapping[int, Sent],
    results: Iterable[Passed],
    versions: Mapping[str, int] | None = None,
) -> None:
    """Compares results, in the order of their topic, with the records that must give one.

    ``due``: those records by number. ``versions``: the last version of each key's table row that was written; versions
    count from 1. Order holds for the records of one key within one source partition.
    """
    seen: set[int] = set()
    last: dict[tuple[str, int], int] = {}
    last_version: dict[str, int] = {}
    for result in results:
        record = due.get(result.number)
        if record is None or record.key != result.key:
            verdict.note_wrong(f"{result.place}: key {result.key}, record {result.number} is not due")
            continue
        if result.number in seen:
            verdict.note_twice(f"{result.place}: key {result.key}, record {result.number}")
        seen.add(result.number)
        lane = (record.key, record.partition)
        # A replay is one step back, however many records it repeats: each is compared with the one before it.
        if result.number < last.get(lane, 0):
            verdict.note_back(f"{result.place}: key {result.key}, record {result.number} after {last[lane]}")
        last[lane] = result.number
        if versions is not None:
            _check_version(verdict, result, versions, last_version)
    for number in sorted(due.keys() - seen):
        verdict.note_missing(f"key {due[number].key}, record {number} of partition {due[number].partition}")


def _check_version(verdict: Verdict, result: Passed, written: Mapping[str, int], last: dict[str, int]) -> None:
    version = result.version
    if version is None or not 1 <= version <= written.get(result.key, 0):
        verdict.note_wrong(f"{result.place}: key {result.key} with version {version}, which was never written")
        return
    if version < last.get(result.key, 0):
        verdict.note_back(f"{result.place}: key {result.key} with version {version} after {last[result.key]}")
    last[result.key] = version
