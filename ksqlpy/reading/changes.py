"""What comes of the records of a query: changes of its rows, and records that cannot be read."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Change", "Held", "Unread"]

Columns = TypeVar("Columns")


@dataclass(frozen=True)
class Change(Generic[Columns]):
    """A row of the result: its key, and its columns; None where the key's row is gone.

    Spark gives both as JSON, the columns as an object.
    """

    key: Hashable
    columns: Columns | None


class Held(Generic[Columns]):
    """What a table holds after its changes, by key; what changed last stands last."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, Columns] = {}

    def take(self, change: Change[Columns]) -> None:
        """Takes a change over."""
        self._rows.pop(change.key, None)
        if change.columns is not None:
            self._rows[change.key] = change.columns

    @property
    def rows(self) -> tuple[Columns, ...]:
        """The columns of its rows."""
        return tuple(self._rows.values())


@dataclass(frozen=True)
class Unread:
    """A record that cannot be read."""

    topic: str
    partition: int
    offset: int
    reason: str
