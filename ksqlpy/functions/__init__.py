"""The functions of the language: one registry, one file a family."""

from __future__ import annotations

from ksqlpy.functions.aggregates import AGGREGATES
from ksqlpy.functions.collections import COLLECTIONS
from ksqlpy.functions.conditional import CONDITIONAL
from ksqlpy.functions.numbers import NUMBERS
from ksqlpy.functions.registry import (
    Aggregate,
    AggregateSignature,
    Call,
    Change,
    Registry,
    Scalar,
    Signature,
    TableFunction,
)
from ksqlpy.functions.strings import STRINGS
from ksqlpy.functions.tables import TABLES
from ksqlpy.functions.times import TIMES

__all__ = [
    "FUNCTIONS",
    "Aggregate",
    "AggregateSignature",
    "Call",
    "Change",
    "Registry",
    "Scalar",
    "Signature",
    "TableFunction",
]

FUNCTIONS = Registry((*AGGREGATES, *COLLECTIONS, *CONDITIONAL, *NUMBERS, *STRINGS, *TABLES, *TIMES))
"""Every function of the language."""
