"""Whether a topic holds what a case expects: count, order, and each record, by the rules of ksqlDB's own runner."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from .cases import Case, Written, json_text
from .encoding import Double, Seen

__all__ = ["Difference", "compare", "same"]


class Difference(Exception):
    """What differs: ``what`` is a short word for grouping, the message says it in full."""

    def __init__(self, what: str, message: str) -> None:
        super().__init__(message)
        self.what = what


def compare(case: Case, topics: Mapping[str, Sequence[Seen]], *, lax: bool) -> None:
    """Raises Difference for the first topic that is not as expected; ``lax`` takes every fraction for a double."""
    lax = lax or str(case.properties.get("use.exact.numeric.comparison", "")).lower() == "false"
    for topic in dict.fromkeys(r.topic for r in case.outputs):
        expected = [r for r in case.outputs if r.topic == topic]
        actual = topics.get(topic)
        if actual is None:
            raise Difference("no topic", f"there is no topic {topic}")
        for i, (e, a) in enumerate(zip(expected, actual, strict=False)):
            _compare_record(e, a, f"{topic}[{i}]", timed=bool(case.inputs) or e.time != 0, lax=lax)
        if len(expected) != len(actual):
            fewer = "fewer" if len(actual) < len(expected) else "more"
            further = expected[len(actual)] if fewer == "fewer" else actual[len(expected)]
            shown = f"{_shown(further.key)} {_shown(further.value)}"
            raise Difference(
                f"{'no' if not actual else fewer} records",
                f"{topic}: {len(actual)} records, not {len(expected)}; next: {shown}",
            )


def _compare_record(expected: Written, actual: Seen, where: str, *, timed: bool, lax: bool) -> None:
    if expected.window != actual.window:
        raise Difference("window", f"{where}: window {actual.window}, not {expected.window}")
    for what, e, a in (("key", expected.key, actual.key), ("value", expected.value, actual.value)):
        if not same(e, a, lax=lax):
            tombstone = " (tombstone)" if a is None or e is None else ""
            raise Difference(f"{what}{tombstone}", f"{where}: {what} {_shown(a)}, not {_shown(e)}")
    if timed and expected.time is not None and expected.time != actual.time:
        raise Difference("timestamp", f"{where}: timestamp {actual.time}, not {expected.time}")
    headers = tuple((n, None if v is None else base64.b64decode(v)) for n, v in expected.headers)
    if headers != actual.headers:
        raise Difference("headers", f"{where}: headers {actual.headers}, not {headers}")


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, bytes) else json_text(value)


_LONG = 2**63
_SHORTEST = 16
"""Digits of a DOUBLE above which the Java of an expectation may not have written its shortest text."""


def same(expected: Any, actual: Any, *, lax: bool) -> bool:
    """Whether a tree is the expected one; the expected node's kind decides how it is compared."""
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping) or len(actual) != len(expected):
            return False
        for name, value in expected.items():
            found = actual.get(name)
            if not same(value, actual.get(name.upper()) if found is None else found, lax=lax):
                return False
        return True
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(same(e, a, lax=lax) for e, a in zip(expected, actual, strict=True))
        )
    if isinstance(expected, bool) or expected is None:
        return actual is expected
    if isinstance(expected, int | Decimal):
        return _same_number(expected, actual, lax=lax)
    return _same_text(str(expected), actual)


def _same_number(expected: int | Decimal, actual: Any, *, lax: bool) -> bool:
    if isinstance(actual, bool) or not isinstance(actual, int | float | Decimal):
        return False
    if isinstance(actual, float) or lax:
        return abs(float(actual) - float(expected)) < 1e-6 or float(actual) == float(expected)
    if isinstance(actual, int):
        return -_LONG <= actual < _LONG and actual == int(expected)
    if isinstance(expected, int):
        return _scale(actual) <= 0 and actual == expected
    if isinstance(actual, Double) and len(expected.as_tuple().digits) > _SHORTEST:
        return float(actual) == float(expected)
    return actual == expected and _scale(actual) == _scale(expected)


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _same_text(expected: str, actual: Any) -> bool:
    if isinstance(actual, str):
        return actual == expected
    if isinstance(actual, bytes):
        return actual == expected.encode() or base64.b64encode(actual).decode() == expected
    if isinstance(actual, Decimal):
        try:
            wanted = Decimal(expected)
        except ArithmeticError:
            return False
        return actual == wanted and _scale(actual) == _scale(wanted)
    return False
