"""The truth of jobs that count: each result of a group is the one before it and one record more.

The sums are over the records' numbers, which are unique, so the difference of two sums names the record that was
counted. No order of the records of several partitions is presumed; within a partition, records of a key keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["Step", "check_moving", "check_steps", "step_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """A result of a group: how many records it counts, the sum of their numbers, the largest of their amounts."""

    group: str
    count: int
    total: int
    place: str
    most: int | None = None


def step_of(result: Result) -> Step:
    """The step of a result whose key is the group and whose columns are N and TOTAL; raises as its columns do."""
    columns = result.columns()
    return Step(result.key_text(), int(columns["N"]), int(columns["TOTAL"]), result.place)


def check_steps(
    verdict: Verdict,
    due: Mapping[str, Sequence[Sent]],
    steps: Iterable[Step],
    *,
    first: int = 1,
    amount: Callable[[int], int] | None = None,
) -> None:
    """Compares steps, in the order of their topic, with the records of each group.

    ``first``: the count from which on a group has results. ``amount``: of a record by its number, where the steps say
    the largest.
    """
    groups = {
        name: _Group(name, first, {r.number: r for r in records}, {}, amount, verdict) for name, records in due.items()
    }
    for step in steps:
        group = groups.get(step.group)
        if group is None:
            verdict.note_wrong(f"{step.place}: there is no group {step.group}")
        else:
            group.take(step)
    for group in groups.values():
        group.finish()


def check_moving(verdict: Verdict, sent: Sequence[Sent], steps: Iterable[Step]) -> None:
    """Compares steps with records of which nobody can say to which group they go: each must be in one of them."""
    records = {r.number: r for r in sent}
    counted: dict[int, str] = {}
    groups: dict[str, _Group] = {}
    for step in steps:
        if step.group not in groups:
            groups[step.group] = _Group(step.group, 1, records, counted, None, verdict)
        groups[step.group].take(step)
    left = sorted(records.keys() - counted.keys())
    missing = len(left) - sum(g.unnamed() for g in groups.values())
    if missing == len(left):
        for number in left:
            verdict.note_missing(f"record {number} of key {records[number].key} is in no group")
    elif missing > 0:
        verdict.note_missing(f"{missing} records are in no group", missing)
    count, total = sum(g.last for g in groups.values()), sum(g.total for g in groups.values())
    if missing <= 0 and (count, total) != (len(records), sum(records)):
        verdict.note_wrong(
            f"all groups together: {count} records with sum {total} instead of {len(records)} with {sum(records)}"
        )


@dataclass
class _Group:
    """A group while its results are read.

    ``counted``: the group of every record that is counted, shared by all groups where records may go to any of them.
    """

    name: str
    first: int
    records: Mapping[int, Sent]
    counted: dict[int, str]
    amount: Callable[[int], int] | None
    verdict: Verdict
    last: int = 0
    total: int = 0
    seen: set[int] = field(default_factory=set)
    rows: list[tuple[int | None, int | None, int | None]] = field(default_factory=list)
    """For every count: the record that made it, the sum, the largest amount; None where no result says it."""
    lanes: dict[tuple[str, int], int] = field(default_factory=dict)
    """The last record that was counted, by key and partition."""

    def take(self, step: Step) -> None:
        """Compares a step with the one before it."""
        count = step.count
        said = f"{step.place}: group {self.name}, count {count}"
        if count < self.first:
            self.verdict.note_wrong(f"{said} is below {self.first}")
            return
        if count in self.seen:
            self.verdict.note_twice(said)
        if count <= self.last:
            self.verdict.note_back(f"{said} after {self.last}")
            self._go_back(count - 1)
        self.seen.add(count)
        # What no result has told: the records below the first count, or those that a jump left out.
        self.rows += [(None, None, None)] * (count - 1 - len(self.rows))
        self.rows.append((self._counted(step, said), step.total, step.most))
        self.last, self.total = count, step.total

    def _go_back(self, count: int) -> None:
        """Forgets what was counted after ``count``, as state does that is read from a checkpoint."""
        for number, _, _ in self.rows[count:]:
            if number is not None:
                del self.counted[number]
        del self.rows[count:]
        self.lanes.clear()
        for number, _, _ in self.rows:
            if number is not None:
                record = self.records[number]
                self.lanes[record.key, record.partition] = number

    def _counted(self, step: Step, said: str) -> int | None:
        """The number of the record that this step counts, None if that cannot be said."""
        before, most_before = self.rows[-1][1:] if self.rows else (0, None)
        if before is None:
            return None
        number = step.total - before
        record = self.records.get(number)
        if record is None:
            self.verdict.note_wrong(f"{said}: the sum goes from {before} to {step.total}; {number} is no record of it")
            return None
        if number in self.counted:
            self.verdict.note_twice(f"{said} counts record {number}, which is in group {self.counted[number]} already")
            return None
        self.counted[number] = self.name
        lane = (record.key, record.partition)
        if number < self.lanes.get(lane, 0):
            self.verdict.note_back(f"{said} counts record {number} of key {record.key} after {self.lanes[lane]}")
        self.lanes[lane] = number
        if self.amount is not None and (len(self.rows) == 0 or most_before is not None):
            most = max(self.amount(number), most_before if most_before is not None else self.amount(number))
            if step.most != most:
                self.verdict.note_wrong(f"{said}: the largest is {step.most} instead of {most}")
        return number

    def unnamed(self) -> int:
        """How many records the group has counted without that a sum says which."""
        return sum(
            number is None and (count in self.seen or count < self.first)
            for count, (number, _, _) in enumerate(self.rows, 1)
        )

    def finish(self) -> None:
        """Compares the last step with all records of the group."""
        wanted = len(self.records)
        due = max(0, wanted - self.first + 1)
        if self.last == 0:
            if due:
                self.verdict.note_missing(f"group {self.name} has no result, due are {due}", due)
            return
        left = sorted(self.records.keys() - self.counted.keys())
        unnamed = self.unnamed()
        missing = len(left) - unnamed
        if missing > 0:
            if unnamed == 0:
                for number in left:
                    self.verdict.note_missing(f"group {self.name}: record {number} is not counted up to {self.last}")
            else:
                self.verdict.note_missing(
                    f"group {self.name}: {missing} records are not counted up to {self.last}", missing
                )
            return
        begin = self.rows[self.first - 1][1]
        most = max(map(self.amount, self.records)) if self.amount is not None else None
        if (self.last, self.total) != (wanted, sum(self.records)):
            self.verdict.note_wrong(
                f"group {self.name} ends with count {self.last}, sum {self.total} instead of {wanted},"
                f" {sum(self.records)}"
            )
        elif unnamed == self.first > 1 and begin != sum(left):
            # The first result counts several records that none before it has named: those that nobody else counts.
            self.verdict.note_wrong(f"group {self.name}, count {self.first}: sum {begin} instead of {sum(left)}")
        elif self.rows[-1][2] != most:
            self.verdict.note_wrong(f"group {self.name} ends with largest {self.rows[-1][2]} instead of {most}")
