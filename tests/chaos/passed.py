"""The truth of jobs whose every result stands for one record: nothing twice, nothing missing, in order per key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.records import Sent
from tests.chaos.verdict import Verdict

__all__ = ["Passed", "check_passed"]


@dataclass(frozen=True, slots=True)
class Passed:
    """A result: the number of its record, its key, and where it lies. ``versions``: of the table rows that it saw."""

    number: int
    key: str
    place: str
    versions: tuple[int, ...] = ()


def check_passed(
    verdict: Verdict,
    due: Mapping[int, Sent],
    results: Iterable[Passed],
    written: Sequence[Mapping[str, int]] = (),
) -> None:
    """Compares results, in the order of their topic, with the records that must give one.

    ``due``: those records by number. ``written``: for each table the last version of each key's row that was
    written; versions count from 1. Order holds for the records of one key within one source partition.
    """
    seen: set[int] = set()
    last: dict[tuple[str, int], int] = {}
    last_versions: list[dict[str, int]] = [{} for _ in written]
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
        for version, of, before in zip(result.versions, written, last_versions, strict=True):
            _check_version(verdict, result, version, of, before)
    for number in sorted(due.keys() - seen):
        verdict.note_missing(f"key {due[number].key}, record {number} of partition {due[number].partition}")


def _check_version(
    verdict: Verdict, result: Passed, version: int, written: Mapping[str, int], last: dict[str, int]
) -> None:
    if not 1 <= version <= written.get(result.key, 0):
        verdict.note_wrong(f"{result.place}: key {result.key} with version {version}, which was never written")
        return
    if version < last.get(result.key, 0):
        verdict.note_back(f"{result.place}: key {result.key} with version {version} after {last[result.key]}")
    last[result.key] = version
