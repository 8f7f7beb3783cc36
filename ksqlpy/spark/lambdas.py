"""Lambdas that break: arithmetic on a null element is an error to ksqlDB, and any error makes the whole column null.

Source of the rule: ksqlDB computes the body of a lambda as plain Java, where arithmetic on null throws. So TRANSFORM
and FILTER look whether the body breaks at any element before they give a result; in REDUCE the state becomes null by
itself, and stays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ksqlpy.analysis import typed as t
from ksqlpy.spark.expression_failures import catches, failed_itself, never_null
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
    """The conditions under which the parts of a body break that are computed, true or false."""
    match body:
        case t.Lambda():
            return
        case t.Case(whens=whens, default=default):
            yield from _of_case(whens, default, sql)
            return
        case t.Logical(op=op, left=left, right=right):
            yield from _breaking(left, sql)
            if later := list(_breaking(right, sql)):  # it is computed only if the left does not decide
                undecided = sql(left) if op == "AND" else f"NOT ({sql(left)})"
                yield f"(coalesce({undecided}, false) AND ({' OR '.join(later)}))"
            return
        case t.Arithmetic(type=kind) if kind != STRING:
            yield f"({sql(body)}) IS NULL"
            parts: Iterator[t.Expr] = _operands(body)
        case t.Negate():
            yield f"({sql(body)}) IS NULL"
            parts = _operands(body)
        case t.FunctionCall() if (breaks := breaks_at(body, sql)) is not None:
            yield f"coalesce({breaks(sql(body.arguments[0]))}, false)"
            parts = (c for c in t.children(body) if not catches(body, c))
        case _:
            failed = failed_itself(body, sql)
            if failed is not None:
                yield failed
            parts = (c for c in t.children(body) if not catches(body, c))
    for part in parts:
        yield from _breaking(part, sql)


def _of_case(whens: Sequence[tuple[t.Expr, t.Expr]], default: t.Expr, sql: Callable[[t.Expr], str]) -> Iterator[str]:
    """Of a CASE what is computed: conditions up to the first that holds, and its result."""
    branches, any_breaks = [], False
    for condition, result in whens:
        broken = list(_breaking(condition, sql))
        if not never_null(condition, sql):
            broken.append(f"({sql(condition)}) IS NULL")
        if broken:
            branches.append(f"WHEN {' OR '.join(broken)} THEN true")
        later = list(_breaking(result, sql))
        branches.append(f"WHEN {sql(condition)} THEN {' OR '.join(later) or 'false'}")
        any_breaks = any_breaks or bool(broken or later)
    last = list(_breaking(default, sql))
    if any_breaks or last:
        yield f"CASE {' '.join(branches)} ELSE {' OR '.join(last) or 'false'} END"


def _operands(e: t.Expr) -> Iterator[t.Expr]:
    """What arithmetic is made of; arithmetic below makes it null by itself."""
    for child in t.children(e):
        if isinstance(child, t.Arithmetic | t.Negate | t.Cast):
            yield from _operands(child)
        else:
            yield child
