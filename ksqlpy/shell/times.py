"""Times of rows for people: what is a point in time is shown as one, not as milliseconds.

The texts are those that statements take: ``WHERE WINDOWSTART >= '2024-05-06T07:00:00.000Z'``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

__all__ = ["MODES", "shown_time", "time_types"]

MODES = ("utc", "local", "millis")
"""Times of UTC, those of this machine's time zone, or the values as the server gives them."""

_NAMES = ("ROWTIME", "WINDOWSTART", "WINDOWEND")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_types(names: Sequence[str], types: Sequence[str], mode: str) -> tuple[list[str], frozenset[int]]:
    """The types as they are shown, and which columns are times.

    They are the columns of TIMESTAMP, and ROWTIME, WINDOWSTART and WINDOWEND, of a join with the name of a source in
    front: A_ROWTIME. In the mode ``millis`` no column is.
    """
    if mode == "millis":
        return list(types), frozenset()
    found = frozenset(i for i, (n, t) in enumerate(zip(names, types, strict=True)) if _is_time(n, t))
    return [f"{mode.upper()} TIME" if i in found else t for i, t in enumerate(types)], found


def _is_time(name: str, type: str) -> bool:
    return type == "TIMESTAMP" or (type == "BIGINT" and name.rpartition("_")[2] in _NAMES)


def shown_time(value: object, mode: str) -> object:
    """A time, from milliseconds or a TIMESTAMP's text, with its zone; as it is where Python has no such year."""
    try:
        if isinstance(value, int):
            time = _EPOCH + timedelta(milliseconds=value)
        elif isinstance(value, str):
            time = datetime.fromisoformat(value).replace(tzinfo=UTC)
        else:
            return value
        if mode == "local":
            return time.astimezone().isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return value
    return f"{time.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
