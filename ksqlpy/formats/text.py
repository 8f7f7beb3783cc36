"""Pieces of Spark SQL text that need quoting."""

from __future__ import annotations

__all__ = ["name", "string"]


def name(identifier: str) -> str:
    """A column or function name in backticks."""
    return "`" + identifier.replace("`", "``") + "`"


def string(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
