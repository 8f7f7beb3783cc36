"""Texts that stand where a constant of another type is wanted: a text that is none is refused before anything is run.

What is read here, and what is not, is the same as in the JVM (``TextCast.java``, and ``try_to_binary`` for BYTES).
Source of the rules: ksqlDB's parser of partial timestamps, and its coercion of literals.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from ksqlpy.analysis.scope import Text
from ksqlpy.types import BYTES, DATE, TIME, TIMESTAMP, SqlType

__all__ = ["check_text", "is_constant"]

_BLANKS = "".join(map(chr, range(33)))
_DATE = re.compile(r"([+-]?\d{4,9})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d{1,9})?)?)?", re.ASCII)
_ZONE = re.compile(r"(.*?)(?:Z|[+-](\d{2})(?::?(\d{2}))?)", re.ASCII)
_BASE64 = re.compile(r"([A-Za-z0-9+/]*)(={0,2})")

_FORMS: dict[SqlType, str] = {
    DATE: "write 2024-05-06; day and month may be left out",
    TIME: "write 07:08:09.123; what is behind the hour may be left out",
    TIMESTAMP: "write 2024-05-06T07:08:09.123, with a zone as in …+02:00 if it is not UTC; what is behind the year may"
    " be left out",
    BYTES: "write it in base64",
}
_NO: dict[SqlType, str] = {DATE: "date", TIME: "time of day", TIMESTAMP: "time", BYTES: "base64 text"}


def check_text(raw: str, wanted: SqlType, node: exp.Expr, text: Text) -> None:
    """Refuses a text that is no constant of the type; of types that others see to it says nothing. AnalysisProblem."""
    if is_constant(raw, wanted):
        return
    message, hint = f"{raw!r} is no {_NO[wanted]}, and one is wanted here", _FORMS[wanted]
    if wanted == BYTES:
        text.refuse("invalid-bytes", message, node, hint=hint)
    text.refuse("invalid-time", message, node, hint=hint)


def is_constant(raw: str, wanted: SqlType) -> bool:
    """Whether a text can be read as a date, a time, a timestamp or BYTES; of other types always."""
    return wanted not in _READS or _READS[wanted](raw.strip(_BLANKS))


def _day(text: str, *, clamped: bool = False) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    if not 1 <= month <= 12 or not _FIRST_YEAR <= year <= _LAST_YEAR:
        return False
    long_february = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = 31 if clamped else (29 if long_february else 28) if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    return 1 <= day <= days


_FIRST_YEAR, _LAST_YEAR = -290_307, 294_246
"""Whole years that Spark's microseconds hold."""


def _clock(text: str) -> bool:
    found = _TIME.fullmatch(text)
    return found is not None and int(found[1]) <= 23 and all(int(found[n] or 0) <= 59 for n in (2, 3))


def _instant(text: str) -> bool:
    split = max(text.find("T"), text.find(" "))
    if split < 0:
        return _day(text, clamped=True)
    rest = text[split + 1 :]
    zoned = _ZONE.fullmatch(rest)
    if zoned is not None:
        hours, minutes = int(zoned[2] or 0), int(zoned[3] or 0)
        if minutes > 59 or hours * 60 + minutes > 18 * 60:
            return False
        rest = zoned[1]
    return _day(text[:split], clamped=True) and _clock(rest)


def _base64(text: str) -> bool:
    found = _BASE64.fullmatch("".join(text.split()))
    if found is None:
        return False
    digits, padding = map(len, found.groups())
    return (digits + padding) % 4 == 0 if padding else digits % 4 != 1


_READS: dict[SqlType, Callable[[str], bool]] = {DATE: _day, TIME: _clock, TIMESTAMP: _instant, BYTES: _base64}
