"""Columns and rows of a result, as a program has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, ClassVar, SupportsIndex, overload

from ksqlpy.types import SqlType

__all__ = ["Column", "Row", "row_type"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a result; ``str(column.type)`` is the SQL text of its type."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


class Row(tuple[Any, ...]):
    """A row: a tuple whose values are found by name, too: ``row["TOTAL"]``, ``row.total``, ``row[0]``.

    A name is taken as it is, or in upper case, as SQL does with names that are not quoted.
    """

    __slots__ = ()

    _fields: ClassVar[tuple[str, ...]] = ()
    _places: ClassVar[dict[str, int]] = {}

    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> Any:
        if not isinstance(key, str):
            return tuple.__getitem__(self, key)
        places = self._places
        place = places.get(key)
        if place is None:
            place = places.get(key.upper())
        if place is None:
            raise KeyError(key)
        return tuple.__getitem__(self, place)

    def __getattr__(self, name: str) -> Any:
        # Python asks here for what is neither a method nor the lower case of a column's name.
        place = self._places.get(name)
        if place is None:
            place = self._places.get(name.upper())
        if place is None:
            raise AttributeError(f"the row has no column {name}; it has {', '.join(self._fields)}")
        return tuple.__getitem__(self, place)

    def asdict(self) -> dict[str, Any]:
        """The values by the names of their columns."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{n}={v!r}' for n, v in zip(self._fields, self, strict=True))})"

    def __reduce__(self) -> tuple[Callable[..., Row], tuple[tuple[str, ...], tuple[Any, ...]]]:
        return _restored, (self._fields, tuple(self))


@lru_cache(256)
def row_type(names: tuple[str, ...]) -> type[Row]:
    """The class of rows with these columns: made of the values, in their order."""
    members: dict[str, Any] = {"__slots__": (), "_fields": names, "_places": {n: i for i, n in enumerate(names)}}
    for place, name in reversed([*enumerate(names)]):
        # Also where a tuple has a method of that name: count, index.
        if (lower := name.lower()).isidentifier() and lower not in _OWN and name in (lower, name.upper()):
            members[lower] = property(itemgetter(place))
    return type("Row", (Row,), members)


_OWN = {name for name in dir(Row) if name.startswith("_")} | {"asdict"}


def _restored(names: tuple[str, ...], values: Sequence[Any]) -> Row:
    return row_type(names)(values)
