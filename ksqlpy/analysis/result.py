"""What the analysis of a SELECT gives: a typed query and its parts. Immutable values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ksqlpy.analysis import typed as t
from ksqlpy.catalog import Column, Source, SourceKind, WindowKey
from ksqlpy.types import BIGINT

__all__ = ["RANK", "Grouping", "JoinKind", "JoinSpec", "Output", "Ranking", "Relation", "TypedQuery", "View", "Window"]


@dataclass(frozen=True)
class Output:
    """One column of the result; ``header``: it is written as the headers of the record, not as a column."""

    name: str
    expr: t.Expr
    key: bool = False
    header: bool = False


@dataclass(frozen=True)
class View:
    """A query in FROM, or what WITH names: one query, or the branches of a UNION ALL.

    ``source``: what can be asked of it, as of a source; its topic is that of the left-most source. All ``queries``
    have outputs of the same names and types, in the order of the source's columns. ``unkeyed``: why its rows have no
    key, where those that it reads have one.
    """

    source: Source
    queries: tuple[TypedQuery, ...]
    unkeyed: str | None = None


@dataclass(frozen=True)
class Relation:
    """A source in FROM or JOIN, under its alias; ``view``: the query that stands there instead of a source."""

    source: Source
    alias: str
    joined: bool
    """Whether the query has several sources, so that internal names carry the alias."""
    view: View | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the catalog that are read for it."""
        if self.view is None:
            return (self.source,)
        return tuple(dict.fromkeys(s for q in self.view.queries for s in q.sources))

    def internal(self, column: str) -> str:
        """The internal name of a column: of no other column of the query, and of none of ours, which begin with __."""
        if not self.joined and not column.startswith("__") and ".__" not in column:
            return column
        alias = self.alias
        if "." in alias or "`" in alias or alias.startswith("__"):
            alias = "`" + alias.replace("`", "``") + "`"
        return f"{alias}.{column}"

    def ref(self, column: Column) -> t.ColumnRef:
        """A typed reference to a column."""
        return t.ColumnRef(column.type, self.internal(column.name))


JoinKind = Literal["INNER", "LEFT", "RIGHT", "FULL"]


@dataclass(frozen=True)
class JoinSpec:
    """A join: ``left`` over the rows so far, ``right`` over the new source; of a table it is the primary key.

    ``within``: of two streams, how many ms the right row may be earlier and later than the left one; ``grace``: ms, or
    None without GRACE PERIOD; ``key``: the column of the value of ON in the joined rows of two streams. ``foreign``:
    the rows of the left table stay what they are, and are joined by something else than the key of a join before.
    """

    relation: Relation
    kind: JoinKind
    left: t.Expr
    right: t.Expr
    within: tuple[int, int] | None = None
    grace: int | None = None
    key: t.ColumnRef | None = None
    foreign: bool = False


@dataclass(frozen=True)
class Window:
    """TUMBLING, HOPPING or SESSION; all lengths in ms. A row is too late when window end + grace ≤ stream time.

    Of SESSION ``size`` and ``advance`` are the gap: rows up to so many ms apart are in one. The end of a session is
    the time of its last row, so that it is too late when end + gap + grace < stream time.

    ``late_topic``: where records go that are too late; without it, and of sessions, they are only counted.
    """

    kind: str
    size: int
    advance: int
    grace: int
    retention: int | None
    late_topic: str | None = None


@dataclass(frozen=True)
class Grouping:
    """GROUP BY with its aggregates; ``having`` is over ``__k…`` and ``__a…``.

    ``final``: EMIT FINAL, one result of each window; ``idle_ms``: after how many ms without a record windows are closed
    by the clock, None never.
    """

    keys: tuple[t.Expr, ...]
    aggregates: tuple[t.AggregateCall, ...]
    window: Window | None
    having: t.Expr | None
    final: bool = False
    idle_ms: int | None = None
    forgetful: bool = False


RANK = t.ColumnRef(BIGINT, "__o0")
"""The rank of a row, from 1."""


@dataclass(frozen=True)
class Ranking:
    """ROW_NUMBER: the first ``limit`` rows of each group of equal ``partition``, as ``order`` sorts them.

    The rank is :data:`RANK`. ``limit`` is None until the query around it is known, which has it in WHERE.
    """

    partition: tuple[t.Expr, ...]
    order: tuple[t.SortKey, ...]
    limit: int | None = None


@dataclass(frozen=True)
class TypedQuery:
    """A SELECT that is legal. ``kind`` says whether its result is a stream or a table.

    ``tables``: the table functions; outputs speak of their values as ``__u0``, ``__u1``, …. ``over``: calls of LAG and
    LEAD, whose values are ``__o0``, ``__o1``, …; ``ranking``: ROW_NUMBER instead of them. ``order``: ORDER BY of a
    pull query. ``strict_time``: a record without a valid event time ends the query with an error. ``keys``: what
    identifies a row of the result, in the order of its key columns. ``join_key``: the column of joined rows that holds
    their key, where that may be missing in the sources: of tables the key that all of them share, of streams the value
    of ON.
    """

    relations: tuple[Relation, ...]
    joins: tuple[JoinSpec, ...]
    where: t.Expr | None
    tables: tuple[t.TableCall, ...]
    grouping: Grouping | None
    partition_by: tuple[t.Expr, ...] | None
    outputs: tuple[Output, ...]
    kind: SourceKind
    limit: int | None
    keys: tuple[t.Expr, ...]
    join_key: t.ColumnRef | None = None
    over: tuple[t.OverCall, ...] = ()
    ranking: Ranking | None = None
    order: tuple[t.SortKey, ...] = ()
    strict_time: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """The result's columns, keys first."""
        keys = sorted((o for o in self.outputs if o.key), key=lambda o: self.keys.index(o.expr))
        ordered = [*keys, *(o for o in self.outputs if not o.key and not o.header)]
        return tuple(Column(o.name, o.expr.type, o.key) for o in ordered)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the catalog that it reads, also in queries inside it; the left-most first."""
        return tuple(dict.fromkeys(s for r in self.relations for s in r.sources))

    @property
    def window(self) -> WindowKey | None:
        """The window that is part of the result's key."""
        if self.grouping is not None:
            window = self.grouping.window
            if window is None:
                return None
            return WindowKey(window.kind, None if window.kind == "SESSION" else window.size)
        return self.relations[0].source.window
