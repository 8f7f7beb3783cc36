"""What is known of one property."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ksqlpy.config.checks import text

__all__ = ["Property"]


@dataclass(frozen=True)
class Property:
    """One property.

    ``check`` gives the canonical text or raises ValueError with what is wanted. ``session``: whether a statement's SET
    or ``streamsProperties`` may change it. ``secret``: its value is not shown.
    """

    name: str
    default: str
    help: str
    check: Callable[[str], str] = text
    session: bool = False
    secret: bool = False
