"""When a spare JVM for the driver is started: when all queries have run for a while, and there is none."""

from __future__ import annotations

from typing import cast

from ksqlpy.runtime.cluster.spare_driver import REST, SpareDriver
from ksqlpy.spark.spare import Spare


class Made:
    """A spare as the policy sees it."""

    over = False


class Watched:
    """The policy on a clock of the test's own, with what it has made and kept."""

    def __init__(self) -> None:
        self.now = 0.0
        self.made: list[Made] = []
        self.kept: Spare | None = None
        self.spares = SpareDriver(self._make, self._keep, lambda: self.now)

    def _make(self) -> Spare:
        self.made.append(Made())
        return cast(Spare, self.made[-1])

    def _keep(self, spare: Spare | None) -> None:
        self.kept = spare

    def seconds(self, count: float, *, at_rest: bool = True) -> int:
        """Lets time pass, with a look each second; gives how many spares were made in all."""
        end = self.now + count
        while self.now < end:
            self.now += 1
            self.spares.look(at_rest=at_rest)
        return len(self.made)


def test_a_spare_is_started_when_all_queries_have_run_for_a_while() -> None:
    watched = Watched()
    assert watched.seconds(REST - 1) == 0
    assert watched.seconds(1) == 1
    assert watched.kept is watched.made[0]
    assert watched.seconds(10 * REST) == 1


def test_a_query_that_does_not_run_puts_it_off() -> None:
    watched = Watched()
    assert watched.seconds(REST - 1) == 0
    assert watched.seconds(1, at_rest=False) == 0
    assert watched.seconds(REST - 1) == 0
    assert watched.seconds(1) == 1


def test_there_is_another_spare_for_the_next_driver() -> None:
    watched = Watched()
    watched.seconds(REST)
    watched.made[0].over = True
    watched.spares.taken()
    assert watched.seconds(REST - 1) == 1
    assert watched.seconds(1) == 2


def test_after_a_spare_that_failed_the_next_one_is_started_later() -> None:
    watched = Watched()
    watched.seconds(REST)
    watched.made[0].over = True
    assert watched.seconds(2 * REST) == 1
    assert watched.seconds(1) == 2
    watched.made[1].over = True
    assert watched.seconds(4 * REST) == 2
    assert watched.seconds(1) == 3


def test_the_spare_ends_with_the_engine() -> None:
    watched = Watched()
    watched.seconds(REST)
    watched.spares.close()
    assert watched.kept is None
