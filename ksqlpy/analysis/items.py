"""The items of SELECT, and what ``*`` stands for.

Source of the rules: ksqlDB, SELECT: ``*`` gives the columns of all sources. After PARTITION BY it gives the new key
first and the old one behind the values, and of joined sources their pseudo columns, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.expressions import ExpressionAnalyzer
from ksqlpy.analysis.naming import bare, is_system, own_name
from ksqlpy.analysis.result import Relation
from ksqlpy.analysis.scope import Scope, Text
from ksqlpy.sql import nodes
from ksqlpy.types import BIGINT, StructType

__all__ = ["Item", "Star", "partition_nodes"]


@dataclass(frozen=True)
class Item:
    """An item of SELECT: its name if it has one by itself, the expression, and where it stands."""

    name: str | None
    expr: t.Expr
    node: exp.Expr
    aliased: bool = False
    pseudo: bool = False
    """Whether it may be called like a pseudo column: a key that `*` gives after PARTITION BY ROWTIME."""


def partition_nodes(query: nodes.Query) -> list[exp.Expr]:
    """What PARTITION BY lists; nothing for PARTITION BY NULL, which leaves rows without a key."""
    listed: list[exp.Expr] = query.args["partition"].expressions
    return [] if len(listed) == 1 and isinstance(bare(listed[0]), exp.Null) else listed


@dataclass(frozen=True)
class Star:
    """What ``*``, ``alias.*`` and ``expression->*`` stand for in a query.

    ``synthetic``: the key column of joined rows that no column of a source holds; ``partition``: what PARTITION BY
    lists; ``bounds``: whether the bounds of windows are columns also where nothing is joined.
    """

    query: nodes.Query
    scope: Scope
    expressions: ExpressionAnalyzer
    text: Text
    synthetic: t.ColumnRef | None
    partition: tuple[t.Expr, ...] | None
    bounds: bool

    def items(self, node: exp.Expr) -> list[Item] | None:
        """The items that it stands for; None if the node is none of these."""
        if isinstance(node, nodes.StructStar):
            value = self.expressions.analyze(node.this, place="in SELECT")
            if not isinstance(value.type, StructType):
                self.text.refuse("not-a-struct", f"->* needs a STRUCT, this is {value.type}", node.this)
            return [Item(n, t.FieldRef(f, value, n), node) for n, f in value.type.fields]
        relations = self.scope.relations
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            alias = node.args["table"].this
            wanted = [r for r in relations if r.alias == alias]
            if not wanted:
                self.text.refuse("unknown-alias", f"no source of this query is called {alias}", node)
            if self.partition is None or len(relations) > 1:
                return list(self._columns(wanted[0], node))
        elif not isinstance(node, exp.Star):
            return None
        if self.partition is not None:
            return self._partitioned(node, self.partition)
        key = [] if self.synthetic is None else [Item(self.synthetic.name, self.synthetic, node, aliased=True)]
        return [*key, *(i for r in relations for i in self._columns(r, node))]

    def _columns(self, r: Relation, node: exp.Expr) -> Iterator[Item]:
        """The columns of a source: the key first; of an inner query as it has them."""
        if r.view is not None:
            columns = [(c.name, r.ref(c)) for c in r.source.columns]
        else:
            columns = [(c.name, r.ref(c)) for c in r.source.keys]
            columns += self._bounds(r, always=self.bounds)
            columns += [(c.name, r.ref(c)) for c in (*r.source.values, *r.source.headers)]
        return self._named(r, columns, node)

    def _bounds(self, r: Relation, *, always: bool) -> list[tuple[str, t.ColumnRef]]:
        if r.source.window is None or not (r.joined or always):
            return []
        return [(n, t.ColumnRef(BIGINT, t.SYSTEM[n][0])) for n in ("WINDOWSTART", "WINDOWEND")]

    @staticmethod
    def _named(r: Relation, columns: list[tuple[str, t.ColumnRef]], node: exp.Expr) -> Iterator[Item]:
        return (Item(f"{r.alias}_{n}" if r.joined else n, ref, node, aliased=True) for n, ref in columns)

    def _partitioned(self, node: exp.Expr, partition: tuple[t.Expr, ...]) -> list[Item]:
        """After PARTITION BY: the new key, the other values, and the old key as values behind them."""
        own: list[Item] = []
        for r in self.scope.relations:
            columns = [(c.name, r.ref(c)) for c in (*r.source.values, *r.source.headers)]
            columns += self.scope.pseudo(r)
            columns += [(c.name, r.ref(c)) for c in r.source.keys]
            own += self._named(r, columns + self._bounds(r, always=False), node)
        if self.synthetic is not None:
            own.append(Item(self.synthetic.name, self.synthetic, node, aliased=True))
        known = [i.expr for i in own]
        keys = zip(partition, partition_nodes(self.query), strict=True)
        computed = [
            Item(own_name(written, self.scope.relations), expr, bare(written), pseudo=is_system(expr))
            for expr, written in keys
            if expr not in known
        ]
        return [
            *computed,
            *(i for k in partition for i in own if i.expr == k),
            *(i for i in own if i.expr not in partition),
        ]
