"""The rows of an answer as they are made, by whoever makes them: what is held back, given out, and enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ksqlpy.local.question import Question, Wanted
from ksqlpy.reading import Change, Held, Unread

__all__ = ["Answer", "Enough", "Giving", "Row"]

Row = Callable[[Sequence[Any]], None]
"""What takes a row."""
Columns = TypeVar("Columns")

_EXAMPLES = 3


@dataclass
class Answer:
    """What became of it: rows given out, whether the time was enough, and the records that could not be read."""

    rows: int = 0
    complete: bool = True
    unread: int = 0
    examples: list[Unread] = field(default_factory=list)


class Enough(Exception):
    """The limit is reached."""


class Giving(Generic[Columns]):
    """Gives out the rows of an answer: of a table what it holds at the end, or every change.

    ``values``: the values of what a change has as its columns, in their order.
    """

    def __init__(
        self, question: Question, wanted: Wanted, row: Row, values: Callable[[Columns], Sequence[Any]]
    ) -> None:
        limit = question.typed.limit
        self.limit = wanted.limit if limit is None else min(limit, wanted.limit or 2**31)
        self.final = question.plan.kind == "TABLE" and not (wanted.changes or wanted.follow)
        self.answer = Answer()
        self._held = Held[Columns]()
        self._row = row
        self._values = values

    def take(self, change: Change[Columns] | Unread) -> None:
        """Takes what was made; raises Enough at the limit."""
        if isinstance(change, Unread):
            self.answer.unread += 1
            self.answer.examples += [change] if len(self.answer.examples) < _EXAMPLES else []
        elif self.final:
            self._held.take(change)
        elif change.columns is not None:
            self._give(change.columns)

    def end(self) -> None:
        """Gives out what was held back; raises Enough at the limit."""
        for columns in self._held.rows if self.answer.complete else ():
            self._give(columns)

    def _give(self, columns: Columns) -> None:
        self._row(self._values(columns))
        self.answer.rows += 1
        if self.answer.rows == self.limit:
            raise Enough
