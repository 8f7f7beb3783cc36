"""Aggregates and table functions as a user writes them; ``test_aggregates.py`` compares them with those of SQL."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, NamedTuple

import ksqlpy

Money = Annotated[Decimal, "DECIMAL(12, 2)"]


class Mean(NamedTuple):
    total: float
    count: int


@dataclass
class Bounds:
    least: int | None
    most: int | None


@ksqlpy.udaf
class py_count:
    """Counts the values that are not null."""

    def init(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        return state + (value is not None)

    def undo(self, state: int, value: int) -> int:
        return state - (value is not None)

    def merge(self, one: int, other: int) -> int:
        return one + other

    def result(self, state: int) -> int:
        return state


@ksqlpy.udaf
class py_rows:
    def init(self) -> int:
        return 0

    def add(self, state: int) -> int:
        return state + 1

    def undo(self, state: int) -> int:
        return state - 1

    def merge(self, one: int, other: int) -> int:
        return one + other

    def result(self, state: int) -> int:
        return state


@ksqlpy.udaf
class py_sum:
    def init(self) -> Money:
        return Decimal(0)

    def add(self, state: Money, value: Money) -> Money:
        return state + (value or 0)

    def undo(self, state: Money, value: Money) -> Money:
        return state - (value or 0)

    def merge(self, one: Money, other: Money) -> Money:
        return one + other

    def result(self, state: Money) -> Money:
        return state


@ksqlpy.udaf
class py_avg:
    def init(self) -> Mean:
        return Mean(0.0, 0)

    def add(self, state: Mean, value: float) -> Mean:
        return state if value is None else Mean(state.total + value, state.count + 1)

    def undo(self, state: Mean, value: float) -> Mean:
        return state if value is None else Mean(state.total - value, state.count - 1)

    def merge(self, one: Mean, other: Mean) -> Mean:
        return Mean(one.total + other.total, one.count + other.count)

    def result(self, state: Mean) -> float:
        return state.total / state.count if state.count else 0.0


@ksqlpy.udaf
class py_bounds:
    """The smallest and the largest value; it cannot take one back."""

    def init(self) -> Bounds:
        return Bounds(None, None)

    def add(self, state: Bounds, value: int) -> Bounds:
        if value is None:
            return state
        least = value if state.least is None else min(state.least, value)
        return Bounds(least, value if state.most is None else max(state.most, value))

    def merge(self, one: Bounds, other: Bounds) -> Bounds:
        return self.add(self.add(one, other.least), other.most)

    def result(self, state: Bounds) -> Bounds:
        return state


@ksqlpy.udaf
class py_list:
    def init(self) -> list[str]:
        return []

    def add(self, state: list[str], value: str) -> list[str]:
        return [*state, value]

    def undo(self, state: list[str], value: str) -> list[str]:
        at = len(state) - 1 - state[::-1].index(value)
        return state[:at] + state[at + 1 :]

    def merge(self, one: list[str], other: list[str]) -> list[str]:
        return one + other

    def result(self, state: list[str]) -> list[str]:
        return state


@ksqlpy.udaf
class only_even:
    """Adds up even numbers, and fails at all others; it makes no state of two."""

    def init(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        if value % 2:
            raise ValueError(f"{value} is odd")
        return state + value

    def undo(self, state: int, value: int) -> int:
        return self.add(state, -value)

    def result(self, state: int) -> int:
        return state


@ksqlpy.udaf(on_error="stop")
class only_even_or_stop(only_even):
    pass


@ksqlpy.udaf
class hoard:
    """Keeps more than fits."""

    def init(self) -> str:
        return ""

    def add(self, state: str, letters: int) -> str:
        return state + "x" * letters

    def result(self, state: str) -> int:
        return len(state)


@ksqlpy.udaf
class py_killed:
    """Counts rows; its process is killed at the first call for each row, which names a file that says so."""

    def init(self) -> int:
        return 0

    def add(self, state: int, file: str) -> int:
        if not os.path.exists(file):
            open(file, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return state + 1

    def result(self, state: int) -> int:
        return state


@ksqlpy.udtf
def pieces(text: str, mark: str) -> Iterator[str]:
    """One row for each piece between two marks."""
    yield from text.split(mark)


@ksqlpy.udtf
def letters(word: str) -> Iterator[Annotated[dict, "STRUCT<place INT, letter STRING>"]]:
    for place, letter in enumerate(word):
        yield {"PLACE": place, "LETTER": letter}


@ksqlpy.udtf(timeout=0.5)
def without_end(start: int) -> Iterator[int]:
    while True:
        yield start


calls = 0


@ksqlpy.udaf
class py_calls:
    """How often add was called in this process: workers keep nothing, but a test may look."""

    def init(self) -> int:
        return 0

    def add(self, state: int) -> int:
        global calls
        calls += 1
        return state + 1

    def merge(self, one: int, other: int) -> int:
        return one + other

    def result(self, state: int) -> str:
        return f"{state} of {calls}"


@ksqlpy.udtf
def py_called(value: int) -> list[int]:
    global calls
    calls += 1
    return [calls, value]


@ksqlpy.udtf(on_error="stop")
def pieces_or_stop(text: str) -> list[str]:
    return text.split("-")


@ksqlpy.udtf(deterministic=False)
def py_chance(value: int) -> Iterator[int]:
    yield value
