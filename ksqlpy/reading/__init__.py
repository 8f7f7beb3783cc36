"""Records read in Python, without Spark: their rows, plain conditions on them, and plain columns of them.

For what is asked of single records or of few: lookups in tables and plain push queries. What is not plain (functions
but those in Python, arithmetic, CASE and others) is left to Spark, so that each function has one meaning.
"""

from __future__ import annotations

from ksqlpy.reading.changes import Change, Held, Unread
from ksqlpy.reading.conditions import condition_of, folded
from ksqlpy.reading.records import Record, Rows
from ksqlpy.reading.results import Gone, Token, projection_of

__all__ = [
    "Change",
    "Gone",
    "Held",
    "Record",
    "Rows",
    "Token",
    "Unread",
    "condition_of",
    "folded",
    "projection_of",
]
