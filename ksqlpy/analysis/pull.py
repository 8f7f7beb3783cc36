"""A pull query: SELECT without EMIT, over what is there now, and how the rows that it asks for are found.

WHERE is brought into branches of OR. A branch that says of each key column by ``=`` or IN what it equals asks for the
rows of these keys (a lookup); one comparison of a single STRING key with a constant asks for a range of keys. All else
goes through the whole table (a scan). Source of the rules: ksqlDB manual, "SELECT (pull query)". ORDER BY,
GROUP BY, JOIN and queries in FROM are our own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from ksqlpy.analysis import typed as t
from ksqlpy.analysis.query import analyze_query
from ksqlpy.analysis.result import TypedQuery
from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import Catalog, Source
from ksqlpy.config import Config
from ksqlpy.types import STRING

__all__ = ["WAIT", "PullRead", "analyze_pull", "as_stream", "constant"]

Access = Literal["LOOKUP", "RANGE", "SCAN", "STREAM", "HISTORY"]

MOST_BRANCHES = 1000
"""Branches of OR that are looked at; a WHERE with more of them is answered by a scan."""

SCANS = "ksql.query.pull.table.scan.enabled"
RANGES = "ksql.query.pull.range.scan.enabled"
STREAMS = "ksql.query.pull.stream.enabled"
LIMITS = "ksql.query.pull.limit.clause.enabled"
ENABLED = "ksql.pull.queries.enable"
WAIT = "ksqlpy.pull.wait.ms"

_UNPLACED = ("ROWPARTITION", "ROWOFFSET")
"""Pseudo columns that say where a row came from, which pull queries do not have."""

_RANGE_OPS = {"<", "<=", ">", ">="}


@dataclass(frozen=True)
class PullRead:
    """A pull query that is legal.

    ``access``: how its rows are found, HISTORY by a run over all records of its sources; ``keys``: of LOOKUP, the
    values of the key columns, constant expressions; ``exact``: whether WHERE says no more than these keys; ``why``: the
    reason for the access, for people; ``bounds``: of RANGE, constant expressions below and above which there is no row.
    """

    typed: TypedQuery
    source: Source
    access: Access
    keys: tuple[tuple[t.Expr, ...], ...]
    exact: bool
    why: str
    bounds: tuple[t.Expr | None, t.Expr | None] = (None, None)

    @property
    def keyed(self) -> tuple[bool, ...]:
        """Which columns of the result are those that tell the rows of the table apart."""
        if self.access == "HISTORY":
            return tuple(self.typed.kind == "TABLE" and o.expr in self.typed.keys for o in self.typed.outputs)
        if self.source.kind == "STREAM":
            return tuple(False for _ in self.typed.outputs)
        relation = self.typed.relations[0]
        own: set[t.Expr] = {relation.ref(c) for c in self.source.keys}
        if self.source.window is not None:
            own |= {t.system("WINDOWSTART"), t.system("WINDOWEND")}
        return tuple(o.expr in own for o in self.typed.outputs)


def analyze_pull(node: exp.Expr, catalog: Catalog, text: Text, config: Config) -> PullRead:
    """The typed pull query of a Query; raises AnalysisProblem."""
    _check_clauses(node, text, config)
    typed = analyze_query(node, catalog, text, persistent=False, config=config)
    relation = typed.relations[0]
    source = relation.source
    for place, exprs in (("SELECT", [o.expr for o in typed.outputs]), ("WHERE", [typed.where] if typed.where else [])):
        _check_pseudo(node, place, exprs, text)
    if any(s.kind == "STREAM" for s in typed.sources) and config.get(STREAMS) == "false":
        name = next(s.name for s in typed.sources if s.kind == "STREAM")
        text.refuse(
            "pull-disabled",
            f"{name} is a stream, and pull queries on streams are switched off",
            node.args.get("from_") or node,
            hint=f"the property {STREAMS} = true allows them; {_PUSH}",
        )
    if (what := _beyond(typed)) is not None:
        if typed.order:
            hint = f"leave ORDER BY out, or make a table of the query with {what}, and ask that"
            text.refuse("pull-clause", f"ORDER BY cannot stand beside {what}", node.args["order"], hint=hint)
        why = f"{what} goes through all records of its sources"
        if config.get(SCANS) == "false":
            _no_scan(why, node.args.get("from_") or node, text)
        return PullRead(typed, source, "HISTORY", (), exact=False, why=why)
    if source.kind == "STREAM":
        why = "a stream is read from its first record to its last"
        return PullRead(typed, source, "STREAM", (), exact=False, why=why)
    return _located(typed, source, node, text, config)


def _beyond(typed: TypedQuery) -> str | None:
    """What makes a query more than the rows of one source: our extension; None if it is not."""
    if typed.grouping is not None:
        return "GROUP BY"
    if typed.joins:
        return "JOIN"
    if typed.relations[0].view is not None:
        return "a query in FROM or UNION ALL"
    if typed.over or typed.ranking is not None:
        return "OVER"
    return None


_PUSH = "add EMIT CHANGES for a push query"


def _check_clauses(node: exp.Expr, text: Text, config: Config) -> None:
    if config.get(ENABLED) == "false":
        text.refuse("pull-disabled", "pull queries are switched off", node, hint=f"by {ENABLED}; {_PUSH}")
    if node.args.get("partition") is not None:
        text.refuse("pull-clause", "a pull query has no PARTITION BY", node.args["partition"], hint=_PUSH)
    limit = node.args.get("limit")
    if limit is not None and config.get(LIMITS) == "false":
        text.refuse("pull-disabled", "LIMIT of pull queries is switched off", limit, hint=f"by {LIMITS}")


def _check_pseudo(node: exp.Expr, place: str, exprs: Sequence[t.Expr], text: Text) -> None:
    for name in _UNPLACED:
        if any(t.system(name) in t.walk(e) for e in exprs):
            at = node.args["where"] if place == "WHERE" else node
            hint = f"a push query has it: {_PUSH}"
            text.refuse("pull-pseudo-column", f"pull queries have no {name} in {place}", at, hint=hint)


# ---------------------------------------------------------------- where the rows are


def _located(typed: TypedQuery, source: Source, node: exp.Expr, text: Text, config: Config) -> PullRead:
    relation = typed.relations[0]
    keys = [relation.ref(c) for c in source.keys]
    where = node.args.get("where")
    scan = "WHERE is missing"
    if typed.where is not None:
        branches = _branches(typed.where)
        if branches is None:
            scan = f"WHERE has more than {MOST_BRANCHES} branches of OR"
        else:
            found = [_keys_of(b, keys) for b in branches]
            for values in found:
                if values is not None and any(_is_null(v) for key in values.found for v in key):
                    hint = "a table has no rows without a key: leave the condition out"
                    text.refuse("null-key", "a key column cannot be null", where, hint=hint)
            if all(f is not None and f.found is not None for f in found):
                wanted = tuple(dict.fromkeys(k for f in found if f is not None for k in f.found))
                exact = all(f is not None and f.exact for f in found)
                why = f"WHERE says the key: {len(wanted)} of them" if len(wanted) > 1 else "WHERE says the key"
                return PullRead(typed, source, "LOOKUP", wanted, exact, why)
            single = keys[0] if len(keys) == 1 and keys[0].type == STRING and source.window is None else None
            bounds = _bounds(branches[0], single) if single is not None and len(branches) == 1 else None
            if bounds is not None:
                if config.get(SCANS) == "false" and config.get(RANGES) == "false":
                    _no_scan("WHERE says a range of keys", where or node, text, ranges=True)
                why = "WHERE says a range of keys"
                return PullRead(typed, source, "RANGE", (), exact=False, why=why, bounds=bounds)
            names = " and ".join(c.name for c in source.keys)
            scan = f"WHERE does not say by = or IN what {names} is" + (" in each branch of OR" * (len(branches) > 1))
    if config.get(SCANS) == "false":
        _no_scan(scan, where or node, text)
    return PullRead(typed, source, "SCAN", (), exact=typed.where is None, why=scan)


def _no_scan(why: str, at: exp.Expr, text: Text, *, ranges: bool = False) -> None:
    allows = f"{RANGES} = true or {SCANS} = true" if ranges else f"{SCANS} = true"
    text.refuse(
        "scan-disabled",
        f"this pull query would go through the whole table, which is switched off: {why}",
        at,
        hint=f"say by = or IN what each key column is, or set {allows}",
    )


@dataclass(frozen=True)
class _Keys:
    """What a branch of OR says of the key: the keys, and whether it says nothing else."""

    found: tuple[tuple[t.Expr, ...], ...]
    exact: bool


def _branches(where: t.Expr) -> list[list[t.Expr]] | None:
    """WHERE as branches of OR, each of conditions that all must hold; None where they are too many."""
    match where:
        case t.Logical(op="OR", left=left, right=right):
            sides = _branches(left), _branches(right)
            if sides[0] is None or sides[1] is None or len(sides[0]) + len(sides[1]) > MOST_BRANCHES:
                return None
            return sides[0] + sides[1]
        case t.Logical(op="AND", left=left, right=right):
            sides = _branches(left), _branches(right)
            if sides[0] is None or sides[1] is None or len(sides[0]) * len(sides[1]) > MOST_BRANCHES:
                return None
            return [a + b for a, b in itertools.product(sides[0], sides[1])]
    return [[where]]


def _keys_of(branch: Sequence[t.Expr], keys: Sequence[t.ColumnRef]) -> _Keys | None:
    """The keys that a branch asks for; None where it leaves a key column open."""
    values: dict[t.Expr, tuple[t.Expr, ...]] = {}
    others = 0
    for condition in branch:
        said = _equals(condition)
        if said is None or said[0] not in keys or said[0] in values:
            others += 1
        else:
            values[said[0]] = said[1]
    if len(values) < len(keys):
        return None
    product = list(itertools.islice(itertools.product(*(values[k] for k in keys)), MOST_BRANCHES + 1))
    return _Keys(tuple(product), not others) if len(product) <= MOST_BRANCHES else None


def _equals(condition: t.Expr) -> tuple[t.Expr, tuple[t.Expr, ...]] | None:
    """A column, and the constants that it may equal."""
    match condition:
        case t.Compare(op="=", left=t.ColumnRef() as column, right=value) if constant(value):
            return column, (value,)
        case t.Compare(op="=", left=value, right=t.ColumnRef() as column) if constant(value):
            return column, (value,)
        case t.InList(value=t.ColumnRef() as column, items=items) if all(map(constant, items)):
            return column, items
    return None


def _bounds(branch: Sequence[t.Expr], key: t.Expr) -> tuple[t.Expr | None, t.Expr | None] | None:
    """Below and above what no key is, where one condition says a range of the key, and no other anything of it."""
    said = [c for c in branch if key in t.walk(c)]
    if len(said) != 1:
        return None
    match said[0]:
        case t.Compare(op=op, left=left, right=right) if op in _RANGE_OPS:
            if left == key and constant(right):
                return (right, None) if op.startswith(">") else (None, right)
            if right == key and constant(left):
                return (None, left) if op.startswith(">") else (left, None)
        case t.Between(value=value, low=low, high=high) if value == key and constant(low) and constant(high):
            return low, high
    return None


def constant(expr: t.Expr) -> bool:
    """Whether the expression is the same for all rows."""
    return not any(
        isinstance(e, t.ColumnRef | t.LambdaRef | t.AggregateCall | t.TableCall | t.OverCall) for e in t.walk(expr)
    )


def _is_null(expr: t.Expr) -> bool:
    return _bottom(expr) is None


def _bottom(expr: t.Expr) -> object:
    while isinstance(expr, t.Cast):
        expr = expr.value
    return expr.value if isinstance(expr, t.Literal) else expr


def as_stream(read: PullRead) -> PullRead:
    """The same over the records of the source as those of a stream: its plan makes rows of records."""
    first = read.typed.relations[0]
    source = replace(first.source, kind="STREAM")
    return replace(read, typed=replace(read.typed, relations=(replace(first, source=source),), kind="STREAM"))
