"""Functions of text."""

from __future__ import annotations

from ksqlpy.functions.registry import Scalar, Signature
from ksqlpy.types import INTEGER, STRING

__all__ = ["STRINGS"]

STRINGS = (
    Scalar(
        "UCASE",
        "STRING",
        "The text in upper case.",
        "UCASE(NAME)",
        (Signature((STRING,), STRING, lambda a, t: f"upper({a[0]})"),),
    ),
    Scalar(
        "LEN",
        "STRING",
        "The number of UTF-16 units of the text.",
        "LEN(NAME)",
        (Signature((STRING,), INTEGER, lambda a, t: f"char_length({a[0]})"),),
    ),
)
