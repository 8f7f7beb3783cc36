"""Functions with regular expressions, which are Java's.

Source of the semantics: ksqlDB's REGEXP functions. All are Java: Spark's own end the query at a wrong pattern or group,
and give an empty text where there is no match.
"""

from __future__ import annotations

from ksqlpy.functions.signatures import Scalar, Signature, SparkText
from ksqlpy.functions.sparktext import java
from ksqlpy.types import INTEGER, STRING, ArrayType, SqlType

__all__ = ["REGEXES"]


def _group(function: str) -> SparkText:
    return lambda a, t: java(function, *a, *(() if len(a) == 3 else ("0",)))


def _extract(name: str, function: str, help: str, returns: SqlType) -> Scalar:
    return Scalar(
        name,
        "REGEX",
        help,
        f"{name}('([0-9]+) km', NOTE, 1)",
        tuple(
            Signature((STRING, STRING, *group), returns, _group(function), names=("pattern", "text", "group"))
            for group in ((), (INTEGER,))
        ),
    )


REGEXES = (
    _extract(
        "REGEXP_EXTRACT",
        "Regexes.Extract",
        "What the pattern, the first argument, matches first in the text, or a group of it; null if nothing or no such "
        "group.",
        STRING,
    ),
    _extract(
        "REGEXP_EXTRACT_ALL",
        "Regexes.ExtractAll",
        "Everything that the pattern, the first argument, matches in the text, or a group of each; null if there is no "
        "such group.",
        ArrayType(STRING),
    ),
    Scalar(
        "REGEXP_REPLACE",
        "REGEX",
        "The text with everything that the pattern matches replaced; $1 in the new text is the first group.",
        "REGEXP_REPLACE(NOTE, '([0-9]+) km', '$1 kilometres')",
        (
            Signature(
                (STRING, STRING, STRING),
                STRING,
                lambda a, t: java("Regexes.Replace", *a),
                names=("text", "pattern", "new"),
            ),
        ),
    ),
    Scalar(
        "REGEXP_SPLIT_TO_ARRAY",
        "REGEX",
        "The parts of the text between what the pattern matches, empty ones included; an empty pattern splits into "
        "characters.",
        "REGEXP_SPLIT_TO_ARRAY(TAGS, ' *, *')",
        (
            Signature(
                (STRING, STRING),
                ArrayType(STRING),
                lambda a, t: java("Regexes.Split", *a),
                names=("text", "pattern"),
            ),
        ),
    ),
)
