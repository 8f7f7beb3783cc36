"""The logical plan: what a query does, as a tree of frozen values, independent of Spark.

Rows flow from :class:`Scan` up to the :class:`Project` at the root; one in the midst stands for an inner query. Every
row has, beside its columns, the system columns of
``ksqlpy.analysis.typed.SYSTEM``; a row that cannot be read travels along as it is and leaves as a dead letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.result import JoinKind, Output, Relation, Window
from ksqlpy.catalog import SourceKind

__all__ = [
    "Aggregate",
    "Filter",
    "FlatMap",
    "Node",
    "Plan",
    "Project",
    "Scan",
    "TableChanges",
    "TableFilter",
    "TableJoin",
    "TablesJoin",
    "Union",
    "inputs_of",
    "nodes_of",
]


@dataclass(frozen=True)
class Scan:
    """Records of a source's topic, read by its formats."""

    relation: Relation


@dataclass(frozen=True)
class Filter:
    """WHERE on a stream: keeps the rows for which the predicate is true; records without a value never pass."""

    input: Node
    predicate: t.Expr


@dataclass(frozen=True)
class TableFilter:
    """WHERE on a table, or HAVING: a row that fails becomes a tombstone if its key's last row had passed.

    ``keys``: the expressions that identify a row (ksqlDB: first-time suppression of tombstones).
    """

    input: Node
    predicate: t.Expr
    keys: tuple[t.Expr, ...]


@dataclass(frozen=True)
class TableJoin:
    """A stream joined with tables: each row of ``input`` sees them as read so far; table rows only update them.

    All are joined by the same value of the row, ``left``, so that a chain of joins is one step; ``kinds`` has how each
    is joined.
    """

    input: Node
    tables: tuple[Scan, ...]
    kinds: tuple[Literal["INNER", "LEFT"], ...]
    left: t.Expr


@dataclass(frozen=True)
class TablesJoin:
    """Tables joined by their primary keys, from left to right: ``kinds`` has how each but the first is joined.

    All share one key, ``key``, so that a chain of joins is one step: each record updates its table's row of that key,
    and the new result of the key comes out, if there is one or there was one.
    """

    tables: tuple[Scan, ...]
    kinds: tuple[JoinKind, ...]
    key: t.ColumnRef


@dataclass(frozen=True)
class FlatMap:
    """Table functions: a row becomes as many as the longest has values; ``__u0``, ``__u1``, … hold the values."""

    input: Node
    calls: tuple[t.TableCall, ...]


@dataclass(frozen=True)
class TableChanges:
    """The rows of a table, each together with the row of its key that it replaces; ``keys`` is the primary key."""

    input: Node
    keys: tuple[t.Expr, ...]


@dataclass(frozen=True)
class Aggregate:
    """GROUP BY: every input row updates its group (and window) and the new result comes out at once.

    Over :class:`TableChanges` the replaced row goes out of its group, with a result of its own if that is another one.
    """

    input: Node
    keys: tuple[t.Expr, ...]
    aggregates: tuple[t.AggregateCall, ...]
    window: Window | None


@dataclass(frozen=True)
class Project:
    """The result's columns; of an inner query under the internal names by which the outer one speaks of them."""

    input: Node
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Union:
    """The rows of all branches, which have equal outputs and no state; a record is read by each branch of its topic."""

    branches: tuple[Project, ...]


Node = Scan | Filter | TableFilter | TableJoin | TablesJoin | FlatMap | TableChanges | Aggregate | Project | Union


@dataclass(frozen=True)
class Plan:
    """A query's tree and what follows from it. ``partitioned``: PARTITION BY makes the key of the result."""

    root: Project
    kind: SourceKind
    partitioned: bool = False

    @property
    def scans(self) -> tuple[Scan, ...]:
        """All inputs; the one whose rows come out is the first."""
        return tuple(n for n in nodes_of(self.root) if isinstance(n, Scan))

    @property
    def streams(self) -> tuple[Scan, ...]:
        """The inputs whose rows come out; one, if there is no union."""
        tables = [s for n in nodes_of(self.root) if isinstance(n, TableJoin) for s in n.tables]
        return tuple(s for s in self.scans if s not in tables)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of all inputs, in their order."""
        return tuple(dict.fromkeys(s.relation.source.topic for s in self.scans))

    @property
    def keeps_key(self) -> bool:
        """Whether the key of a stream's result is the whole key of its records, so that it may be missing."""
        keys = [o.expr for o in self.root.outputs if o.key]
        return self.kind == "STREAM" and not self.partitioned and _keeps(self.root.input, keys)

    @property
    def stateful(self) -> bool:
        """Whether anything is remembered between rows."""
        return any(isinstance(n, Aggregate | TableJoin | TablesJoin | TableFilter) for n in nodes_of(self.root))

    @property
    def retraced(self) -> bool:
        """Whether a row that comes again after a restart must see what it saw before.

        So where a state is made of it, and where it has several results, of which some may be there. Else whoever has
        a result is done with, and all others may see more.
        """
        return any(isinstance(n, Aggregate | TablesJoin | TableFilter | FlatMap) for n in nodes_of(self.root))

    @property
    def done_as_read(self) -> bool:
        """Whether a record whose result is there is done with: it changes no state, and has no other result."""
        return not self.retraced and not any(isinstance(n, Union) for n in nodes_of(self.root))

    @property
    def joined_by_key(self) -> bool:
        """Whether rows of one key of the result, and of one source partition, are joined one after the other.

        So a row without a result had no partner, or did not pass a filter, if a later one of its key has a result.
        """
        nodes = list(nodes_of(self.root))
        joins = [n for n in nodes if isinstance(n, TableJoin)]
        if self.retraced or not joins or any(isinstance(n, Union) for n in nodes):
            return False
        # What a step joins is equal, or null where a table has no row, and then nothing joins it further.
        equal = [o.expr for o in self.root.outputs if o.key]
        steps = [[n.left, *(s.relation.ref(s.relation.source.keys[0]) for s in n.tables)] for n in joins]
        for _ in joins:
            equal += [e for step in steps if any(e in equal for e in step) for e in step if e not in equal]
        return all(n.left in equal for n in joins)

    @property
    def seen_tables(self) -> int:
        """Of how many joined tables each result says what its row saw."""
        return sum(isinstance(n, TableJoin) for n in nodes_of(self.root)) if self.retraced else 0

    @property
    def changing_topics(self) -> tuple[str, ...]:
        """The topics whose records change a state that other rows meet: with joined tables alone, only theirs."""
        if self.retraced:
            return self.topics
        tables = (s for n in nodes_of(self.root) if isinstance(n, TableJoin) for s in n.tables)
        return tuple(dict.fromkeys(s.relation.source.topic for s in tables))

    @property
    def shows_headers(self) -> bool:
        """Whether columns hold headers of its records."""
        return any(s.relation.source.headers for s in self.scans)

    @property
    def windowed(self) -> bool:
        """Whether rows are aggregated in windows."""
        return any(isinstance(n, Aggregate) and n.window is not None for n in nodes_of(self.root))

    @property
    def late_topic(self) -> str | None:
        """The topic for records that come too late for a window, if they are kept."""
        windows = (n.window for n in nodes_of(self.root) if isinstance(n, Aggregate))
        return next((w.late_topic for w in windows if w is not None), None)

    @property
    def regroups_joined(self) -> bool:
        """Whether the rows of joined tables are grouped by something else than their key."""
        nodes = list(nodes_of(self.root))
        return any(isinstance(n, TablesJoin) for n in nodes) and any(isinstance(n, Aggregate) for n in nodes)

    @property
    def ordered_backlog(self) -> bool:
        """Whether the backlog must be read in event-time order: several inputs that meet in a state, or windows."""
        return (self.stateful and len(self.topics) > 1) or self.windowed


def _keeps(node: Node, keys: list[t.Expr]) -> bool:
    match node:
        case Scan(relation):
            own = {relation.ref(c) for c in relation.source.keys}
            return {k.value if isinstance(k, t.Cast) else k for k in keys} == own
        case Project(below, outputs):
            named = {o.name: o.expr for o in outputs}
            inside = [named[k.name] for k in keys if isinstance(k, t.ColumnRef)]
            return len(inside) == len(keys) and _keeps(below, inside)
        case Union(branches):
            return all(_keeps(b, keys) for b in branches)
        case Filter(below) | FlatMap(below):
            return _keeps(below, keys)
    return False


def inputs_of(node: Node) -> tuple[Node, ...]:
    """The nodes directly below."""
    if isinstance(node, Scan):
        return ()
    if isinstance(node, TableJoin):
        return (node.input, *node.tables)
    if isinstance(node, TablesJoin):
        return node.tables
    if isinstance(node, Union):
        return node.branches
    return (node.input,)


def nodes_of(node: Node) -> Iterator[Node]:
    """The node and all below, inputs first."""
    for below in inputs_of(node):
        yield from nodes_of(below)
    yield node
