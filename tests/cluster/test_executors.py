"""What keeps queries from running on executors: each is named, with the executor and the way out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from ksqlpy.spark import executors
from ksqlpy.spark.executors import Losses, Member, problems

READ = "read hdfs://place/.probe/made.json"
ONE, TWO = "10.0.0.1:7079", "10.0.0.2:7079"
WELL = {READ: "", f"connect {ONE}": "", f"connect {TWO}": ""}


class Probe:
    """The place of checkpoints, in which the server can write."""

    folder = "hdfs://place/.probe"

    def __init__(self, session: Any, folder: str) -> None:
        assert folder.startswith("hdfs://place/.probe-")

    def make(self, mark: str) -> None:
        """Writes made.json."""

    def remove(self) -> None:
        """Removes it."""


class Reports:
    """What executors shall try."""

    asked: list[list[str]] = []  # noqa: RUF012

    def check(self, wanted: list[str]) -> None:
        self.asked.append(list(wanted))


class Session:
    """A session whose JVM has executors that report what a test says."""

    class _jvm:
        class ksqlpy:
            class metrics:
                Reports = Reports()


def codes(
    monkeypatch: pytest.MonkeyPatch, *there: Member, left: Sequence[Member] | None = None
) -> list[tuple[str, str]]:
    """Codes and texts; ``left``: the executors that are there in the end, if they are others than at first."""
    looks = itertools.count()
    monkeypatch.setattr(executors, "members", lambda session: list(there if left is None or next(looks) < 2 else left))
    monkeypatch.setattr(executors, "Checkpoint", Probe)
    monkeypatch.setattr(executors, "_FIRST", 0.5)
    monkeypatch.setattr(executors, "_OTHERS", 0.0)
    monkeypatch.setattr(executors, "_TRIED", 0.5)
    return [(p.code, p.render()) for p in problems(Session(), "hdfs://place")]  # type: ignore[arg-type]  # a stand-in


def test_executors_that_can_do_all(monkeypatch: pytest.MonkeyPatch) -> None:
    Reports.asked.clear()
    assert codes(monkeypatch, Member("0", ONE, "4.3.0", -40, WELL), Member("1", TWO, "4.3.0", 20, WELL)) == []
    assert Reports.asked == [[READ, f"connect {ONE}", f"connect {TWO}"], []], "and they try no longer"


def test_an_executor_that_is_lost_meanwhile_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Member("0", ONE, "4.3.0", 0, {**WELL, f"connect {TWO}": "connection refused"})
    assert codes(monkeypatch, there, Member("1", TWO, "4.3.0", 0, WELL), left=[there]) == []


def test_none_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    ((code, said),) = codes(monkeypatch)
    assert code == "no-executors" and "spark.driver.host" in said


@pytest.mark.parametrize(
    ("member", "code", "said"),
    [
        (Member("0", ONE, "4.2.1", 0, WELL), "spark-version", "executor 0 at 10.0.0.1:7079: ksqlpy needs Spark 4.3.0"),
        (Member("0", ONE, "4.3.0", 190_000, WELL), "clock-skew", "+190 s ahead"),
        (Member("0", ONE, "4.3.0", -190_000, WELL), "clock-skew", "-190 s ahead"),
        (Member("0", ONE, "4.3.0", 0, {**WELL, READ: "no such file"}), "checkpoint-not-shared", "no such file"),
        (
            Member("0", ONE, "4.3.0", 0, {**WELL, f"connect {TWO}": "timed out"}),
            "executors-apart",
            "does not reach the one at 10.0.0.2:7079: timed out",
        ),
        (Member("0", ONE, "4.3.0", 0, {READ: ""}), "executors-apart", "it took too long"),
    ],
)
def test_what_is_wrong_with_one(monkeypatch: pytest.MonkeyPatch, member: Member, code: str, said: str) -> None:
    found = codes(monkeypatch, member, Member("1", TWO, "4.3.0", 0, WELL))
    assert {c for c, _ in found} == {code}
    assert any(said in text for _, text in found)


class Counting:
    """A session whose driver knows of another lost executor after ``news`` looks."""

    def __init__(self, news: int) -> None:
        self.looks, self.news = 0, news
        self._jvm = self.ksqlpy = self.metrics = self.Reports = self

    def lost(self) -> int:
        self.looks += 1
        return 4 if self.looks <= self.news else 5


@pytest.mark.parametrize(("local", "news", "lost"), [(False, 3, True), (False, 10_000, False), (True, 0, False)])
def test_a_loss_counts_from_the_begin(monkeypatch: pytest.MonkeyPatch, local: bool, news: int, lost: bool) -> None:
    monkeypatch.setattr(executors, "is_local", lambda session: local)
    monkeypatch.setattr(executors, "_NEWS", 0.2)
    losses = Losses(Counting(news))  # type: ignore[arg-type]  # a stand-in
    losses.begin()
    assert losses.any() is lost
