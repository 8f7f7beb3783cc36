"""Lambdas that break: arithmetic on a null element is an error to ksqlDB, and any error makes the whole column null.

Source of the rule: ksqlDB computes the body of a lambda as plain Java, where arithmetic on null throws. So TRANSFORM
and FILTER look whether the body breaks at any element before they give a result; in REDUCE the state becomes null by
itself, and stays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ksqlpy.analysis import typed as t
from ksqlpy.spark.failing import failed_itself
from ksqlpy.types import STRING, MapType

__all__ = ["breaks_at"]

_LOOKED_AT = ("TRANSFORM", "FILTER")
_ENTRY = "__entry"


def breaks_at(call: t.FunctionCall, sql: Callable[[t.Expr], str]) -> Callable[[str], str] | None:
    """From the Spark text of the collection to that of whether a lambda breaks at one of its elements.

    None for calls that cannot break. ``sql`` gives the text of an expression.
    """
    if call.call.function.name not in _LOOKED_AT:
        return None
    collection, *lambdas = call.arguments
    entries = isinstance(collection.type, MapType)
    conditions: list[str] = []
    parameter = _ENTRY
    for given in lambdas:
        if not isinstance(given, t.Lambda):
            return None
        body = given.body
        if entries:
            key, value = given.parameters
            named = {key: f"{_ENTRY}.key", value: f"{_ENTRY}.value"}
            body = t.rewrite(body, lambda e, named=named: _renamed(e, named))  # type: ignore[misc]
        else:
            [parameter] = given.parameters
        conditions += _breaking(body, sql)
    if not conditions:
        return None
    condition = " OR ".join(conditions)
    return lambda text: f"exists({f'map_entries({text})' if entries else text}, {parameter} -> {condition})"


def _renamed(e: t.Expr, named: dict[str, str]) -> t.Expr | None:
    return t.LambdaRef(e.type, named[e.name]) if isinstance(e, t.LambdaRef) and e.name in named else None


def _breaking(body: t.Expr, sql: Callable[[t.Expr], str]) -> Iterator[str]:
    """The conditions under which the parts of a body break that are always computed."""
    match body:
        case t.Lambda() | t.Case():
            return
        case t.Logical(left=left):  # the right side is computed only if the left does not decide
            yield from _breaking(left, sql)
            return
        case t.Arithmetic(type=kind) if kind != STRING:
            yield f"({sql(body)}) IS NULL"
            parts: Iterator[t.Expr] = _operands(body)
        case t.Negate():
            yield f"({sql(body)}) IS NULL"
            parts = _operands(body)
        case t.FunctionCall() if (breaks := breaks_at(body, sql)) is not None:
            yield f"coalesce({breaks(sql(body.arguments[0]))}, false)"
            parts = t.children(body)
        case _:
            failed = failed_itself(body, sql)
            if failed is not None:
                yield failed
            parts = t.children(body)
    for part in parts:
        yield from _breaking(part, sql)


def _operands(e: t.Expr) -> Iterator[t.Expr]:
    """What arithmetic is made of; arithmetic below makes it null by itself."""
    for child in t.children(e):
        if isinstance(child, t.Arithmetic | t.Negate | t.Cast):
            yield from _operands(child)
        else:
            yield child
