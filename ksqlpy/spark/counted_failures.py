"""Expressions whose failures are counted, as Spark text."""

from __future__ import annotations

from ksqlpy.analysis import typed as t
from ksqlpy.spark.expressions import failure_text, has_caught, null_text, spark_text, sure
from ksqlpy.spark.provenance import counted

__all__ = ["counting", "holds"]


def counting(expr: t.Expr, query_id: str) -> str:
    """The text of a result's column. Where an error made it null, or a part of it, that is counted."""
    value, failed = spark_text(expr), failure_text(expr)
    if failed is None:
        return value
    failure = counted(query_id + ":failed", failed)
    if has_caught(expr):  # then the value need not be null
        return f"CASE WHEN {failure} THEN {value} ELSE {value} END"
    return f"coalesce({value}, CASE WHEN {failure} THEN {null_text(expr.type)} END)"


def holds(predicate: t.Expr, query_id: str) -> str:
    """The text of WHERE or HAVING, true or false: where an error makes it neither, the row is dropped and counted."""
    value, name = spark_text(predicate), query_id + ":failed"
    held = value if sure(predicate) else f"coalesce({value}, NOT {counted(name, 'true')})"
    caught = failure_text(predicate) if has_caught(predicate) else None
    return (
        held if caught is None else f"CASE WHEN {counted(name, caught)} THEN coalesce({value}, false) ELSE {held} END"
    )
