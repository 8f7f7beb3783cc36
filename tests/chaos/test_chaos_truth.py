"""The truth checks of the kill tests: each finds what is wrong in sinks that are made by hand."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Callable, Sequence

import pytest

from tests.chaos.faultless import COUNTING, Row, busiest, fed, figures, results, rows_of
from tests.chaos.jobs import JOBS
from tests.chaos.jobs.job import amount
from tests.chaos.jobs.owned import agent
from tests.chaos.records import Result, Sent
from tests.chaos.steps import Step, check_moving, check_steps
from tests.chaos.verdict import SHOWN, Verdict

BEHIND = ("behind", "deep")
"""Windows behind joins: few records of the load meet, so they have tests of their own."""

EACH = [n for n in JOBS if n not in ("owned", "owned-inner", "best", *BEHIND)]
"""Jobs of which it is known how many results there must be."""

SEVERAL = ("explode", "python-items", "moves", "moves-having", "session", "between", "padded", "final")
"""Jobs with several results of one record, or one of several."""


# ---------------------------------------------------------------- all is well


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize(("partitions", "scatter"), [(1, False), (4, False), (4, True)])
def test_a_right_sink_is_ok(name: str, partitions: int, scatter: bool) -> None:
    job = JOBS[name]
    sent = fed(job, partitions=partitions, scatter=scatter)
    rows = rows_of(job, sent)
    verdict = job.check(sent, results(rows))
    assert verdict.ok, verdict.differences
    assert (verdict.sent, verdict.due, verdict.out) == (200, len(rows), len(rows))
    assert job.due(sent) == len(rows) > 50


@pytest.mark.parametrize("name", [n for n in EACH if n != "window"])
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


@pytest.mark.parametrize("name", EACH)
def test_nothing_came(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    verdict = job.check(sent, [])
    assert figures(verdict) == (0, verdict.due, 0, 0)
    assert len(verdict.differences) == SHOWN
    assert not verdict.ok


@pytest.mark.parametrize("name", EACH)
def test_a_row_that_came_twice(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    place = busiest(rows)[-1]
    verdict = job.check(sent, results([*rows[: place + 1], rows[place], *rows[place + 1 :]]))
    assert (verdict.twice, verdict.missing, verdict.wrong) == (1, 0, 0), verdict.differences


@pytest.mark.parametrize("name", EACH)
def test_a_replay_from_a_checkpoint(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    verdict = job.check(sent, results([*rows[:60], *rows[40:]]))
    assert (verdict.twice, verdict.missing, verdict.wrong) == (20, 0, 0), verdict.differences
    assert verdict.back > 0 or name == "moves-having"  # its lists are so short that they are often the same


@pytest.mark.parametrize("name", EACH)
def test_rows_that_are_lost_at_the_end(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = rows_of(job, sent)
    verdict = job.check(sent, results(rows[:-7]))
    assert figures(verdict) == (0, 7, 0, 0), verdict.differences


@pytest.mark.parametrize("name", [n for n in EACH if n not in SEVERAL])
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


# ---------------------------------------------------------------- sessions, streams joined in time, EMIT FINAL


def _without(rows: Sequence[Row], left_out: Callable[[bytes, dict[str, object] | None], bool]) -> list[Row]:
    """The rows without the first one, from the middle on, that is to be left out."""
    place = next(i for i, row in enumerate(rows) if i > len(rows) // 3 and left_out(*row))
    return [*rows[:place], *rows[place + 1 :]]


@pytest.mark.parametrize("scatter", [False, True])
def test_sessions_that_merge_others(scatter: bool) -> None:
    job = JOBS["session"]
    sent = fed(job, 600, partitions=4, scatter=scatter)
    order = sorted(sent["chaos_clicks"], key=lambda r: (r.partition, r.number))
    rows = rows_of(job, sent, order)
    verdict = job.check(sent, results(rows))
    assert verdict.ok and verdict.out > 600, verdict.differences


def test_a_tombstone_of_a_session_that_was_lost() -> None:
    job = JOBS["session"]
    sent = fed(job)
    rows = _without(rows_of(job, sent), lambda key, value: value is None)
    verdict = job.check(sent, results(rows))
    assert figures(verdict)[:2] == (0, 1) and verdict.wrong == 0, verdict.differences


def test_a_session_that_lost_a_record() -> None:
    """The engine has forgotten one of the records of the session that it goes on with."""
    job = JOBS["session"]
    sent = fed(job)
    rows = rows_of(job, sent)
    place = next(i for i, (_, v) in enumerate(rows) if v is not None and v["N"] == 4)
    key, value = rows[place]
    numbers = list((value or {})["NUMBERS"])  # type: ignore[call-overload]
    del numbers[1]
    rows[place] = key, {**(value or {}), "N": 3, "TOTAL": sum(numbers), "NUMBERS": numbers}
    assert job.check(sent, results(rows)).wrong > 0


def test_a_session_whose_last_record_is_an_old_one() -> None:
    job = JOBS["session"]
    sent = fed(job)
    rows = rows_of(job, sent)
    old, new = next(
        (i, j)
        for (i, (key, a)), (j, (other, b)) in itertools.combinations(enumerate(rows), 2)
        if key == other and i + 1 < j and a is not None and b is None
    )
    rows[old], rows[new] = rows[new], rows[old]
    assert job.check(sent, results(rows)).back > 0


@pytest.mark.parametrize("name", ["between", "padded"])
def test_a_pair_that_was_lost(name: str) -> None:
    job = JOBS[name]
    sent = fed(job)
    rows = _without(rows_of(job, sent), lambda key, value: True)
    assert figures(job.check(sent, results(rows))) == (0, 1, 0, 0)


def test_a_record_without_a_partner() -> None:
    job = JOBS["padded"]
    sent = fed(job, 1000)
    rows = rows_of(job, sent)
    right = job.check(sent, results(rows))
    assert right.ok and right.due <= right.out, right.differences
    alone = [row for row in rows if row[1] is not None and row[1]["ANSWER"] is None]
    assert len(alone) > 50
    lost = job.check(sent, results(_without(rows, lambda key, value: value is not None and value["ANSWER"] is None)))
    assert figures(lost) == (0, 1, 0, 0)
    assert figures(job.check(sent, results([*rows, alone[0]])))[:2] == (1, 0)
    pair = next(row for row in rows if row[1] is not None and row[1]["ANSWER"] is not None)
    both = job.check(sent, results([*rows, (pair[0], {**(pair[1] or {}), "ANSWER": None})]))
    assert figures(both) == (0, 0, 0, 1)


def test_a_window_that_comes_too_early_or_with_too_few_records() -> None:
    job = JOBS["final"]
    sent = fed(job)
    rows = rows_of(job, sent)
    place = next(i for i, (_, v) in enumerate(rows) if v is not None and v["N"] == 2)
    few = [*rows[:place], (rows[place][0], {"N": 1, "TOTAL": 1}), *rows[place + 1 :]]
    assert figures(job.check(sent, results(few))) == (0, 1, 0, 1)
    last = sent["chaos_deliveries"][-1]
    start = last.time // 2000 * 2000
    numbers = [r.number for r in sent["chaos_deliveries"] if r.key == last.key and r.time >= start]
    early = (last.key.encode() + struct.pack(">q", start), {"N": len(numbers), "TOTAL": sum(numbers)})
    assert figures(job.check(sent, results([*rows, early]))) == (0, 0, 0, 1)


# ---------------------------------------------------------------- tables joined by a foreign key


@pytest.mark.parametrize(("partitions", "scatter"), [(1, False), (4, True)])
def test_houses_with_their_agents(partitions: int, scatter: bool) -> None:
    job = JOBS["owned"]
    sent = fed(job, 600, partitions=partitions, scatter=scatter)
    rows = rows_of(job, sent)
    verdict = job.check(sent, results(rows))
    assert verdict.ok and verdict.due == 200 and verdict.out == len(rows) > 600, verdict.differences
    assert figures(job.check(sent, [])) == (0, 200, 0, 0)
    overtaken = [row for i, row in enumerate(rows) if i % 2 or any(row[0] == key for key, _ in rows[i + 1 :]) is False]
    assert job.check(sent, results(overtaken)).ok


def test_a_house_with_a_result_again_a_later_one_or_that_of_another_agent() -> None:
    job = JOBS["owned"]
    sent = fed(job, 600)
    rows = rows_of(job, sent)
    place = busiest(rows)[-1]
    key, value = rows[place]
    assert value is not None and value["AGENT_NUMBER"] is not None
    again = job.check(sent, results([*rows[: place + 1], rows[place], *rows[place + 1 :]]))
    assert figures(again) == (1, 0, 0, 0), again.differences
    lost = job.check(sent, results([*rows[:place], *rows[place + 1 :]]))
    assert figures(lost) == (0, 1, 0, 0), lost.differences
    back = job.check(sent, results([*rows, (key, {**value, "AGENT_NUMBER": None})]))
    assert back.back == 1 and back.missing == 1, back.differences
    others = next(r.number for r in sent["chaos_agents"] if r.key != agent(int(str(value["HOUSE_NUMBER"]))))
    wrong = job.check(sent, results([*rows, (key, {**value, "AGENT_NUMBER": others})]))
    assert figures(wrong) == (0, 0, 0, 1), wrong.differences


def test_a_house_whose_agent_has_no_row_has_no_result_of_an_inner_join() -> None:
    job = JOBS["owned-inner"]
    sent = fed(job, 600)
    rows = rows_of(job, sent)
    verdict = job.check(sent, results(rows))
    assert verdict.ok and verdict.due == 200 and len(rows) > 600, verdict.differences
    assert job.check(sent, results([(rows[0][0], None), *rows])).ok
    key, value = rows[-1]
    wrong = job.check(sent, results([*rows, (key, {**(value or {}), "AGENT_NUMBER": None})]))
    assert figures(wrong)[3] == 1, wrong.differences
    lost = job.check(sent, results(rows[:-1]))
    assert figures(lost) == (0, 1, 0, 0), lost.differences


# ---------------------------------------------------------------- neighbours and ranks


def test_a_payment_behind_another_than_it_says() -> None:
    job = JOBS["chain"]
    sent = fed(job)
    rows = rows_of(job, sent)
    place = busiest(rows)[3]
    key, value = rows[place]
    wrong = job.check(sent, results([*rows[:place], (key, {**(value or {}), "BEFORE": 0}), *rows[place + 1 :]]))
    assert figures(wrong) == (0, 0, 0, 1), wrong.differences


@pytest.mark.parametrize(("partitions", "scatter"), [(1, False), (4, True)])
def test_the_best_of_each_team(partitions: int, scatter: bool) -> None:
    job = JOBS["best"]
    sent = fed(job, 600, partitions=partitions, scatter=scatter)
    rows = rows_of(job, sent)
    verdict = job.check(sent, results(rows))
    assert verdict.ok and verdict.due == 60 and verdict.out == len(rows) > 600, verdict.differences
    assert figures(job.check(sent, [])) == (0, 60, 0, 0)


def test_a_rank_with_a_result_again_an_earlier_one_or_that_of_another_team() -> None:
    job = JOBS["best"]
    sent = fed(job, 600)
    rows = rows_of(job, sent)
    places = busiest(rows)
    last, (key, value) = places[-1], rows[places[-1]]
    again = job.check(sent, results([*rows[: last + 1], rows[last], *rows[last + 1 :]]))
    assert figures(again) == (1, 0, 0, 0), again.differences
    lost = job.check(sent, results([*rows[:last], *rows[last + 1 :]]))
    assert figures(lost) == (0, 1, 0, 0), lost.differences
    back = job.check(sent, results([*rows, rows[places[-2]]]))
    assert figures(back) == (0, 1, 1, 0), back.differences
    others = next(v for k, v in rows if json.loads(k)["TEAM"] != json.loads(key)["TEAM"])
    wrong = job.check(sent, results([*rows, (key, others)]))
    assert figures(wrong) == (0, 0, 0, 1), wrong.differences
    assert value is not None


# ---------------------------------------------------------------- windows behind joins


@pytest.mark.parametrize("name", BEHIND)
def test_windows_behind_joins(name: str) -> None:
    """Each pair or triple is counted once, in the window of its last record, whatever their order."""
    job = JOBS[name]
    sent = fed(job, 3000, partitions=4, scatter=True)
    rows = rows_of(job, sent)
    assert job.due(sent) == len(rows) > 50
    assert job.check(sent, results(rows)).ok
    lost = busiest(rows)[-1]
    assert figures(job.check(sent, results(rows[:lost] + rows[lost + 1 :]))) == (0, 1, 0, 0)
    twice = job.check(sent, results([*rows[: lost + 1], rows[lost], *rows[lost + 1 :]]))
    assert (twice.twice, twice.missing, twice.wrong) == (1, 0, 0)


@pytest.mark.parametrize("name", BEHIND)
def test_a_result_that_was_late_for_its_window(name: str) -> None:
    job = JOBS[name]
    sent = fed(job, 3000)
    first = job.feeds[0].topic
    met = rows_of(job, {**sent, first: [r for r in sent[first] if r.number % 100]})
    missing = job.due(sent) - len(met)
    assert missing > 0
    assert figures(job.check(sent, results(met))) == (0, missing, 0, 0)
