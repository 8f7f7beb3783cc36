"""Whether plain data that was read has the shape of a dataclass: all fields, and values of their types."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

__all__ = ["checked", "named"]


def named(data: object, kind: type, what: str) -> Mapping[str, Any]:
    """The data, if it is an object with all fields of the dataclass and no others.

    Raises ValueError, which calls it ``what``.
    """
    if not isinstance(data, dict):
        raise ValueError(f"its {what} is no object")
    known = {f.name: f for f in fields(kind)}
    wanted = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    for name in wanted:
        if name not in data:
            raise ValueError(f"its {what} has no field {name}")
    for name in data:
        if name not in known:
            raise ValueError(f"its {what} has a field {name} that this version does not know")
    return data


def checked(value: Any, what: str) -> None:
    """Raises ValueError if a field of a dataclass holds a value of another type than it should; also in its parts."""
    hints = get_type_hints(type(value))
    for field in fields(value):
        found = getattr(value, field.name)
        if not _fits(found, hints[field.name]):
            raise ValueError(f"its {what} has a field {field.name} of a wrong type")


def _fits(value: object, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, a) for a in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = [arguments[0]] * len(value) if arguments[-1] is ... else arguments
        return len(value) == len(each) and all(map(_fits, value, each))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(k, arguments[0]) and _fits(v, arguments[1]) for k, v in value.items()
        )
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if not isinstance(value, hint):
        return False
    if is_dataclass(value):
        try:
            checked(value, what="part")
        except ValueError:
            return False
    return True
