"""A bound on the types that are made of a schema of the registry.

What refers to others by name can be short and stand for very much: records that hold the next one twice, forty levels
deep, have a million million fields.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from ksqlpy.formats.subjects import Unsupported

__all__ = ["bounded", "one_more"]

MOST = 20_000
"""Fields, items and values of a schema, each as often as it is referred to."""

P = ParamSpec("P")
R = TypeVar("R")

_left: ContextVar[list[int] | None] = ContextVar("types left", default=None)


def bounded(made: Callable[P, R]) -> Callable[P, R]:
    """A function that makes a type of a schema; raises Unsupported where that is too large or nested too deeply."""

    @wraps(made)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        token = _left.set([MOST])
        try:
            return made(*args, **kwargs)
        except RecursionError as e:
            raise Unsupported("it is nested too deeply") from e
        finally:
            _left.reset(token)

    return within


def one_more() -> None:
    """To be called for each type; raises Unsupported when there are too many."""
    left = _left.get()
    if left is not None:
        left[0] -= 1
        if left[0] < 0:
            raise Unsupported(f"it has more than {MOST} fields, each as often as it is referred to")
