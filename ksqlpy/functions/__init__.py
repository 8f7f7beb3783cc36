"""The functions of the language: one registry, one file a family."""

from __future__ import annotations

from ksqlpy.functions.aggregates import AGGREGATES
from ksqlpy.functions.registry import Aggregate, AggregateSignature, Call, Registry, Scalar, Signature
from ksqlpy.functions.strings import STRINGS

__all__ = ["FUNCTIONS", "Aggregate", "AggregateSignature", "Call", "Registry", "Scalar", "Signature"]

FUNCTIONS = Registry((*AGGREGATES, *STRINGS))
"""Every function of the language."""
