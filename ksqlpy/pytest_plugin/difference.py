"""The rows that a test expects against those that came, for people."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from ksqlpy.pytest_plugin.rows import Deleted

__all__ = ["difference"]

_MOST = 60
"""Lines of a difference; of more, the beginning is shown."""


def difference(wanted: Sequence[Mapping[str, Any]], came: Sequence[Mapping[str, Any]]) -> list[str] | None:
    """A line for each row, those that differ marked; None where all are equal.

    Columns that no wanted row names are not compared; of deleted rows those that a wanted deleted row names.
    """
    names = _names(wanted, deleted=False) or _names(came, deleted=False)
    keys = _names(wanted, deleted=True) or _names(came, deleted=True)
    expected, found = ([_only(row, keys if isinstance(row, Deleted) else names) for row in r] for r in (wanted, came))
    if expected == found and [*map(type, expected)] == [*map(type, found)]:
        return None
    lines: list[str] = []
    left, right = [*map(_line, expected)], [*map(_line, found)]
    for kind, i, j, k, m in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += [f"    {line}" for line in left[i:j]]
        else:
            lines += [f"  - {line}" for line in left[i:j]] + [f"  + {line}" for line in right[k:m]]
    return lines if len(lines) <= _MOST else [*lines[:_MOST], f"    … {len(lines) - _MOST} more lines"]


def _names(rows: Sequence[Mapping[str, Any]], *, deleted: bool) -> list[str]:
    return [*dict.fromkeys(n for row in rows if isinstance(row, Deleted) is deleted for n in row)]


def _only(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    if "unreadable" in row:
        return dict(row)
    made: dict[str, Any] = Deleted() if isinstance(row, Deleted) else {}
    made.update((n, row.get(n)) for n in names)
    return made


def _line(row: dict[str, Any]) -> str:
    if isinstance(row, Deleted):
        return repr(row)
    return f"{{{', '.join(f'{n}: {v!r}' for n, v in row.items())}}}"
