"""The truth checks of the kill tests: each finds what is wrong in sinks that are made by hand."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

import pytest

from ksqlpy.testing.chaos.jobs import JOBS, Job
from ksqlpy.testing.chaos.jobs.explode import goods
from ksqlpy.testing.chaos.jobs.job import amount
from ksqlpy.testing.chaos.jobs.moves import changes
from ksqlpy.testing.chaos.load import record
from ksqlpy.testing.chaos.records import Result, Sent
from ksqlpy.testing.chaos.steps import Step, check_moving, check_steps
from ksqlpy.testing.chaos.verdict import SHOWN, Verdict

SentBy = dict[str, list[Sent]]
Row = tuple[bytes, dict[str, object] | None]

SEVERAL = ("explode", "moves", "moves-having")
"""Jobs with several results of one record."""


def fed(job: Job, count: int = 200, partitions: int = 1, scatter: bool = False) -> SentBy:
    """What the producer would send: each topic ``count`` records."""
    found: SentBy = {}
    for feed in job.feeds:
        random = Random(feed.topic)
        found[feed.topic] = []
        for number in range(1, count + 1):
            made, _ = record(feed, random, number, partitions, scatter=scatter)
            found[feed.topic].append(Sent(made.number, made.key, made.partition, number * 100))
    return found


def results(rows: Sequence[Row]) -> list[Result]:
    return [
        Result(0, offset, key, None if value is None else json.dumps(value).encode())
        for offset, (key, value) in enumerate(rows)
    ]


# ---------------------------------------------------------------- the engine in small


def rows_of(job: Job, sent: SentBy, order: Sequence[Sent] | None = None) -> list[Row]:
    """What an engine without faults writes when it takes the stream's records in that order."""
    stream = order if order is not None else sent[job.feeds[0].topic]
    if job.name == "filter":
        return [
            (r.key.encode(), {"NUMBER": r.number, "DOUBLED": 2 * amount(r.number)})
            for r in stream
            if amount(r.number) >= 34
        ]
    if job.name == "join":
        # Table rows and stream record with the same number are written together.
        seen = [(r, max(1, (r.number - 1) // 30)) for r in stream]
        return [(r.key.encode(), {"NUMBER": r.number, "QUOTED": version, "LIMITED": version}) for r, version in seen]
    if job.name == "tables":
        other = sent[job.feeds[1].topic]
        if order is not None:
            other = sorted(other, key=lambda r: (r.partition, r.number))
        return list(_paired(stream, other))
    if job.name == "explode":
        return [(r.key.encode(), {"GOOD": good}) for r in stream for good in goods(r.number)]
    if job.name.startswith("moves"):
        return list(_moved(stream, 30 if job.name == "moves-having" else 6))
    return _counted(stream, _GROUPS[job.name], first=3 if job.name == "having" else 1)


def _paired(left: Sequence[Sent], right: Sequence[Sent]) -> Iterator[Row]:
    rows: dict[str, list[int | None]] = {}
    for both in itertools.zip_longest(left, right):
        for side, r in enumerate(both):
            if r is not None:
                rows.setdefault(r.key, [None, None])[side] = r.number
                yield r.key.encode(), {"LEFT_NUMBER": rows[r.key][0], "RIGHT_NUMBER": rows[r.key][1]}


def _moved(stream: Sequence[Sent], cities: int) -> Iterator[Row]:
    there: dict[str, list[int]] = {}
    for city, (old, new) in changes(stream, cities):
        numbers = there[city] = [n for n in there.get(city, []) if n != old] + ([new] if new is not None else [])
        having = cities == 30 and not numbers
        yield city.encode(), None if having else {"N": len(numbers), "TOTAL": sum(numbers), "NUMBERS": numbers}


def _zone(r: Sent) -> bytes:
    return b"zone%d" % (int(r.key.removeprefix("vehicle")) % 7)


def _moving_zone(r: Sent) -> bytes:
    return b"zone%d" % ((int(r.key.removeprefix("vehicle")) + r.number // 30) % 7)


_GROUPS: Mapping[str, Callable[[Sent], bytes]] = {
    "group": lambda r: r.key.encode(),
    "having": lambda r: r.key.encode(),
    "regroup": _zone,
    "regroup-moving": _moving_zone,
    "window": lambda r: r.key.encode() + struct.pack(">q", r.time // 10_000 * 10_000),
}
COUNTING = tuple(_GROUPS)


def _counted(stream: Sequence[Sent], group: Callable[[Sent], bytes], first: int) -> list[Row]:
    state: dict[bytes, tuple[int, int, int]] = {}
    rows: list[Row] = []
    for r in stream:
        n, total, most = state.get(group(r), (0, 0, 0))
        state[group(r)] = n, total, most = n + 1, total + r.number, max(most, amount(r.number))
        if n >= first:
            rows.append((group(r), {"N": n, "TOTAL": total, "MOST": most}))
    return rows


def figures(verdict: Verdict) -> tuple[int, int, int, int]:
    return verdict.twice, verdict.missing, verdict.back, verdict.wrong


def busiest(rows: Sequence[Row]) -> list[int]:
    """The places of the rows of the group that has most of them."""
    keys = [key for key, _ in rows]
    most = max(keys, key=keys.count)
    return [i for i, key in enumerate(keys) if key == most]


# ---------------------------------------------------------------- all is well


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize(("partitions", "scatter"), [(1, False), (4, False), (4, True)])
def test_a_right_sink_is_ok(name: str, partitions: int, scatter: bool) -> None:
    job = JOBS[name]
    sent = fed(job, partitions=partitions, scatter=scatter)
    rows = rows_of(job, sent)
    verdict = job.check(sent, results(rows))
    assert verdict.ok, verdict.differences
    assert (verdict.sent, verdict.due, verdict.out) == (200, len(rows), len(rows))
    assert job.due(sent) == len(rows) > 50


@pytest.mark.parametrize("name", [n for n in JOBS if n != "window"])
def test_partitions_may_come_in_any_order(name: str) -> None:
    job = JOBS[name]
    sent = fed(job, partitions=4, scatter=True)
    order = sorted(sent[job.feeds[0].topic], key=lambda r: (r.partition, r.number))
    rows = rows_of(job, sent, order)
    if name == "join":  # here the versions must not depend on the order
        rows = [(key, {**(value or {}), "QUOTED": 1, "LIMITED": 1}) for key, value in rows]
    verdict = job.check(sent, results(rows))
    assert verdict.ok, verdict.differences


# ---------------------------------------------------------------- what goes wrong in any job


@pytest.mark.parametrize("name", JOBS)
def test_nothing_came(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    verdict = job.check(sent, [])
    assert figures(verdict) == (0, verdict.due, 0, 0)
    assert len(verdict.differences) == SHOWN
    assert not verdict.ok


@pytest.mark.parametrize("name", JOBS)
def test_a_row_that_came_twice(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    place = busiest(rows)[-1]
    verdict = job.check(sent, results([*rows[: place + 1], rows[place], *rows[place + 1 :]]))
    assert (verdict.twice, verdict.missing, verdict.wrong) == (1, 0, 0), verdict.differences


@pytest.mark.parametrize("name", JOBS)
def test_a_replay_from_a_checkpoint(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    verdict = job.check(sent, results([*rows[:60], *rows[40:]]))
    assert (verdict.twice, verdict.missing, verdict.wrong) == (20, 0, 0), verdict.differences
    assert verdict.back > 0 or name == "moves-having"  # its lists are so short that they are often the same


@pytest.mark.parametrize("name", JOBS)
def test_rows_that_are_lost_at_the_end(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    verdict = job.check(sent, results(rows[:-7]))
    assert figures(verdict) == (0, 7, 0, 0), verdict.differences


@pytest.mark.parametrize("name", [n for n in JOBS if n not in SEVERAL])
def test_a_record_that_was_lost(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    stream = sent[job.feeds[0].topic]
    lost = busiest([(r.key.encode(), {}) for r in stream if amount(r.number) >= 34])[2]
    kept = [r for r in stream if r.number != [r for r in stream if amount(r.number) >= 34][lost].number]
    verdict = job.check(sent, results(rows_of(job, sent, kept)))
    assert figures(verdict) == (0, 1, 0, 0), verdict.differences


@pytest.mark.parametrize("name", COUNTING)
def test_a_result_that_was_lost_in_the_middle(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    place = busiest(rows)[2]
    verdict = job.check(sent, results(rows[:place] + rows[place + 1 :]))
    assert figures(verdict) == (0, 1, 0, 0), verdict.differences


@pytest.mark.parametrize("name", COUNTING)
def test_a_record_that_was_counted_twice(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    stream = sent[job.feeds[0].topic]
    again = busiest([(r.key.encode(), {}) for r in stream])[3]
    verdict = job.check(sent, results(rows_of(job, sent, [*stream[: again + 1], stream[again], *stream[again + 1 :]])))
    assert verdict.twice > 0 or verdict.wrong > 0
    assert verdict.missing == 0


@pytest.mark.parametrize("name", COUNTING)
def test_a_sum_that_is_wrong(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    key, value = rows[place := busiest(rows)[-1]]
    rows[place] = (key, {**(value or {}), "TOTAL": int(str((value or {})["TOTAL"])) + 100_000})
    verdict = job.check(sent, results(rows))
    assert verdict.wrong > 0
    assert (verdict.twice, verdict.missing, verdict.back) == (0, 0, 0)


@pytest.mark.parametrize("name", ["group", "window"])
def test_a_maximum_that_is_wrong(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    place = busiest(rows)[1]
    rows[place] = (rows[place][0], {**(rows[place][1] or {}), "MOST": 101})
    verdict = job.check(sent, results(rows))
    assert verdict.wrong > 0


@pytest.mark.parametrize("name", ["filter", "join"])
def test_order_of_a_key_is_kept(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    first, second = busiest(rows)[:2]
    rows[first], rows[second] = rows[second], rows[first]
    assert job.check(sent, results(rows)).back >= 1


def test_order_of_a_key_is_kept_in_counts() -> None:
    sent = [Sent(n, "a", 0, 0) for n in (1, 2, 3)]
    verdict = Verdict("t")
    steps = [Step("a", i, total, f"offset {i}") for i, total in enumerate([1, 4, 6], 1)]
    check_steps(verdict, {"a": sent}, steps)
    assert figures(verdict) == (0, 0, 1, 0)
    assert verdict.differences == ["back: offset 3: group a, count 3 counts record 2 of key a after 3"]


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize(
    "bad", [(b"nobody", b'{"NUMBER": 7}'), (b"x", None), (None, b"{}"), (b"x", b"[1]"), (b"x", b"{")]
)
def test_what_nobody_can_read_is_wrong(name: str, bad: tuple[bytes | None, bytes | None]) -> None:
    job = JOBS[name]
    sent = fed(job)
    verdict = job.check(sent, [*results(rows_of(job, sent)), Result(0, 999, *bad)])
    assert figures(verdict) == (0, 0, 0, 1)


# ---------------------------------------------------------------- what only some jobs can get wrong


@pytest.mark.parametrize("table", ["QUOTED", "LIMITED"])
def test_a_version_that_steps_back(table: str) -> None:
    job = JOBS["join"]
    sent = fed(job)
    rows = rows_of(job, sent)
    place = busiest(rows)[-1]
    assert rows[place][1][table] != 1
    rows.append((rows[place][0], {**rows[place][1], table: 1}))
    verdict = job.check(sent, results(rows))
    assert (verdict.twice, verdict.back, verdict.wrong) == (1, 1, 0)


@pytest.mark.parametrize("version", [0, 8])
def test_a_version_that_was_never_written(version: int) -> None:
    job = JOBS["join"]
    sent = fed(job)
    rows = rows_of(job, sent)
    rows[5] = (rows[5][0], {**rows[5][1], "LIMITED": version})
    assert figures(job.check(sent, results(rows))) == (0, 0, 0, 1)


def test_a_group_below_having() -> None:
    sent = {"a": [Sent(1, "a", 0, 0), Sent(2, "a", 0, 0)]}
    below, above = Verdict("t"), Verdict("t")
    check_steps(below, sent, [Step("a", 2, 3, "offset 0")], first=3)
    check_steps(above, sent, [Step("a", 3, 6, "offset 0")], first=3)
    assert below.wrong and above.wrong


def test_the_first_sum_of_having() -> None:
    sent = {"a": [Sent(n, "a", 0, 0) for n in (1, 2, 3, 4)]}
    right, wrong = Verdict("t"), Verdict("t")
    check_steps(right, sent, [Step("a", 3, 6, ""), Step("a", 4, 10, "")], first=3)
    check_steps(wrong, sent, [Step("a", 3, 7, ""), Step("a", 4, 11, "")], first=3)
    assert right.ok
    assert wrong.wrong


def test_a_record_in_two_groups() -> None:
    sent = [Sent(n, "a", 0, 0) for n in (1, 2, 3)]
    verdict = Verdict("t")
    check_moving(verdict, sent, [Step("x", 1, 1, "offset 0"), Step("x", 2, 3, "offset 1"), Step("y", 1, 2, "offset 0")])
    assert verdict.twice == 1
    assert "counts record 2, which is in group x already" in verdict.differences[0]


def test_a_replay_into_another_group() -> None:
    """After a replay a record may see another table row: then it is in two groups, or in the wrong one for good."""
    sent = [Sent(n, "a", 0, 0) for n in (1, 2)]
    verdict = Verdict("t")
    check_moving(verdict, sent, [Step("x", 1, 1, ""), Step("x", 2, 3, ""), Step("x", 1, 1, ""), Step("y", 1, 2, "")])
    assert verdict.twice == 1 and verdict.back == 1


def test_a_move_that_was_lost() -> None:
    job = JOBS["moves"]
    sent = fed(job)
    rows = rows_of(job, sent)
    place = busiest(rows)[3]
    verdict = job.check(sent, results(rows[:place] + rows[place + 1 :]))
    assert verdict.wrong == 1 and verdict.missing == 2, verdict.differences


def test_a_list_and_a_sum_that_disagree() -> None:
    job = JOBS["moves"]
    sent = fed(job)
    rows = rows_of(job, sent)
    key, value = rows[-1]
    assert value is not None
    rows[-1] = (key, {**value, "TOTAL": 1})
    verdict = job.check(sent, results(rows))
    assert figures(verdict) == (0, 1, 0, 1)
