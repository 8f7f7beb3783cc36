"""Texts that stand where a constant of another type is wanted: a text that is none is refused before anything is run.

What is read here, and what is not, is the same as in the JVM (``TextCast.java``, and ``try_to_binary`` for BYTES).
Source of the rules: ksqlDB's parser of partial timestamps, and its coercion of literals.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from datetime import date

from sqlglot import exp

from ksqlpy.analysis.scope import Text
from ksqlpy.types import BYTES, DATE, TIME, TIMESTAMP, SqlType

__all__ = ["check_text", "constant_of", "is_constant"]

_BLANKS = "".join(map(chr, range(33)))
_DATE = re.compile(r"([+-]?\d{4,9})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?", re.ASCII)
_END = re.compile(r"24(?::00?(?::00?(?:\.0{1,9})?)?)?", re.ASCII)
"""The end of a day, in a timestamp only: the first moment of the next one."""
_ZONE = re.compile(r"(.*?)(?:Z|([+-])(\d{2})(?::?(\d{2}))?)", re.ASCII)
_BASE64 = re.compile(r"([A-Za-z0-9+/]*)(={0,2})")

_FORMS: dict[SqlType, str] = {
    DATE: "write 2024-05-06; day and month may be left out",
    TIME: "write 07:08:09.123; what is behind the hour may be left out",
    TIMESTAMP: "write 2024-05-06T07:08:09.123, with a zone as in …+02:00 if it is not UTC; what is behind the year may"
    " be left out",
    BYTES: "write it in base64",
}
_NO: dict[SqlType, str] = {DATE: "date", TIME: "time of day", TIMESTAMP: "time", BYTES: "base64 text"}


def check_text(raw: str, wanted: SqlType, node: exp.Expr | None, text: Text) -> None:
    """Refuses a text that is no constant of the type; of types that others see to it says nothing. AnalysisProblem."""
    if is_constant(raw, wanted):
        return
    message, hint = f"{raw!r} is no {_NO[wanted]}, and one is wanted here", _FORMS[wanted]
    if wanted == BYTES:
        text.refuse("invalid-bytes", message, node, hint=hint)
    text.refuse("invalid-time", message, node, hint=hint)


def is_constant(raw: str, wanted: SqlType) -> bool:
    """Whether a text can be read as a date, a time, a timestamp or BYTES; of other types always."""
    return wanted not in _READS or constant_of(raw, wanted) is not None


def constant_of(raw: str, wanted: SqlType) -> int | bytes | None:
    """The value of such a text as codecs have it, see :class:`ksqlpy.formats.Codec`; None where it is none."""
    return _READS[wanted](raw.strip(_BLANKS)) if wanted in _READS else None


def _day(text: str, *, clamped: bool = False) -> int | None:
    """Days since 1970."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    if not 1 <= month <= 12 or not _FIRST_YEAR <= year <= _LAST_YEAR:
        return None
    long_february = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (29 if long_february else 28) if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    if not 1 <= day <= (31 if clamped else days):
        return None
    # Python has the years 1 to 9999 only; the calendar is the same again after 400 years.
    cycles, same = divmod(year - 2000, 400)
    return date(2000 + same, month, min(day, days)).toordinal() - _EPOCH + cycles * _CYCLE_DAYS


_FIRST_YEAR, _LAST_YEAR = -290_307, 294_246
"""Whole years that Spark's microseconds hold."""
_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE_DAYS = 146_097
_DAY_MS = 86_400_000


def _clock(text: str) -> int | None:
    """Milliseconds of the day."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds = (int(found[n] or 0) for n in (1, 2, 3))
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(((found[4] or "") + "000")[:3])


def _instant(text: str) -> int | None:
    """Milliseconds since 1970."""
    split = max(text.find("T"), text.find(" "))
    day = _day(text if split < 0 else text[:split], clamped=True)
    if day is None or split < 0:
        return None if day is None else day * _DAY_MS
    rest, zone = text[split + 1 :], 0
    zoned = _ZONE.fullmatch(rest)
    if zoned is not None:
        hours, minutes = int(zoned[3] or 0), int(zoned[4] or 0)
        if minutes > 59 or hours * 60 + minutes > 18 * 60:
            return None
        rest, zone = zoned[1], (hours * 60 + minutes) * 60_000 * (-1 if zoned[2] == "-" else 1)
    clock = _DAY_MS if _END.fullmatch(rest) else _clock(rest)
    return None if clock is None else day * _DAY_MS + clock - zone


def _base64(text: str) -> bytes | None:
    digits = "".join(text.split())
    found = _BASE64.fullmatch(digits)
    if found is None:
        return None
    said, padding = map(len, found.groups())
    if (said + padding) % 4 != 0 if padding else said % 4 == 1:
        return None
    return b64decode(found[1] + "=" * (-said % 4))


_READS: dict[SqlType, Callable[[str], int | bytes | None]] = {
    DATE: _day,
    TIME: _clock,
    TIMESTAMP: _instant,
    BYTES: _base64,
}
