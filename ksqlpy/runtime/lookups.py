"""Lookups that come again and again, each with another key: their statement is analysed once.

Statements that differ in their constants only have one shape. The shape is analysed with constants of our own; where
all of these come back as values of key columns, other constants can take their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.pull import PullRead
from ksqlpy.catalog import Catalog, Column, Source
from ksqlpy.errors import KsqlError
from ksqlpy.formats import Unreadable
from ksqlpy.reading import Rows, folded, projection_of
from ksqlpy.reading.pull import columns_of
from ksqlpy.registry import SchemaRegistry
from ksqlpy.runtime.audited import looked_up
from ksqlpy.runtime.pulllimits import PullLimits
from ksqlpy.tables import Copy
from ksqlpy.types import ALL_DIGITS, BIGINT, DOUBLE, INTEGER, STRING, DecimalType, SqlType
from ksqlpy.udfs.definition import Definition

__all__ = ["Lookup", "Lookups"]

_CONSTANT = re.compile(r"'((?:[^']|'')*)'|(?<![\w.$])(\d{1,9})(?![\w.])")
_ODD = re.compile(r'[`"{}]|--|/\*')
"""Where a digit or a quote may be something else than a constant."""
_FIRST_NUMBER = 734_000_000
_NUMBER, _TEXT = "\0", "\1"
"""What stands for constants in a shape; in no statement that is right."""
LONGEST = 2000
"""Characters of a statement that is looked at; it is, where nothing may take long."""
MOST = 500
"""Shapes that are kept."""

Value = str | int


@dataclass(frozen=True)
class Lookup:
    """A shape: how the rows of its keys are found and made. ``keys``: of each key, the value of each column.

    ``functions``: those in Python that were there.
    """

    source: Source
    functions: Mapping[str, Definition]
    columns: tuple[Column, ...]
    keys: tuple[tuple[Callable[[Sequence[Value]], Any], ...], ...]
    rows: Rows
    project: Callable[[Mapping[str, Any]], list[Any]]

    def holds_in(self, catalog: Catalog) -> bool:
        """Whether the shape still means that."""
        return catalog.functions is self.functions and catalog.sources.get(self.source.name) is self.source

    def answer(self, copy: Copy, values: Sequence[Value]) -> list[list[Any]]:
        """The rows of the keys with these constants."""
        found: list[list[Any]] = []
        seen: set[bytes] = set()
        for wanted in self.keys:
            key = copy.key([value(values) for value in wanted])
            if key is None or key in seen:
                continue
            seen.add(key)
            for record in copy.of_key(key):
                try:
                    row = self.rows.row(record)
                except Unreadable:
                    continue  # as in every pull query
                if row is not None:
                    found.append(self.project(row))
        return found


class Lookups:
    """The shapes that are known."""

    def __init__(self, registry: SchemaRegistry | None, limits: PullLimits) -> None:
        self._registry = registry
        self._limits = limits
        self._known: dict[object, Lookup | Catalog] = {}

    def answer(
        self,
        sql: str,
        catalog: Catalog,
        properties: Mapping[str, object],
        analyze: Callable[[str], tuple[PullRead, set[str]]],
        copy_of: Callable[[Source], Copy | None],
    ) -> tuple[tuple[Column, ...], list[list[Any]]] | None:
        """Columns and rows of a lookup whose shape is known, in a table that is copied; None for everything else.

        It waits for nothing but the local disk. ``analyze``: see :meth:`find`; ``copy_of``: the copy of a table, None
        while there is none. Raises KsqlError. The audit log hears of it.
        """
        more = repr(sorted(properties.items())) if properties else ""  # values may be lists and objects
        found = self.find(sql, catalog, more, analyze)
        if found is None:
            return None
        lookup, values = found
        try:
            copy = copy_of(lookup.source)
            if copy is None:
                return None
            rows = self._rows(lookup, copy, values)
        except KsqlError as e:
            looked_up(sql, lookup.source, e)
            raise
        looked_up(sql, lookup.source)
        return lookup.columns, rows

    def _rows(self, lookup: Lookup, copy: Copy, values: Sequence[Value]) -> list[list[Any]]:
        self._limits.enter()
        try:
            return lookup.answer(copy, values)
        finally:
            self._limits.leave()

    def find(
        self, sql: str, catalog: Catalog, more: object, analyze: Callable[[str], tuple[PullRead, set[str]]]
    ) -> tuple[Lookup, list[Value]] | None:
        """The shape of a statement and its constants; None where it is not a lookup of that kind.

        ``more``: what else the meaning of a statement depends on. ``analyze``: a statement as a pull query, and the
        columns that it needs; it raises KsqlError.
        """
        values: list[Value] = []

        def take(match: re.Match[str]) -> str:
            text, number = match.groups()
            values.append(int(number) if number is not None else text.replace("''", "'"))
            return _NUMBER if number is not None else _TEXT

        if len(sql) > LONGEST or _NUMBER in sql or _TEXT in sql:
            return None
        shape = (_CONSTANT.sub(take, sql), more)
        known = self._known.get(shape)
        if isinstance(known, Lookup) and known.holds_in(catalog):
            return known, values
        if known is catalog or not values:
            return None  # as it was when it was looked at
        made = None if _ODD.search(shape[0]) else self._made(sql, len(values), catalog, analyze)
        if len(self._known) >= MOST:
            self._known = {}
        self._known[shape] = made if made is not None else catalog
        return None if made is None else (made, values)

    def _made(
        self, sql: str, count: int, catalog: Catalog, analyze: Callable[[str], tuple[PullRead, set[str]]]
    ) -> Lookup | None:
        numbered = iter(range(count))

        def put(match: re.Match[str]) -> str:
            number = next(numbered)
            return str(_FIRST_NUMBER + number) if match[2] is not None else f"'ksqlpy:{number}:'"

        try:
            read, used = analyze(_CONSTANT.sub(put, sql))
        except KsqlError:
            return None  # which is said when it is answered as every other
        typed = read.typed
        if read.access != "LOOKUP" or not read.exact or typed.order or typed.limit is not None:
            return None
        rows, project = Rows(typed.relations[0], used, self._registry), projection_of(typed.outputs)
        if project is None or not rows.readable:
            return None
        places: list[int] = []
        keys = []
        for wanted in read.keys:
            found = [_place(e) for e in wanted]
            if None in found:
                return None
            numbers = [n for n in found if n is not None]
            places += numbers
            keys.append(tuple(_taken(n, e.type) for n, e in zip(numbers, wanted, strict=True)))
        if sorted(places) != list(range(count)) or not all(_possible(e.type) for k in read.keys for e in k):
            return None
        return Lookup(read.source, catalog.functions, columns_of(read), tuple(keys), rows, project)


def _place(expr: t.Expr) -> int | None:
    """Which of our constants the value is."""
    found = folded(expr)
    if found is None:
        return None
    [value] = found
    if isinstance(value, str):
        match = re.fullmatch(r"ksqlpy:(\d+):", value)
        return None if match is None else int(match[1])
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = int(value) - _FIRST_NUMBER
    return number if number >= 0 and value == int(value) else None


def _possible(type_: SqlType) -> bool:
    return type_ in (STRING, INTEGER, BIGINT, DOUBLE) or (isinstance(type_, DecimalType) and type_.precision >= 9)


def _taken(number: int, type_: SqlType) -> Callable[[Sequence[Value]], Any]:
    if type_ == DOUBLE:
        return lambda values: float(values[number])
    if isinstance(type_, DecimalType):
        unit = Decimal(1).scaleb(-type_.scale)
        return lambda values: Decimal(values[number]).quantize(unit, context=ALL_DIGITS)
    return lambda values: values[number]
