"""The rate holds over time: counted with a clock that the test turns."""

from __future__ import annotations

import pytest

from ksqlpy.datagen import Pacer


class Clock:
    """Time stands still but for sleeping, and for what a test takes away."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds


def passed(pacer: Pacer, clock: Clock, until: float) -> int:
    """How many records are due before the clock shows ``until``."""
    count = 0
    while True:
        pacer.wait()
        if clock.now >= until:
            return count
        count += 1


@pytest.mark.parametrize("rate", [0.5, 3, 7, 1000])
def test_so_many_a_second(rate: float) -> None:
    clock = Clock()
    assert passed(Pacer(rate, clock, clock.sleep), clock, 1060.0) == pytest.approx(60 * rate, abs=1)


def test_a_delay_is_made_up_for() -> None:
    clock = Clock()
    pacer = Pacer(10, clock, clock.sleep)
    for _ in range(11):
        pacer.wait()
    assert clock.now == pytest.approx(1001)
    clock.now += 5  # the brokers were slow
    for _ in range(50):
        pacer.wait()
    assert clock.now == pytest.approx(1006)
    pacer.wait()
    assert clock.now == pytest.approx(1006.1)


def test_without_a_rate_nothing_waits() -> None:
    clock = Clock()
    pacer = Pacer(None, clock, clock.sleep)
    for _ in range(1000):
        pacer.wait()
    assert (clock.slept, pacer.count) == (0, 1000)


def test_who_waits_is_told() -> None:
    clock = Clock()
    pacer = Pacer(2, clock, clock.sleep)
    told: list[float] = []
    for _ in range(3):
        pacer.wait(lambda: told.append(clock.now))
    assert told == [1000.0, 1000.5]
