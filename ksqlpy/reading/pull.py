"""How pull queries are answered: what is read in the server, and what is left to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.pull import PullRead, constant
from ksqlpy.catalog import Column
from ksqlpy.reading.calls import no_value
from ksqlpy.reading.conditions import condition_of
from ksqlpy.reading.records import Rows
from ksqlpy.reading.results import projection_of

__all__ = ["CONDITIONS", "columns_of", "used_by", "varies", "way_of"]

CONDITIONS = t.Compare, t.Logical, t.Not, t.IsNull, t.Between, t.InList, t.Like
_VARYING = {"UUID", "RANDOM", "UNIX_TIMESTAMP", "UNIX_DATE"}


def used_by(read: PullRead) -> set[str]:
    """The internal names of the columns that a pull query needs; those of WHERE too, if it says more than keys."""
    typed = read.typed
    exprs = [o.expr for o in typed.outputs] + [k.expr for k in typed.order] + [*typed.tables]
    exprs += [typed.where] if typed.where is not None and not read.exact else []
    return {e.name for x in exprs for e in t.walk(x) if isinstance(e, t.ColumnRef)}


def columns_of(read: PullRead) -> tuple[Column, ...]:
    """The columns of the result; those that tell its rows apart are its key."""
    return tuple(Column(o.name, o.expr.type, key) for o, key in zip(read.typed.outputs, read.keyed, strict=True))


def way_of(read: PullRead) -> str:
    """How a pull query is answered and why, for people: a line on what is read, and one on how rows are made of it."""
    source, typed = read.source, read.typed
    if read.access == "HISTORY":
        names = " and ".join(s.name for s in typed.sources)
        return f"Run over the topics of {names}: {read.why}\nrows: by Spark"
    name = {"LOOKUP": "Lookup in", "RANGE": "Range scan of", "SCAN": "Scan of", "STREAM": "Read of"}[read.access]
    formats = f"key {source.key.format}, value {source.value.format}"
    where = f"topic {source.topic}" if source.kind == "STREAM" else f"local copy of topic {source.topic}"
    lines = [f"{name} {source.name} [{where}, {formats}]: {read.why}"]
    left = None
    if typed.order:
        left = "ORDER BY"
    elif projection_of(typed.outputs, no_value) is None:
        left = ", ".join(o.name for o in typed.outputs if projection_of([o], no_value) is None)
    elif typed.where is not None and not read.exact and condition_of(typed.where, _Any(), no_value) is None:
        left = "WHERE"
    elif not Rows(typed.relations[0], used_by(read)).readable:
        left = "the event time"
    lines.append("rows: in the server" if left is None else f"rows: by Spark, which computes {left}")
    return "\n".join(lines)


class _Any(Mapping[t.Expr, Any]):
    """Knows each constant, whatever it is: for who only asks whether a condition is plain."""

    def __contains__(self, expr: object) -> bool:
        return isinstance(expr, t.Expr) and not isinstance(expr, CONDITIONS) and constant(expr) and not varies(expr)

    def __getitem__(self, expr: t.Expr) -> Any:
        return None

    def __iter__(self) -> Iterator[t.Expr]:
        return iter(())

    def __len__(self) -> int:
        return 0


def varies(expr: t.Expr) -> bool:
    """Whether the expression may have another value each time."""
    return any(isinstance(e, t.FunctionCall) and e.call.function.name in _VARYING for e in t.walk(expr))
