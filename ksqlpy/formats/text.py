"""Pieces of Spark SQL text: what users name or write, and values as formats write them."""

from __future__ import annotations

from ksqlpy.functions.sparktext import field
from ksqlpy.functions.sparktext import named as name
from ksqlpy.functions.sparktext import quoted as string
from ksqlpy.types import DATE, TIMESTAMP, SqlType

__all__ = ["column", "field", "name", "number", "string"]


def column(name: str) -> str:
    """A column of a DataFrame as it is called there, in backticks."""
    return f"`{name}`"


def number(value: str, type_: SqlType) -> str:
    """A scalar with DATE as days and TIMESTAMP as milliseconds, as texts have them."""
    if type_ == DATE:
        return f"unix_date({value})"
    return f"unix_millis({value})" if type_ == TIMESTAMP else value
