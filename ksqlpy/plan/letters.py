"""Functions in Python with ON_ERROR = 'dead-letter': which rows of a plan become dead letters where their calls fail.

A row that is still a record, ahead of all that remembers rows, leaves as that record, as one that cannot be read. So
does a stream's row behind its joins with tables, which give a row for a record. Of all others the result is the dead
letter, with its own bytes, which only the projection of the result can make.
"""

from __future__ import annotations

from collections.abc import Iterator

from ksqlpy.plan.calls import definitions_in
from ksqlpy.plan.operators import (
    Aggregate,
    Filter,
    FlatMap,
    Operator,
    Project,
    Scan,
    SessionAggregate,
    StreamTableJoin,
    Union,
)
from ksqlpy.plan.plan import Plan

__all__ = ["ON_ERROR", "carries_records", "last_records", "makes_letters", "without_letter"]

ON_ERROR = "dead-letter"

_OF_RECORDS = (Filter, FlatMap, Project, StreamTableJoin)
"""Their rows are records if those are that come in; of joined tables none comes out."""


def makes_letters(value: object) -> bool:
    """Whether an expression, or what holds some, calls such a function."""
    return any(d.on_error == ON_ERROR for d in definitions_in(value))


def carries_records(plan: Plan) -> bool:
    """Whether rows carry their record, since a call may make a dead letter of it."""
    root = plan.root.input
    return (_gives_records(root) and makes_letters(plan.root.outputs)) or any(
        makes_letters(x) for node in plan.nodes if _takes_records(node) for x in _made(node)
    )


def last_records(plan: Plan) -> tuple[Operator, ...]:
    """The operators behind which rows are no records any more: what comes next remembers rows, and makes no letters."""
    others = (node for node in plan.nodes[:-1] if not (_takes_records(node) or isinstance(node, Union)))
    return tuple(i for node in others for i in node.inputs if _gives_records(i))


def without_letter(plan: Plan) -> tuple[str, str] | None:
    """Such a function where a row that fails could be no dead letter: its name, and where it stands."""
    for node in plan.nodes[:-1]:
        if not _takes_records(node):
            for d in (d for x in _made(node) for d in definitions_in(x) if d.on_error == ON_ERROR):
                return d.name, node.title
    return None


def _made(node: Operator) -> Iterator[object]:
    yield from node.expressions
    yield from node.calls if isinstance(node, FlatMap) else ()


def _gives_records(node: Operator) -> bool:
    if isinstance(node, Union):
        return all(map(_gives_records, node.branches))
    return isinstance(node, Scan) or (isinstance(node, _OF_RECORDS) and _gives_records(node.input))


def _takes_records(node: Operator) -> bool:
    return isinstance(node, (*_OF_RECORDS, Aggregate, SessionAggregate)) and _gives_records(node.input)
