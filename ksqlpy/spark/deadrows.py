"""Rows that call functions in Python with ON_ERROR = 'dead-letter', and what becomes of those that fail."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.sparktext import named
from ksqlpy.spark.columns import Col
from ksqlpy.spark.rows import Rows

__all__ = ["set_aside", "tried_values"]


def tried_values(rows: Rows, texts: Sequence[str], condition: str) -> tuple[Rows, list[str]]:
    """The rows with the values of Spark texts, null where the condition does not hold, and ``Col.FAILED``.

    Also gives the columns of the values. All texts of a row are made once, and together (``jvm/python/Tried.java``).
    """
    values = ", ".join(f"{made} AS v{i}" for i, made in enumerate(texts))
    trying, call = named('{"trying":true}'), named('{"tried":true}')
    rows = rows.plus(("__tried", f"CASE WHEN {condition} THEN ksqlpy.{call}(ksqlpy.{trying}(), struct({values})) END"))
    columns = [f"__tried{i}" for i in range(len(texts))]
    made = [(c, f"__tried.row.v{i}") for i, c in enumerate(columns)]
    return rows.plus(*made, (Col.FAILED, "__tried.error")).drop("__tried"), columns


def set_aside(rows: Rows) -> Rows:
    """Those that failed as records that could not be read: they pass by all that follows."""
    return rows.select(
        *rows.shape.without(Col.RAW, Col.REASON, Col.FAILED),
        (Col.RAW, f"CASE WHEN {Col.FAILED} IS NOT NULL THEN {Col.CAME} ELSE {Col.RAW} END"),
        (Col.REASON, f"coalesce({Col.REASON}, {Col.FAILED})"),
    )
