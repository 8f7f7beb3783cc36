"""Calls of functions in Python on plain rows: the only functions that are computed without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ksqlpy.analysis import typed as t
from ksqlpy.udfs.definition import Definition

__all__ = ["Calls", "call_of", "no_value"]

Calls = Callable[[Definition, Sequence[Any]], Any]
"""Calls a function: whatever comes of it is a value, or raises KsqlError. It may take as long as its time limit."""

Value = Callable[[Mapping[str, Any]], Any]


def no_value(definition: Definition, arguments: Sequence[Any]) -> Any:
    """For who only asks whether an expression is plain."""
    return None


def call_of(expr: t.Expr, value: Callable[[t.Expr], Value | None], calls: Calls | None) -> Value | None:
    """From a row to what a call gives; ``value``: the same of its arguments. None for what is no such call."""
    if calls is None or not isinstance(expr, t.FunctionCall):
        return None
    definition = expr.call.function.definition
    if definition is None or definition.kind != "SCALAR":
        return None
    found = [value(a) for a in expr.arguments]
    arguments = [a for a in found if a is not None]
    if len(arguments) < len(found):
        return None
    return lambda row: calls(definition, [a(row) for a in arguments])
