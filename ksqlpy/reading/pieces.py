"""Records of a query that are no rows yet: whoever takes them has rows made of them, or columns of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ksqlpy.atwork import working
from ksqlpy.reading.bulk import Bulk, Raw

__all__ = ["Piece", "Pieces", "Reading"]

_LEAST = 1_000
"""Records from which on a piece that cannot be read in bulk is tried again in halves."""


@dataclass(frozen=True)
class Reading:
    """How the records of a query are read.

    ``rows``: makes rows of records, in their order, None standing for none; ``raw``: their bytes, None where one of
    them is an error; ``bulk``: makes columns of these. ``rows`` raises KsqlError.
    """

    rows: Callable[[Sequence[Any]], Sequence[Any]]
    raw: Callable[[Sequence[Any]], Raw | None]
    bulk: Bulk


class Piece:
    """Some records, in their order."""

    def __init__(self, records: Sequence[Any], reading: Reading) -> None:
        self.records = records
        self._reading = reading

    def __len__(self) -> int:
        """How many records: there may be fewer rows."""
        return len(self.records)

    def joined(self, others: Sequence[Piece]) -> Piece:
        """This one and others of its query, one behind the other."""
        return Piece([r for p in (self, *others) for r in p.records], self._reading) if others else self

    def rows(self) -> list[list[Any]]:
        """The rows as JSON values. Raises KsqlError."""
        with working():
            return [row for row in self._reading.rows(self.records) if type(row) is list]

    def batches(self) -> Iterator[Any]:
        """Each a ``pyarrow.RecordBatch``, or rows where they are not read in bulk. Raises KsqlError, ImportError."""
        raw = self._reading.raw(self.records)
        found = None if raw is None else self._reading.bulk.read(raw)
        if found is not None:
            yield found
        elif len(self.records) < _LEAST:
            yield self.rows()
        else:
            half = len(self.records) // 2
            for part in (self.records[:half], self.records[half:]):
                yield from Piece(part, self._reading).batches()


@dataclass(frozen=True)
class Pieces:
    """The records of a query as they come. ``limit``: how many of their rows are wanted; None: all.

    ``items``: None stands for a while in which nothing has come. Whoever has enough closes the query.
    """

    limit: int | None
    items: Generator[Piece | None, None, None]
