"""Functions of a program that are registered, with what they need of their file."""

from __future__ import annotations

import math as m
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Annotated

import ksqlpy

RATE = Decimal("1.5")
ZONES = {"north": (1, 2), "south": (3,)}
WORD = re.compile(r"[a-z]+", re.IGNORECASE)


@dataclass
class Point:
    """A place."""

    x: float
    y: float


def _length(p: Point) -> float:
    # as the crow flies
    return m.hypot(p.x, p.y)


@ksqlpy.udf(name="distance_of", timeout=2.0)
def distance(p: Point) -> float:
    """How far it is."""
    return _length(p)


@lru_cache
def zone(number: int) -> str | None:
    """The zone of a number."""
    return next((name for name, numbers in ZONES.items() if number in numbers), None)


def rated(amount: Annotated[Decimal, "DECIMAL(8, 2)"]) -> Annotated[Decimal, "DECIMAL(8, 2)"]:
    return amount * RATE


def words(text: str) -> Iterator[str]:
    yield from WORD.findall(text)


class Longest:
    """The longest text."""

    def init(self) -> str:
        return ""

    def add(self, state: str, text: str) -> str:
        return max(state, text, key=len)

    def result(self, state: str) -> str:
        return state


def in_a_function(limit: int) -> object:
    def above(number: int) -> bool:
        return number > limit

    return above


def with_an_engine(number: int) -> bool:
    return OPEN.closed


def without(number):  # type: ignore[no-untyped-def]  # that is the point
    return number


def dollars(text: str) -> bool:
    return text == "$$"


class _Open:
    closed = False

    def __reduce__(self) -> str:
        raise TypeError("not to be pickled")


OPEN = _Open()
