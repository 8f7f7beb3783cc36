"""The rules of joins: which sources go together, what ON may say, and what names the key of the result.

Source of the rules: ksqlDB's pages of joins and of synthetic keys.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.expressions import ExpressionAnalyzer
from ksqlpy.analysis.result import JoinSpec, Output, Relation
from ksqlpy.analysis.scope import Scope, Text

__all__ = ["by_key", "check_sides", "check_topics", "free_name", "join_keys", "named_keys", "shared_key"]


def check_sides(node: exp.Expr, relations: Sequence[Relation], right: Relation, text: Text) -> None:
    """Refuses a join of sources that do not go together; ``relations``: those on the left, ``right``: the new one."""
    refuse, kind = text.refuse, relations[0].source.kind
    if any(r.alias == right.alias for r in relations):
        refuse("duplicate-alias", f"two sources of this query are called {right.alias}", node.this)
    if right.source.kind == "STREAM":
        if kind == "STREAM":
            refuse(
                "unsupported-clause",
                "a join of two streams is not run by this server",
                node.this,
                hint="a stream is joined with a table, without WITHIN",
            )
        refuse(
            "join-kinds",
            f"a table cannot be joined with a stream: {right.source.name} stands on the right",
            node.this,
            hint=f"swap the sides: FROM {right.source.name} JOIN {relations[0].source.name}",
        )
    if node.args.get("within") is not None:
        refuse(
            "within-of-table",
            f"WITHIN is for two streams, {right.source.name} is a table",
            node,
            hint="leave WITHIN out: a table is joined as it is at the moment",
        )
    side = node.args.get("side")
    if kind == "STREAM" and side in ("RIGHT", "FULL"):
        refuse(
            "join-kinds",
            f"a stream cannot be {side} joined with a table: rows of the table alone give no result",
            node.this,
            hint="INNER JOIN and LEFT JOIN join a stream with a table",
        )
    if len(right.source.keys) != 1:
        refuse("join-key", f"the primary key of {right.source.name} has several columns", node.this)


def check_topics(joins: Sequence[exp.Expr], relations: Sequence[Relation], text: Text) -> None:
    """Refuses sources that read one topic: a query reads each topic once. The last check, when all else is legal."""
    for node, i in zip(joins, range(1, len(relations)), strict=True):
        right, before = relations[i].source, [s for r in relations[:i] for s in r.sources]
        if any(s.name == right.name for s in before):
            text.refuse(
                "self-join",
                f"{right.name} occurs twice; a source can be joined once only",
                node.this,
                hint=f"make a copy of it first: CREATE {right.kind} … AS SELECT * FROM {right.name}",
            )
        clash = next((s for s in before if s.topic == right.topic), None)
        if clash is not None:
            text.refuse("same-topic", f"{right.name} and {clash.name} read the same topic {right.topic}", node.this)


def join_keys(node: exp.Expr, lefts: tuple[Relation, ...], right: Relation, text: Text) -> tuple[t.Expr, t.ColumnRef]:
    """Both sides of ON: an expression over the sources on the left, and the primary key of the table on the right."""
    on, refuse, first = node.args["on"], text.refuse, lefts[0]
    kind = first.source.kind
    while isinstance(on, exp.Paren):
        on = on.this
    if not isinstance(on, exp.EQ):
        refuse("join-condition", "ON takes one equality", on)
    scope = ExpressionAnalyzer(Scope((*lefts, right)), text)
    sides = [scope.analyze(s, place="in ON") for s in (on.this, on.expression)]
    at = [on.this, on.expression]
    own = [_belongs(s, right) for s in sides]
    if own == [True, False]:
        sides.reverse()
        at.reverse()
    elif own != [False, True]:
        refuse("join-condition", "ON compares the sources on the left with the table on the right", on)
    key = right.ref(right.source.keys[0])
    if sides[1] != key:
        refuse(
            "join-key",
            f"table {right.source.name} is joined by its primary key {right.alias}.{right.source.keys[0].name}",
            at[1],
        )
    if kind == "TABLE" and sides[0] not in [r.ref(c) for r in lefts for c in r.source.keys]:
        primary = first.ref(first.source.keys[0]).name
        refuse(
            "unsupported-clause",
            "a join of tables by a foreign key is not run by this server",
            at[0],
            hint=f"two tables are joined by the primary keys of both; the left one has {primary}",
        )
    if sides[0].type != key.type:
        refuse(
            "join-types",
            f"the sides of ON have the types {sides[0].type} and {key.type}",
            on,
            hint=f"CAST the left side AS {key.type}"
            if kind == "STREAM"
            else f"make {first.source.name} anew with a key of type {key.type}",
        )
    return sides[0], key


def _belongs(expr: t.Expr, relation: Relation) -> bool | None:
    """Whether the expression speaks of this relation only; None if of several, or of none."""
    names = {e.name for e in t.walk(expr) if isinstance(e, t.ColumnRef)}
    own = {relation.internal(c.name) for c in relation.source.columns}
    if not names or (names & own and names - own):
        return None
    return names <= own


def named_keys(joins: Sequence[JoinSpec]) -> tuple[t.Expr, ...]:
    """The columns that name the key of joined rows: both sides of ON, and what was equal to the left one before."""
    equal: tuple[t.Expr, ...] = ()
    for join in joins:
        if join.kind == "FULL":
            equal = ()
        else:
            sides = (join.left, join.right)
            known = (*equal, join.right) if join.left in equal else sides
            equal = tuple(e for e in known if isinstance(e, t.ColumnRef))
    return equal


def shared_key(joins: Sequence[JoinSpec], relations: Sequence[Relation]) -> t.ColumnRef | None:
    """The key of joined tables, under the first free name: ROWKEY, ROWKEY_1, … (ksqlDB, synthetic keys)."""
    if not joins or relations[0].source.kind != "TABLE":
        return None
    return t.ColumnRef(joins[0].right.type, free_name("ROWKEY", {c.name for r in relations for c in r.source.columns}))


def by_key(outputs: tuple[Output, ...], named: tuple[t.Expr, ...], key: t.ColumnRef) -> tuple[Output, ...]:
    """The outputs, of which the key is read from the row itself: that table may have no row of this key."""
    at = next((i for i, o in enumerate(outputs) if o.key), None)
    if at is None:
        at = next((i for i, o in enumerate(outputs) if o.expr in named), None)
    return tuple(replace(o, expr=key) if i == at else o for i, o in enumerate(outputs))


def free_name(name: str, taken: set[str]) -> str:
    """The name, or with the first number behind it that makes it new: B, B_1, B_2."""
    return next(n for i in itertools.count() if (n := f"{name}_{i}" if i else name) not in taken)
