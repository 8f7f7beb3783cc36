"""Values of options, checked where argparse reads them."""

from __future__ import annotations

import argparse

__all__ = ["count", "pair", "probability", "rate", "seconds"]


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
