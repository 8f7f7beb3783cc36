"""Refuses columns that their format cannot carry: each format is asked (:mod:`ksqlpy.formats.contract`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sqlglot import exp

from ksqlpy.analysis.scope import Text
from ksqlpy.catalog import PartSpec, Source
from ksqlpy.formats import FORMATS

__all__ = ["check_formats"]


def check_formats(source: Source, text: Text, node: exp.Expr, named: Mapping[str, exp.Expr] | None = None) -> None:
    """Refuses columns that their format cannot carry; raises AnalysisProblem ``bad-format``.

    ``named``: where the properties stand; else ``node`` is the place of a refusal.
    """
    places = named or {}
    both = places.get("FORMAT", node)
    _check("key", source.key, text, places.get("KEY_FORMAT", both))
    _check("value", source.value, text, places.get("VALUE_FORMAT", both))


def _check(which: Literal["key", "value"], spec: PartSpec, text: Text, node: exp.Expr) -> None:
    refusal = FORMATS[spec.format].refusal(which, spec.columns)
    if refusal is not None:
        text.refuse("bad-format", refusal.message, node, hint=refusal.hint)
