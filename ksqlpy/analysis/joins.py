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
from ksqlpy.analysis.scope import PSEUDO, Scope, Text
from ksqlpy.analysis.windows import checked_length
from ksqlpy.catalog import WindowKey
from ksqlpy.types import SqlType, holds_map

__all__ = [
    "by_key",
    "carried",
    "check_sides",
    "check_topics",
    "free_name",
    "join_keys",
    "named_keys",
    "names_of",
    "row_key",
    "shared_key",
    "stream_key",
    "unnamed_key",
]


def check_sides(node: exp.Expr, relations: Sequence[Relation], right: Relation, text: Text) -> None:
    """Refuses a join of sources that do not go together; ``relations``: those on the left, ``right``: the new one."""
    refuse, kind = text.refuse, relations[0].source.kind
    if any(r.alias == right.alias for r in relations):
        refuse("duplicate-alias", f"two sources of this query are called {right.alias}", node.this)
    _check_windows(node, relations[0], right, text)
    if right.source.kind == "STREAM":
        if kind == "STREAM":
            if node.args.get("within") is None:
                refuse(
                    "no-within",
                    f"a join of two streams needs WITHIN: how far apart in time rows of {right.alias} may be",
                    node.this,
                    hint=f"write JOIN {right.source.name} WITHIN 1 HOUR ON …",
                )
            return
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


def _check_windows(node: exp.Expr, left: Relation, right: Relation, text: Text) -> None:
    """Both streams, or both tables, have equal windows, or neither has any."""
    windows = (left.source.window, right.source.window)
    if windows == (None, None):
        return
    tables = [r.source.kind == "TABLE" for r in (left, right)]
    if any(tables) and (None in windows or not all(tables)):
        windowed = next(r.source for r in (left, right) if r.source.window is not None)
        keys = ", ".join(c.name for c in windowed.keys)
        text.refuse(
            "windowed-source",
            f"{windowed.name} has a windowed key and cannot be joined with a table without windows"
            if all(tables)
            else f"{windowed.name} has a windowed key: a stream and a table are joined without windows only",
            node.this,
            hint=f"make its windows columns of a key first: CREATE TABLE … AS SELECT {keys}, WINDOWSTART AS w, …"
            f" GROUP BY {keys}, WINDOWSTART"
            if windowed.kind == "TABLE"
            else "join streams or tables without windows, and group the result in windows",
        )
    sessions = [w is not None and w.size is None for w in windows]
    # Streams are joined by the starts of their windows, as in ksqlDB; rows of a table stand for the whole window.
    sizes = [w.size for w in windows if w is not None]
    if None in windows or sessions[0] != sessions[1] or (all(tables) and sizes[0] != sizes[1]):
        shown = [f"{r.source.name} has {_windows(r.source.window)}" for r in (left, right)]
        text.refuse(
            "windowed-source",
            f"{'tables' if all(tables) else 'streams'} are joined by equal windows, too: {shown[0]}, {shown[1]}",
            node.this,
            hint="both have SESSION windows, or both have TUMBLING or HOPPING ones"
            + (" of one size" if all(tables) else "")
            + ", or neither has any",
        )


def _windows(window: WindowKey | None) -> str:
    if window is None:
        return "no windows"
    return f"{window.kind} windows" + ("" if window.size is None else f" of {window.size} ms")


def check_topics(joins: Sequence[exp.Expr], relations: Sequence[Relation], text: Text) -> None:
    """Refuses a table that occurs twice, or shares its topic. The last check, when all else is legal.

    A stream may be joined with itself, under two names, or with one table several times; that is this project's own
    (ksqlDB wants copies of them).
    """
    kinds = [r.source.kind for r in relations]
    roles = kinds[0] == "STREAM" and "STREAM" not in kinds[1:] and relations[0].view is None
    for node, i in zip(joins, range(1, len(relations)), strict=True):
        right, before = relations[i].source, [s for r in relations[:i] for s in r.sources]
        clashes = [s for s in before if s.topic == right.topic and "TABLE" in (s.kind, right.kind)]
        if roles and all(s.kind == right.kind for s in clashes):
            continue
        if any(s.name == right.name for s in clashes):
            text.refuse(
                "self-join",
                f"{right.name} occurs twice; a table can be joined with one stream several times, else once only",
                node.this,
                hint=f"make a copy of it first: CREATE {right.kind} … AS SELECT * FROM {right.name}",
            )
        if clashes:
            name = clashes[0].name
            text.refuse("same-topic", f"{right.name} and {name} read the same topic {right.topic}", node.this)


def join_keys(
    node: exp.Expr, lefts: tuple[Relation, ...], joins: Sequence[JoinSpec], right: Relation, text: Text
) -> JoinSpec:
    """What a join is, by the sides of ON: an expression over the sources on the left, and one over the new source.

    Of a table on the right that is its primary key. ``joins``: those before, one for each source but the first.
    """
    on, refuse, first = node.args["on"], text.refuse, lefts[0]
    kind = first.source.kind
    while isinstance(on, exp.Paren):
        on = on.this
    if not isinstance(on, exp.EQ):
        refuse("join-condition", "ON takes one equality", on, hint="other conditions stand in WHERE")
    near = right.source.kind == "STREAM" or any(j.within is not None for j in joins)
    scope = ExpressionAnalyzer(Scope((*lefts, right), window=first.source.window is not None, near=near), text)
    sides = [scope.analyze(s, place="in ON") for s in (on.this, on.expression)]
    at = [on.this, on.expression]
    own = [_belongs(s, right) for s in sides]
    if own == [True, False]:
        sides.reverse()
        at.reverse()
    elif own != [False, True]:
        what = f"the {right.source.kind.lower()} on the right"
        refuse("join-condition", f"ON compares the sources on the left with {what}", on)
    _check_unmoved(sides, at, lefts, right, text)
    spec = JoinSpec(right, node.args.get("side") or "INNER", sides[0], sides[1])
    if right.source.kind == "STREAM":
        if holds_map(sides[0].type):
            refuse("join-types", f"values of type {sides[0].type} are not compared in ON: a MAP has no order", on)
        spec = replace(spec, within=_within(node, text), grace=_grace(node, text))
    else:
        key = right.ref(right.source.keys[0])
        if sides[1] != key:
            refuse(
                "join-key",
                f"table {right.source.name} is joined by its primary key {right.alias}.{right.source.keys[0].name}",
                at[1],
            )
        if kind == "TABLE":
            spec = _of_tables(spec, first, joins, at[0], node, text)
    if sides[0].type != sides[1].type:
        refuse(
            "join-types",
            f"the sides of ON have the types {sides[0].type} and {sides[1].type}",
            on,
            hint=f"CAST the left side AS {sides[1].type}"
            if kind == "STREAM" or spec.foreign
            else f"recreate {first.source.name} with a key of type {sides[1].type}",
        )
    return spec


def _check_unmoved(
    sides: Sequence[t.Expr], at: Sequence[exp.Expr], lefts: Sequence[Relation], right: Relation, text: Text
) -> None:
    """Rows of windowed sources stay where they lie: the sides of ON are their keys."""
    if right.source.window is None:
        return
    for side, place, relations in ((sides[0], at[0], lefts), (sides[1], at[1], (right,))):
        if side not in [r.ref(r.source.keys[0]) for r in relations if len(r.source.keys) == 1]:
            text.refuse(
                "windowed-source",
                f"{right.source.kind.lower()}s with windowed keys are joined by these keys only",
                place,
                hint=f"{right.alias} has the key {', '.join(c.name for c in right.source.keys)}",
            )


def _within(node: exp.Expr, text: Text) -> tuple[int, int]:
    within = node.args["within"]
    return checked_length(within[0], text), checked_length(within[-1], text)


def _grace(node: exp.Expr, text: Text) -> int | None:
    grace = node.args.get("grace")
    return None if grace is None else checked_length(grace, text)


def _of_tables(
    spec: JoinSpec, first: Relation, joins: Sequence[JoinSpec], at: exp.Expr, node: exp.Expr, text: Text
) -> JoinSpec:
    """The join of two tables by the primary keys of both, or by a foreign key, which comes first only."""
    shared: list[t.Expr] = [first.ref(c) for c in first.source.keys] if len(first.source.keys) == 1 else []
    for join in joins:
        if not join.foreign or join.left in shared:
            shared.append(join.right)
    foreign = spec.left not in shared
    if foreign and joins:
        names = ", ".join(e.name for e in shared if isinstance(e, t.ColumnRef))
        text.refuse(
            "foreign-key",
            "a join by a foreign key is the first join of its query",
            at,
            hint=(f"further tables are joined by the key of the result, {names}; or " if names else "")
            + "make a table of the first join, and join that: CREATE TABLE … AS SELECT …",
        )
    if not foreign and not any(j.foreign for j in joins):
        return spec
    if spec.kind in ("RIGHT", "FULL"):
        text.refuse(
            "foreign-key",
            f"there is no {spec.kind} JOIN by a foreign key: its rows have the key of the left table, and those of"
            f" {spec.relation.source.name} alone have none"
            if foreign
            else f"there is no {spec.kind} JOIN behind a join by a foreign key",
            node,
            hint="INNER JOIN and LEFT JOIN join by a foreign key"
            if foreign
            else "make a table of the first join, and join that: CREATE TABLE … AS SELECT …",
        )
    return replace(spec, foreign=True)


def _belongs(expr: t.Expr, relation: Relation) -> bool | None:
    """Whether the expression speaks of this relation only; None if of several, or of none."""
    names = {e.name for e in t.walk(expr) if isinstance(e, t.ColumnRef)}
    own = {relation.internal(c) for c in (*(c.name for c in relation.source.columns), *PSEUDO)}
    if not names or (names & own and names - own):
        return None
    return names <= own


# ---------------------------------------------------------------- the key of the result


def named_keys(joins: Sequence[JoinSpec]) -> tuple[t.Expr, ...]:
    """The columns that name the key of joined rows: both sides of ON, and what was equal to the left one before.

    None where no column does: of a FULL JOIN, and where both sides of ON are expressions.
    """
    equal: tuple[t.Expr, ...] = ()
    for join in joins:
        if join.kind == "FULL":
            equal = ()
        else:
            sides = (join.left, join.right)
            known = (*equal, join.right) if join.left in equal else sides
            equal = tuple(e for e in known if isinstance(e, t.ColumnRef))
    return equal


def carried(joins: Sequence[JoinSpec]) -> tuple[t.ColumnRef | None, ...]:
    """The column that has the key of the rows ahead of each join, and behind the last, whatever sources they are of.

    None where there is none: ahead of the first join of streams, and behind one of a table by another value.
    """
    key: t.ColumnRef | None = None
    found: list[t.ColumnRef | None] = [None]
    for i, join in enumerate(joins):
        if join.key is not None:
            key = join.key
        elif join.left not in named_keys(joins[:i]):
            key = None
        found.append(key)
    return tuple(found)


def stream_key(kind: SqlType, relations: Sequence[Relation], later: int) -> t.ColumnRef:
    """The column of the value of ON in the joined rows of two streams; ``later``: how many joins follow.

    Of the last one it has the first free name of ROWKEY, ROWKEY_1, … (ksqlDB, synthetic keys).
    """
    return t.ColumnRef(kind, _rowkey(relations) if later == 0 else f"__rowkey{later}")


def shared_key(joins: Sequence[JoinSpec], relations: Sequence[Relation]) -> t.ColumnRef | None:
    """The column of joined rows that holds their key: of tables under the first free name of ROWKEY, ROWKEY_1, …"""
    if not joins or any(j.foreign for j in joins):
        return None
    if relations[0].source.kind == "STREAM":
        return carried(joins)[-1]
    return t.ColumnRef(joins[0].right.type, _rowkey(relations))


def _rowkey(relations: Sequence[Relation]) -> str:
    return free_name("ROWKEY", {c.name for r in relations for c in r.source.columns})


def unnamed_key(
    joins: Sequence[JoinSpec], relations: Sequence[Relation], key: t.ColumnRef | None
) -> tuple[str, t.ColumnRef] | None:
    """The key of the rows of a chain of joins where no column of a source held it, behind the last join or one before.

    With the name under which a query sees it; ``key``: of the whole chain.
    """
    after = next((i for i in range(len(joins), 0, -1) if not named_keys(joins[:i])), 0)
    if not after or any(j.foreign for j in joins):
        return None
    found = carried(joins)[after] if relations[0].source.kind == "STREAM" else key
    # Of an inner join the key has a second name, under which later joins keep it.
    return None if found is None else (_rowkey(relations), t.ColumnRef(found.type, found.name.removeprefix("__")))


def names_of(joins: Sequence[JoinSpec], first: Relation) -> tuple[t.Expr, ...]:
    """As :func:`named_keys`, also of joins by a foreign key: the primary key of the first table, and its equals.

    If that has several columns, these; else any of them may name the key.
    """
    if not any(j.foreign for j in joins):
        return named_keys(joins)
    equal: tuple[t.Expr, ...] = tuple(first.ref(c) for c in first.source.keys)
    for join in joins:
        if len(first.source.keys) == 1 and join.left in equal:
            equal = (*equal, join.right)
    return equal


def row_key(joins: Sequence[JoinSpec], first: Relation, join_key: t.ColumnRef | None) -> t.Expr | None:
    """The column by which the key of joined rows is read, whichever of its names is selected; None: by that itself."""
    if any(j.foreign for j in joins):
        return first.ref(first.source.keys[0]) if len(first.source.keys) == 1 else None
    return join_key


def by_key(outputs: tuple[Output, ...], named: tuple[t.Expr, ...], key: t.Expr) -> tuple[Output, ...]:
    """The outputs, of which the key is read from the row itself: that table may have no row of this key."""
    at = next((i for i, o in enumerate(outputs) if o.key), None)
    if at is None:
        at = next((i for i, o in enumerate(outputs) if o.expr in named), None)
    return tuple(replace(o, expr=key) if i == at else o for i, o in enumerate(outputs))


def free_name(name: str, taken: set[str]) -> str:
    """The name, or with the first number behind it that makes it new: B, B_1, B_2."""
    return next(n for i in itertools.count() if (n := f"{name}_{i}" if i else name) not in taken)
