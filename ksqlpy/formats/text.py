"""Pieces of Spark SQL text that need quoting."""

from __future__ import annotations

from ksqlpy.functions.sparktext import quoted as string

__all__ = ["name", "string"]


def name(identifier: str) -> str:
    """A column or function name in backticks."""
    return "`" + identifier.replace("`", "``") + "`"
