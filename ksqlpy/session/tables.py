"""A table as a mapping of its keys: rows are looked up, not copied."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, overload

from ksqlpy.errors import AnalysisProblem, ConfigProblem, shown
from ksqlpy.session.inbox import Opened
from ksqlpy.session.result import Result
from ksqlpy.session.rows import Column, Row
from ksqlpy.session.values import row_maker

__all__ = ["Asking", "Keyed", "Table", "described", "exact_name"]

_MILLISECOND = timedelta(milliseconds=1)
WAIT = "ksqlpy.pull.wait.ms"

Asking = Callable[[str, Mapping[str, object]], Opened]
"""Starts a query, with properties of its own."""


@dataclass(frozen=True)
class Keyed:
    """What a table is asked by: its name and its keys as SQL has them, and whether windows are a part of these."""

    name: str
    keys: tuple[str, ...]
    windowed: bool

    def lookup(self, key: object, start: object = None) -> str:
        """The query for a key; ``start``: where its window begins."""
        return f"SELECT * FROM {self.name} WHERE {self._equal(key, start)};"

    def range(self, key: object, start: object, end: object) -> str:
        """The query for the windows of a key that begin from ``start`` on and before ``end``."""
        bounds = [f" AND WINDOWSTART {o} {_millis(v)}" for o, v in ((">=", start), ("<", end)) if v is not None]
        return f"SELECT * FROM {self.name} WHERE {self._equal(key, None)}{''.join(bounds)};"

    def _equal(self, key: object, start: object) -> str:
        values = key if isinstance(key, tuple) and not hasattr(key, "_fields") else (key,)  # else it is a STRUCT
        if len(values) != len(self.keys):
            hint = f"give a tuple of {len(self.keys)}" if len(self.keys) > 1 else "give one value"
            said = f"the key of {self.name} is {', '.join(self.keys)}, not {shown(key)}"
            raise ConfigProblem("bad-key-value", said, hint=hint)
        texts = [f"{name} = {_literal(value)}" for name, value in zip(self.keys, values, strict=True)]
        return " AND ".join([*texts, *([f"WINDOWSTART = {_millis(start)}"] if start is not None else [])])

    def split(self, key: object) -> tuple[object, object]:
        """The key without its window, and where that begins; of a table without windows the key, and None."""
        if not self.windowed:
            return key, None
        if not isinstance(key, tuple) or len(key) != len(self.keys) + 1:
            said = f"the key of the windowed table {self.name} is {', '.join(self.keys)} and the start of a window"
            hint = "table[key, start] has the row of one window, table.range(key, start, end) those of several"
            raise ConfigProblem("bad-key-value", said, hint=hint)
        return key[:-1] if len(key) > 2 else key[0], key[-1]


class Table:
    """The rows of a table by their keys; with windows, by their keys and where their windows begin.

    A key of several columns is a tuple. What is read is what the table holds now: with ``wait`` at least the result of
    all that its inputs had when it was asked. All may be called from any thread, and raise KsqlError.
    """

    def __init__(self, keyed: Keyed, ask: Asking, scan: Callable[[str], Result]) -> None:
        self._keyed = keyed
        self._ask = ask
        self._scan = scan
        self._maker: tuple[Sequence[Column], Callable[[Sequence[Any]], Row]] = ((), row_maker(()))

    @property
    def name(self) -> str:
        """Its name."""
        return self._keyed.name

    def __getitem__(self, key: object) -> Row:
        """The row of a key; raises KeyError where there is none."""
        found = self._row(key, None)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return self._row(key, None) is not None

    @overload
    def get(self, key: object, default: None = None, *, wait: float | None = None) -> Row | None: ...
    @overload
    def get(self, key: object, default: Any, *, wait: float | None = None) -> Any: ...
    def get(self, key: object, default: Any = None, *, wait: float | None = None) -> Any:
        """The row of a key, or ``default`` where there is none.

        ``wait``: for how many seconds it waits, 600 at most, until the table reflects all records that its inputs have
        now: read your writes. Raises KsqlError ``inputs-ahead`` and ``copy-behind`` where it does not in that time.
        """
        found = self._row(key, wait)
        return default if found is None else found

    def range(
        self,
        key: object,
        start: datetime | int | None = None,
        end: datetime | int | None = None,
        *,
        wait: float | None = None,
    ) -> list[Row]:
        """The rows of a key whose windows begin from ``start`` on and before ``end``, in the order of the windows.

        Times are datetimes, or milliseconds as WINDOWSTART has them; None: no bound. ``wait``: see :meth:`get`.
        """
        if not self._keyed.windowed:
            hint = "table[key] has the row"
            raise ConfigProblem("bad-key-value", f"the table {self.name} has no windows", hint=hint)
        return self._rows(self._keyed.range(key, start, end), wait)

    def items(self) -> Generator[tuple[Any, Row], None, None]:
        """All keys with their rows, as they are found: the whole table is read."""
        with self._scan(f"SELECT * FROM {self.name};") as result:
            for row in result:
                yield self._key(row), row

    def keys(self) -> Iterator[Any]:
        """All keys, see :meth:`items`."""
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Row]:
        """All rows, see :meth:`items`."""
        return (row for _, row in self.items())

    def __iter__(self) -> Iterator[Any]:
        return self.keys()

    def __repr__(self) -> str:
        return f"<ksqlpy.Table {self.name} by {', '.join(self._keyed.keys)}>"

    def _key(self, row: Row) -> Any:
        # The columns of the key are the first ones, then come the bounds of the window.
        count = len(self._keyed.keys) + self._keyed.windowed
        return tuple(row[:count]) if count > 1 else row[0]

    def _row(self, key: object, wait: float | None) -> Row | None:
        plain, start = self._keyed.split(key)
        rows = self._rows(self._keyed.lookup(plain, start), wait)
        return rows[0] if rows else None

    def _rows(self, sql: str, wait: float | None) -> list[Row]:
        opened = self._ask(sql, {} if wait is None else {WAIT: int(wait * 1000)})
        try:
            columns, made = self._maker
            if columns is not opened.columns:
                made = row_maker(opened.columns)
                self._maker = opened.columns, made
            found: list[Row] = []
            while (taken := opened.take(None)) is not None:
                found += map(made, taken)
            return found
        finally:
            opened.close()


def exact_name(name: str) -> str:
    """A name of a program as SQL has it: as it is in backquotes, else in upper case. Raises AnalysisProblem."""
    match = re.fullmatch(r"`((?:[^`]|``)+)`|([A-Za-z_]\w*)", name)
    if match is None:
        hint = "write it in backquotes if it is not made of letters, digits and _"
        raise AnalysisProblem("unknown-source", f"{shown(name)} is no name of a stream or table", hint=hint)
    return _quoted(match[1].replace("``", "`") if match[1] is not None else match[2].upper())


def described(source: Mapping[str, Any]) -> Keyed:
    """What a table is asked by, of the ``sourceDescription`` that DESCRIBE answers; raises ConfigProblem."""
    if source.get("type") != "TABLE":
        said = f"{source['name']} is a {str(source.get('type')).lower()}, whose rows have no keys of their own"
        raise ConfigProblem("not-a-table", said, hint="read it by query()")
    keys = tuple(_quoted(f["name"]) for f in source["fields"] if f.get("type") == "KEY")
    return Keyed(_quoted(source["name"]), keys, source.get("windowType") is not None)


def _quoted(name: str) -> str:
    """A name in SQL, quoted where it must be: a lookup without quotes is answered at once."""
    from sqlglot import exp

    from ksqlpy.sql import to_sql

    return to_sql(exp.to_identifier(name, quoted=True))


def _literal(value: object) -> str:
    if type(value) is str:
        return "'" + value.replace("'", "''") + "'"
    if type(value) is int and 0 <= value < 2**31:
        return str(value)
    from ksqlpy.session.binding import bind

    return bind(":value", {"value": value}).text


def _millis(value: object) -> int:
    """A time as WINDOWSTART has it."""
    if isinstance(value, datetime):
        at = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return (at - datetime(1970, 1, 1, tzinfo=UTC)) // _MILLISECOND
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    hint = "give a datetime, or the milliseconds since 1970 as an int"
    raise ConfigProblem("bad-key-value", f"a window does not begin at {shown(value)}", hint=hint)
