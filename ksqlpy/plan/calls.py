"""The functions in Python that a plan calls, and where their results must stay what they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators import (
    Aggregate,
    FlatMap,
    ForeignKeyJoin,
    LagLead,
    Operator,
    Passive,
    Project,
    SessionAggregate,
    StreamStreamJoin,
    StreamTableJoin,
    TableTableJoin,
)
from ksqlpy.plan.plan import Plan
from ksqlpy.udfs.definition import Definition

__all__ = ["definitions_in", "definitions_of", "fixed_place", "unrepeatable", "unsettled_key"]

_JOINS = (ForeignKeyJoin, StreamStreamJoin, StreamTableJoin, TableTableJoin)


def definitions_in(value: object) -> Iterator[Definition]:
    """Of all calls in an expression, or in what holds some, the definitions of functions in Python."""
    if isinstance(value, tuple):
        for item in value:
            yield from definitions_in(item)
    elif isinstance(value, t.Expr):
        for part in t.walk(value):
            if isinstance(part, t.OverCall):
                yield from (d for key in part.order for d in definitions_in(key.expr))
            elif isinstance(part, t.FunctionCall | t.AggregateCall | t.TableCall):
                definition = part.call.function.definition
                yield from () if definition is None else (definition,)
    elif is_dataclass(value) and not isinstance(value, Operator | type):
        for f in fields(value):  # such as the output of a projection
            yield from definitions_in(getattr(value, f.name))


def _own(node: Operator) -> Iterator[Definition]:
    for f in fields(node):
        if f.name not in node.below:
            yield from definitions_in(getattr(node, f.name))


def definitions_of(plan: Plan) -> Mapping[str, Definition]:
    """Those of all calls of a plan, by name."""
    return {d.name: d for node in plan.nodes for d in _own(node)}


def unrepeatable(plan: Plan) -> list[str]:
    """The names of functions whose results may differ for the same arguments."""
    return sorted(d.name for d in definitions_of(plan).values() if not d.deterministic)


def fixed_place(plan: Plan, name: str) -> str | None:
    """Where in a plan a function stands whose results are kept, so that its code must stay; None if nowhere.

    Results are kept as keys, and in all that remembers rows, with the projections below it.
    """
    if any(d.name == name for o in plan.root.outputs if o.key for d in definitions_in(o.expr)):
        return "in the key of the result"
    passive = (Passive.ALWAYS,) if plan.stateful else (Passive.ALWAYS, Passive.WITHOUT_STATE)
    for node in plan.nodes[:-1]:
        if node.passive not in passive and any(d.name == name for d in _own(node)):
            return f"in {node.title}, and what was made of its results is kept"
    return None


# ---------------------------------------------------------------- what is not deterministic


def unsettled_key(plan: Plan) -> tuple[str, str] | None:
    """A function that is not deterministic and whose result would be a key: its name, and what it would bring together.

    A key decides where a row goes; a record that is read again must go there again.
    """
    for node in plan.nodes:
        known = {name: of for below in node.inputs for name, of in _unsettled(below).items()}
        joins = isinstance(node, _JOINS)
        for expr in node.expressions if joins else node.keys:
            if (name := _of(expr, known)) is not None:
                return name, "a join" if joins else node.title
    known = _unsettled(plan.root.input)
    for output in plan.root.outputs:
        if output.key and (name := _of(output.expr, known)) is not None:
            return name, "the result"
    return None


def _of(expr: t.Expr, known: Mapping[str, str]) -> str | None:
    """The function that makes a value unsettled: of a call in it, or of a column that it names."""
    called = (d.name for d in definitions_in(expr) if not d.deterministic)
    named = (known[e.name] for e in t.walk(expr) if isinstance(e, t.ColumnRef) and e.name in known)
    return next(called, None) or next(named, None)


def _unsettled(node: Operator) -> dict[str, str]:
    """The columns of an operator's rows whose values are not settled, each with the function that is why."""
    known = {name: of for below in node.inputs for name, of in _unsettled(below).items()}
    if isinstance(node, Project):
        return _made(((o.name, o.expr) for o in node.outputs), known)
    if isinstance(node, Aggregate | SessionAggregate):
        return _made(((f"__a{i}", call) for i, call in enumerate(node.aggregates)), known)
    if isinstance(node, FlatMap):
        known |= _made(((f"__u{i}", call) for i, call in enumerate(node.calls)), known)
    if isinstance(node, LagLead):
        known |= _made(((f"__o{i}", call) for i, call in enumerate(node.calls)), known)
    return known


def _made(columns: Iterable[tuple[str, t.Expr]], known: Mapping[str, str]) -> dict[str, str]:
    found = ((name, _of(expr, known)) for name, expr in columns)
    return {name: of for name, of in found if of is not None}
