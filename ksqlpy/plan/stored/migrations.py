"""The version of stored plans, and how older ones become those of today.

A change of a class that a stored plan holds needs a new version and a step here, unless it is a new field with a
default (fields that have their default are not stored) or a new name in the code. Steps stay for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["MIGRATIONS", "VERSION", "migrated"]

VERSION = 1
"""The version that is written."""

Step = Callable[[dict[str, Any]], dict[str, Any]]

MIGRATIONS: Mapping[int, Step] = {}
"""By version: makes an object of the next version of one of it. Each object is given, inner ones first."""


def migrated(data: Any, version: int, steps: Mapping[int, Step] = MIGRATIONS, wanted: int = VERSION) -> Any:
    """Stored data of an older version as that of today; raises ValueError for a version that is not known."""
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= wanted:
        raise ValueError(f"it is of version {version!r} of stored plans, this version of ksqlpy knows 1 to {wanted}")
    for number in range(version, wanted):
        data = _changed(data, steps[number])
    return data


def _changed(data: Any, step: Step) -> Any:
    if isinstance(data, list):
        return [_changed(item, step) for item in data]
    if isinstance(data, dict):
        inside = {name: _changed(value, step) for name, value in data.items()}
        return step(inside) if "@" in inside else inside
    return data
