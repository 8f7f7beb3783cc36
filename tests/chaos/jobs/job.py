"""What a job is: statements, the records that it is fed, and the check of what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["Feed", "Job", "Truth", "amount", "read"]

T = TypeVar("T")

Truth = Callable[[Verdict, Mapping[str, Sequence[Sent]], Sequence[Result]], None]
"""Fills a verdict from what was sent, by topic, and the records of the sink."""


@dataclass(frozen=True)
class Feed:
    """A source topic.

    ``key``: of the record with that number. ``columns``: of its value, beside NUMBER. ``share``: of the rate, relative
    to other feeds. ``preload``: records that lie there before the queries are made. ``keyed``: a key stays in its
    partition even when records are scattered, as it must with the rows of a table.
    """

    topic: str
    key: Callable[[Random, int], str]
    columns: Callable[[int], Mapping[str, object]]
    share: int = 10
    preload: int = 0
    keyed: bool = False


@dataclass(frozen=True)
class Job:
    """One persistent query under test, or several, each of which reads what the one before it writes.

    ``declare``: statements of its sources, with ``{p}`` for the number of partitions. ``query``: the one that is
    tested. ``sink``: its topic. ``feeds``: its stream first. ``queries``: how many there are. ``python``: whether they
    call functions in Python.
    """

    name: str
    about: str
    declare: str
    query: str
    sink: str
    feeds: tuple[Feed, ...]
    truth: Truth
    queries: int = 1
    python: bool = False

    def check(self, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> Verdict:
        """Compares what came out, all partitions in order of their offsets, with what was sent."""
        verdict = Verdict(self.name, sent=len(sent[self.feeds[0].topic]), out=len(results))
        self.truth(verdict, sent, results)
        return verdict

    def due(self, sent: Mapping[str, Sequence[Sent]]) -> int:
        """How many results there must be in the end."""
        verdict = Verdict(self.name)
        self.truth(verdict, sent, ())
        return verdict.due


def amount(number: int) -> int:
    """The amount in the record of that number: 0 to 99, seemingly without order."""
    return number * 7919 % 10007 % 100


def read(verdict: Verdict, results: Iterable[Result], what: Callable[[Result], T]) -> Iterator[T]:
    """The results that ``what`` can read; the rest go into the verdict as wrong."""
    for result in results:
        try:
            found = what(result)
        except (ValueError, KeyError, TypeError) as e:
            verdict.note_wrong(f"{result.place}: key {result.key!r}, value {result.value!r} cannot be read: {e!r}")
        else:
            yield found
