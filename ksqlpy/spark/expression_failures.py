"""Whether an expression failed, as Spark text: an error is NULL to Spark, and so is much that is no error.

Source of the rule: ksqlDB computes an expression as plain Java. An exception in any part that is computed is one of the
whole: a column is null, a row of WHERE is dropped. AND, OR and CASE leave out what they need not know. Some parts catch
the exception of what they are made of, and have null there: see :func:`catches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ksqlpy.analysis import typed as t
from ksqlpy.functions import Signature
from ksqlpy.types import DOUBLE, STRING, DecimalType, widens_to

__all__ = ["catches", "failed_itself", "failure", "never_null", "unless_failed"]

Sql = Callable[[t.Expr], str]
"""From an expression to its Spark text."""


def failure(expr: t.Expr, sql: Sql, *, caught: bool = False) -> str | None:
    """Text of whether a part of the expression failed: it is null, and nothing that it was made of is.

    True or false, never null. None for an expression that cannot fail. Of lambdas the calls say whether
    they broke: TRANSFORM and FILTER always (:mod:`ksqlpy.spark.lambdas`), REDUCE where its body is arithmetic.
    ``caught``: also failures that are a null to the whole: those that a part catches.
    """
    conditions = list(dict.fromkeys(_failures(expr, sql, caught)))
    return f"({') OR ('.join(conditions)})" if conditions else None


def catches(e: t.Expr, part: t.Expr) -> bool:
    """Whether a failure of a part is a null to the expression: of an element of an ARRAY, MAP or STRUCT that is made
    here, and of a call, or a field of what a call gives, in an argument of a call or in a CAST.
    """
    match e:
        case t.ArrayOf() | t.MapOf() | t.StructOf():
            return True
        case t.FunctionCall() | t.Cast():
            return isinstance(part, t.FunctionCall | t.FieldRef)
    return False


def unless_failed(value: str, parts: Sequence[t.Expr], sql: Sql) -> str:
    """The text of a value that is null if one of the parts failed."""
    failed = [f for p in parts if (f := failure(p, sql)) is not None]
    return f"CASE WHEN NOT ({' OR '.join(failed)}) THEN {value} END" if failed else value


def never_null(e: t.Expr, sql: Sql) -> bool:
    """Whether a condition is true or false for every row."""
    match e:
        case t.Compare() | t.IsNull() | t.Between() | t.InList() | t.Like():
            return failure(e, sql) is None
        case t.Logical(left=left, right=right):
            return never_null(left, sql) and never_null(right, sql)
        case t.Not(value=value):
            return never_null(value, sql)
    return isinstance(e, t.Literal) and e.value is not None


def _failures(e: t.Expr, sql: Sql, caught: bool) -> Iterator[str]:
    match e:
        case t.Lambda():
            return
        case t.Logical(op=op, left=left, right=right):
            yield from _failures(left, sql, caught)
            later = failure(right, sql, caught=caught)
            if later is not None:
                undecided = sql(left) if op == "AND" else f"NOT ({sql(left)})"
                yield f"coalesce({undecided}, false) AND {later}"
            return
        case t.Case(whens=whens, default=default):
            yield from _of_case(whens, default, sql, caught)
            return
    own = failed_itself(e, sql)
    if own is not None:
        yield own
    for child in t.children(e):
        if caught or not catches(e, child):
            yield from _failures(child, sql, caught)


def _of_case(whens: Sequence[tuple[t.Expr, t.Expr]], default: t.Expr, sql: Sql, caught: bool) -> Iterator[str]:
    branches, any_fails = [], False
    for condition, result in whens:
        if not never_null(condition, sql):
            branches.append(f"WHEN ({sql(condition)}) IS NULL THEN true")
            any_fails = True
        failed = failure(result, sql, caught=caught)
        branches.append(f"WHEN {sql(condition)} THEN {failed or 'false'}")
        any_fails = any_fails or failed is not None
    failed = failure(default, sql, caught=caught)
    if any_fails or failed is not None:
        yield f"CASE {' '.join(branches)} ELSE {failed or 'false'} END"


def failed_itself(e: t.Expr, sql: Sql) -> str | None:
    """Text of whether just this step failed, or None if it cannot."""
    needed = _needed(e)
    if needed is None:
        return None
    there = [f"({sql(n)}) IS NOT NULL" for n in needed if not isinstance(n, t.Literal)]
    return " AND ".join([f"({sql(e)}) IS NULL", *there])


def _is_null_by_error(body: t.Expr) -> bool:
    """Whether a lambda gives null only by an error: arithmetic on null is one there."""
    return isinstance(body, t.Negate) or (isinstance(body, t.Arithmetic) and body.type != STRING)


def _needed(e: t.Expr) -> list[t.Expr] | None:
    """What must not be null for the expression to fail with null; None if it does not fail."""
    match e:
        case t.Cast(type=target, value=value):
            reads = value.type == STRING and target.base not in ("STRING", "BOOLEAN")
            cuts = isinstance(target, DecimalType) and not widens_to(value.type, target)
            return [value] if (reads or cuts) and not isinstance(value, t.Literal) else None
        case t.Arithmetic(type=kind, op=op, left=left, right=right) if kind not in (DOUBLE, STRING):
            if isinstance(kind, DecimalType):
                return [left, right]
            by_constant = isinstance(right, t.Literal) and right.value
            return [left, right] if op in "/%" and not by_constant else None
        case t.FunctionCall(call=call, arguments=[collection, first, t.Lambda(body=body)]) if (
            call.function.name == "REDUCE" and _is_null_by_error(body)
        ):
            return [collection, first]
        case t.FunctionCall(call=call, arguments=arguments):
            assert isinstance(call.signature, Signature)
            needed = [arguments[i] for i in call.signature.needs(len(arguments))]
            return [n for n in needed if not isinstance(n, t.Lambda)] if call.signature.fails else None
    return None
