"""The functions of the language: one list, one file a family."""

from __future__ import annotations

from ksqlpy.functions.aggregates import AGGREGATES
from ksqlpy.functions.collections import COLLECTIONS
from ksqlpy.functions.conditional import CONDITIONAL
from ksqlpy.functions.encodings import ENCODINGS
from ksqlpy.functions.jsontext import JSON_TEXT
from ksqlpy.functions.masks import MASKS
from ksqlpy.functions.numbers import NUMBERS
from ksqlpy.functions.regexes import REGEXES
from ksqlpy.functions.signatures import (
    Aggregate,
    AggregateSignature,
    Call,
    Change,
    Function,
    Functions,
    LambdaArgument,
    LambdaParameter,
    Scalar,
    Signature,
    TableFunction,
)
from ksqlpy.functions.strings import STRINGS
from ksqlpy.functions.tables import TABLES
from ksqlpy.functions.times import TIMES
from ksqlpy.functions.urls import URLS

__all__ = [
    "FUNCTIONS",
    "Aggregate",
    "AggregateSignature",
    "Call",
    "Change",
    "Function",
    "Functions",
    "LambdaArgument",
    "LambdaParameter",
    "Scalar",
    "Signature",
    "TableFunction",
]

FUNCTIONS = Functions(
    (
        *AGGREGATES,
        *COLLECTIONS,
        *CONDITIONAL,
        *ENCODINGS,
        *JSON_TEXT,
        *MASKS,
        *NUMBERS,
        *REGEXES,
        *STRINGS,
        *TABLES,
        *TIMES,
        *URLS,
    )
)
"""Every function of the language."""
