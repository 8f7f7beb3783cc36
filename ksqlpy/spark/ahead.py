"""Calls of functions in Python that a task sends ahead of their answers (``jvm/python/Ahead.java``).

A call by itself costs a task two changes of process, for which it waits. So where a result is made of one row, the
calls in its columns are made together with those of the rows behind it, and the rows stay in their order. Only what is
called for every result may be called ahead: what stands in a branch of CASE, behind AND, in a lambda or in another
call's argument is called where it stands, and then all calls of the query are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ksqlpy.analysis import typed as t
from ksqlpy.functions.python import arguments_text
from ksqlpy.plan import Plan
from ksqlpy.plan.calls import definitions_in
from ksqlpy.plan.letters import makes_letters
from ksqlpy.spark.columns import Col
from ksqlpy.spark.expressions import failure_text, spark_text
from ksqlpy.spark.rows import Rows

__all__ = ["CallAhead", "calls_ahead", "made_ahead"]

_ALL_OF_IT = (t.Arithmetic, t.Between, t.Cast, t.Compare, t.FieldRef, t.IsNull, t.Negate, t.Not)
"""Expressions of which every part is evaluated for each row."""

_CHOOSING = ("CONDITIONAL", "OTHER")
"""Categories of functions that may evaluate one argument and leave out the next."""


@dataclass(frozen=True)
class CallAhead:
    """A call, and the column that has its value."""

    expr: t.FunctionCall
    column: str


def calls_ahead(plan: Plan, first: str | None) -> tuple[Plan, Sequence[CallAhead]]:
    """The plan with columns in the place of the calls that may be made ahead, and these; else the plan, and none.

    ``first``: the column of the result that is needed before others, as that of its time.
    """
    calls: list[CallAhead] = []
    outputs = tuple(o if o.key else replace(o, expr=_without(o.expr, calls)) for o in plan.root.outputs)
    if plan.stateful or any(definitions_in(outputs)):  # a call that is left would wait for a worker that is taken
        return plan, ()
    if any(a != b for a, b in zip(plan.root.outputs, outputs, strict=True) if a.name == first):
        return plan, ()
    return replace(plan, root=replace(plan.root, outputs=outputs)), calls


def _without(expr: t.Expr, calls: list[CallAhead]) -> t.Expr:
    """The expression with columns in the place of calls, which are added to ``calls``."""

    def change(e: t.Expr) -> t.Expr | None:
        if isinstance(e, _ALL_OF_IT):
            return None
        if not isinstance(e, t.FunctionCall):
            return e
        definition = e.call.function.definition
        if definition is None:
            choosing = e.call.function.category in _CHOOSING or any(isinstance(a, t.Lambda) for a in e.arguments)
            return e if choosing else None
        if makes_letters(e) or any(definitions_in(e.arguments)) or any(map(failure_text, e.arguments)):
            return e
        known = next((c for c in calls if c.expr == e), None) if definition.deterministic else None
        if known is None:
            known = CallAhead(e, f"__called{len(calls)}")
            calls.append(known)
        return t.ColumnRef(e.type, known.column)

    return t.rewrite(expr, change)


def made_ahead(rows: Rows, calls: Sequence[CallAhead]) -> Rows:
    """The rows with the columns of the calls, null for those that are no result or have no value."""
    if not calls:
        return rows
    given = f"{Col.RAW} IS NULL AND NOT {Col.DELETED}"
    arguments, described = [], []
    for i, call in enumerate(calls):
        taken = arguments_text([spark_text(a) for a in call.expr.arguments])
        arguments.append((f"__arguments{i}", f"CASE WHEN {given} THEN {taken} END"))
        definition = call.expr.call.function.definition
        assert definition is not None
        described.append(json.dumps(definition.to_call()))
    time = ("__called_at", f"coalesce({Col.ROWTIME}, {Col.RAW}.ts, 0L)")
    names = [name for name, _ in arguments]
    rows = rows.plus(*arguments, time).with_calls(described, names, time[0], [c.column for c in calls])
    return rows.drop(*names, time[0])
