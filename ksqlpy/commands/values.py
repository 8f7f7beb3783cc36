"""Values of options, checked where argparse reads them."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

__all__ = ["count", "moment", "pair", "probability", "rate", "seconds"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 253_402_300_799_999
"""The last millisecond of the year 9999."""


def count(text: str) -> int:
    """A whole number from 1."""
    if not text.replace("_", "").isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def pair(text: str) -> tuple[str, str]:
    """``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value


def moment(text: str) -> int:
    """A time as milliseconds since 1970: digits are these, all else is ISO 8601; without a zone it is UTC.

    A part of a millisecond counts as a whole one: no record of a whole millisecond lies between.
    """
    try:
        if text.isascii() and text.isdigit():
            found = int(text)
        else:
            given = datetime.fromisoformat(text.strip())
            since = (given if given.tzinfo is not None else given.replace(tzinfo=UTC)) - _EPOCH
            found = (since.days * 86_400 + since.seconds) * 1000 - -since.microseconds // 1000
    except ValueError:
        found = -1
    if not 0 <= found <= _LAST:
        message = f"{text!r} is no time from 1970 on, such as 2026-01-31T08:00:00Z, or milliseconds since 1970"
        raise argparse.ArgumentTypeError(message)
    return found


def seconds(text: str) -> float:
    """A time in seconds, more than 0."""
    return _positive(text, text, "no time in seconds")


def rate(text: str) -> float:
    """Records a second, more than 0: ``100`` or ``100/s``."""
    return _positive(text.removesuffix("/s"), text, "no rate such as 100/s")


def probability(text: str) -> float:
    """From 0 to 1."""
    found = _number(text)
    if found is None or not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return found


def _positive(text: str, written: str, complaint: str) -> float:
    found = _number(text)
    if found is None or not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"{written!r} is {complaint}")
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
