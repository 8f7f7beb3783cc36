"""Typed expressions: what analysis makes of the syntax tree. Immutable values; equal expressions compare equal.

A column is named by its internal name: the column's own name with one source, ``ALIAS.COLUMN`` in a join. Names that
begin with two underscores are the system columns of a row (see :data:`SYSTEM`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any

from ksqlpy.functions import Call as Resolved
from ksqlpy.types import BIGINT, INTEGER, SqlType

__all__ = [
    "BOUNDS",
    "ROWTIME",
    "SYSTEM",
    "TIMES",
    "AggregateCall",
    "Arithmetic",
    "ArrayOf",
    "Between",
    "Case",
    "Cast",
    "ColumnRef",
    "Compare",
    "Expr",
    "FieldRef",
    "FunctionCall",
    "InList",
    "Index",
    "IsNull",
    "Lambda",
    "LambdaRef",
    "Like",
    "Literal",
    "Logical",
    "MapOf",
    "Negate",
    "Not",
    "OverCall",
    "SortKey",
    "StructOf",
    "TableCall",
    "computed",
    "rewrite",
    "system",
    "walk",
]

SYSTEM: dict[str, tuple[str, SqlType]] = {
    "ROWTIME": ("__ts", BIGINT),
    "ROWPARTITION": ("__partition", INTEGER),
    "ROWOFFSET": ("__offset", BIGINT),
    "WINDOWSTART": ("__ws", BIGINT),
    "WINDOWEND": ("__we", BIGINT),
}
"""Pseudo columns: their internal names and types (ksqlDB, data definition: pseudo columns)."""


BOUNDS = frozenset(SYSTEM[n][0] for n in ("WINDOWSTART", "WINDOWEND"))
"""Internal names of the bounds of a window."""

TIMES = BOUNDS | {SYSTEM["ROWTIME"][0]}
"""Internal names of the pseudo columns that hold a time, in ms."""


_OF_RECORDS = {internal for internal, _ in SYSTEM.values()}


def computed(name: str) -> bool:
    """Whether the column of this internal name is made by the query, as of a table function: no record has it."""
    return name.startswith("__") and name not in _OF_RECORDS


def system(name: str) -> ColumnRef:
    """A typed reference to a pseudo column, by the name that users write."""
    internal, kind = SYSTEM[name]
    return ColumnRef(kind, internal)


@dataclass(frozen=True)
class Expr:
    """Base: every expression has a ``type``."""

    type: SqlType


@dataclass(frozen=True)
class ColumnRef(Expr):
    """A column of the input row, by its internal name."""

    name: str


@dataclass(frozen=True)
class Literal(Expr):
    """A constant; None is a NULL of the given type."""

    value: bool | int | float | Decimal | str | bytes | None


@dataclass(frozen=True)
class FunctionCall(Expr):
    """A scalar function with its arguments already brought to the parameter types."""

    call: Resolved
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class AggregateCall(Expr):
    """An aggregate function over the rows of the group; ``limit``: how many values it keeps, None for all."""

    call: Resolved
    arguments: tuple[Expr, ...]
    limit: int | None = None


@dataclass(frozen=True)
class TableCall(Expr):
    """A table function: one value for each row that it makes."""

    call: Resolved
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class SortKey:
    """An item of ORDER BY."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class OverCall(Expr):
    """``function(…) OVER (PARTITION BY partition ORDER BY order)``, of a row among those of equal ``partition``.

    LAG and LEAD: ``value`` of the row so many rows (``offset``) ahead of it or behind it, in the order in which rows
    arrive; ``default`` where there is none. ROW_NUMBER: the rank of the row, from 1.
    """

    function: str
    partition: tuple[Expr, ...]
    order: tuple[SortKey, ...] = ()
    value: Expr | None = None
    offset: int = 1
    default: Expr | None = None


@dataclass(frozen=True)
class Cast(Expr):
    """``CAST(value AS type)``, written or implied."""

    value: Expr


@dataclass(frozen=True)
class Arithmetic(Expr):
    """``left op right`` for op in ``+ - * / %``; both sides have the types that the operation works on."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Negate(Expr):
    """``-value``."""

    value: Expr


@dataclass(frozen=True)
class Compare(Expr):
    """``left op right`` for op in ``= <> < <= > >=`` (false if a side is null) and ``IS [NOT] DISTINCT FROM``."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Logical(Expr):
    """``AND`` or ``OR``."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Not(Expr):
    """``NOT value``."""

    value: Expr


@dataclass(frozen=True)
class IsNull(Expr):
    """``value IS NULL``."""

    value: Expr


@dataclass(frozen=True)
class Between(Expr):
    """``value BETWEEN low AND high``; false if any is null."""

    value: Expr
    low: Expr
    high: Expr


@dataclass(frozen=True)
class InList(Expr):
    """``value IN (…)``; null elements never match, a null value is in no list."""

    value: Expr
    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Like(Expr):
    """``value LIKE pattern [ESCAPE escape]``."""

    value: Expr
    pattern: Expr
    escape: str | None


@dataclass(frozen=True)
class Case(Expr):
    """Searched CASE; ``default`` is a NULL literal where ELSE is not written."""

    whens: tuple[tuple[Expr, Expr], ...]
    default: Expr


@dataclass(frozen=True)
class FieldRef(Expr):
    """``value->name``."""

    value: Expr
    name: str


@dataclass(frozen=True)
class Index(Expr):
    """``value[index]`` of an array (from 1, negative from the end) or a map."""

    value: Expr
    index: Expr


@dataclass(frozen=True)
class ArrayOf(Expr):
    """``ARRAY[…]``."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class MapOf(Expr):
    """``MAP(k := v, …)``."""

    entries: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True)
class StructOf(Expr):
    """``STRUCT(name := value, …)``."""

    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True)
class Lambda(Expr):
    """A lambda as an argument; its type is that of the body. ``parameters``: their internal names."""

    parameters: tuple[str, ...]
    body: Expr


@dataclass(frozen=True)
class LambdaRef(Expr):
    """A parameter of an enclosing lambda, by its internal name, or a part of one (``name.key``)."""

    name: str


def _children(value: object) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _children(item)


def children(expr: Expr) -> Iterator[Expr]:
    """What the expression is made of directly."""
    for f in fields(expr):
        yield from _children(getattr(expr, f.name))


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all below it, parents first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """A copy in which ``change`` replaced nodes, parents first; None means: keep, and go on below."""
    changed = change(expr)
    if changed is not None:
        return changed

    def inside(value: Any) -> Any:
        if isinstance(value, Expr):
            return rewrite(value, change)
        if isinstance(value, tuple):
            return tuple(inside(v) for v in value)
        return value

    new = {f.name: inside(getattr(expr, f.name)) for f in fields(expr) if f.name not in ("type", "call")}
    return replace(expr, **new) if new else expr


ROWTIME = system("ROWTIME")
