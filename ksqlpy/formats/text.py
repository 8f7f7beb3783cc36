"""Pieces of Spark SQL text that users name or write."""

from __future__ import annotations

from ksqlpy.functions.sparktext import field
from ksqlpy.functions.sparktext import named as name
from ksqlpy.functions.sparktext import quoted as string

__all__ = ["column", "field", "name", "string"]


def column(name: str) -> str:
    """A column of a DataFrame as it is called there, in backticks."""
    return f"`{name}`"
