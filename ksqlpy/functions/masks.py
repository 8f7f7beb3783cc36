"""Functions that cover the characters of a text.

Source of the semantics: ksqlDB's MASK functions. All are Java: what is covered with what depends on each character.
"""

from __future__ import annotations

from ksqlpy.functions.signatures import Scalar, Signature, SparkText
from ksqlpy.functions.sparktext import java
from ksqlpy.types import INTEGER, STRING

__all__ = ["MASKS"]

_USUAL = ("'X'", "'x'", "'n'", "'-'")
_FOUR = (STRING,) * 4
_KINDS = ("capitals", "small", "digits", "others")
_WITH = (
    "capitals by X, small letters by x, digits by n, others by -, or by four characters that are given; "
    "a null leaves its kind as it is"
)


def _masked(function: str, count: int) -> SparkText:
    """``count``: how many arguments stand before the masks."""
    return lambda a, t: java(function, *a, *(_USUAL if len(a) == count else ()))


def _counted(name: str, function: str, what: str) -> Scalar:
    return Scalar(
        name,
        "STRING",
        f"The text with {what} covered: {_WITH}; null for a negative number.",
        f"{name}(CARD, 4)",
        tuple(
            Signature(
                (STRING, INTEGER, *masks),
                STRING,
                _masked(function, 2),
                nulls=frozenset(range(2, 6)),
                names=("text", "count", *_KINDS),
            )
            for masks in ((), _FOUR)
        ),
    )


MASKS = (
    Scalar(
        "MASK",
        "STRING",
        f"The text with every character covered: {_WITH}.",
        "MASK(NAME, '*', '*', NULL, NULL)",
        tuple(
            Signature(
                (STRING, *masks),
                STRING,
                _masked("Masks.All", 1),
                nulls=frozenset(range(1, 5)),
                names=("text", *_KINDS),
            )
            for masks in ((), _FOUR)
        ),
    ),
    _counted("MASK_LEFT", "Masks.Left", "its first so many characters"),
    _counted("MASK_RIGHT", "Masks.Right", "its last so many characters"),
    _counted("MASK_KEEP_LEFT", "Masks.KeepLeft", "all but its first so many characters"),
    _counted("MASK_KEEP_RIGHT", "Masks.KeepRight", "all but its last so many characters"),
)
