"""Rows that several readers get at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksqlpy.errors import KsqlError
from ksqlpy.reading.pieces import Pieces

__all__ = ["Batch", "Unshared"]


class Batch:
    """Rows of one query, with what they are as bytes, which is made once for all who want the same form."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        self._encoded: dict[object, list[bytes]] = {}

    def encoded(self, form: object, row: Callable[[Any], bytes]) -> list[bytes]:
        """The rows in a form, by what writes one row in it; those that it does not show are left out."""
        found = self._encoded.get(form)
        if found is None:
            found = self._encoded[form] = [data for r in self.rows if (data := row(r))]
        return found


class Unshared:
    """A query whose rows one reader takes, as they come."""

    behind: Mapping[str, int | None] = {}
    """How many records queries have still to read of which it reads the results; of pull queries only."""

    limit: int | None = None
    """How many rows a taker must take at most; None: it need not count them."""

    lingers = False
    """Whether its rows may wait for others, to be sent together."""

    ended_for: KsqlError | None = None
    """Why it was ended by another than its reader."""

    def end(self, error: KsqlError) -> None:
        """Ends it; its reader is told why."""
        self.ended_for = error
        self.close()

    def check_ended(self) -> None:
        """Raises what it was ended for."""
        if self.ended_for is not None:
            raise self.ended_for

    def close(self) -> None:
        """Ends it."""
        raise NotImplementedError

    def subscribe(
        self, take: Callable[[Batch], None], failed: Callable[[Exception], None], ended: Callable[[], None]
    ) -> bool:
        """False: its rows are read with ``rows``."""
        return False

    def pieces(self) -> Pieces | None:
        """Its records, to be read instead of :meth:`rows`, where Arrow can have them in bulk; else None."""
        return None
