"""Dead letters without a topic: what reads one is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from ksqlpy.deadletters import Letter, Letters, Summary
from ksqlpy.runtime import letterbox

__all__ = ["lie_there"]


def lie_there(patch: pytest.MonkeyPatch, letters: Iterable[Letter]) -> None:
    """These letters lie in each topic of letters."""
    known = list(letters)

    def counted(connection: object, topic: str, takes: Callable[[Letter], bool]) -> Summary:
        found = Summary(takes)
        for letter in known:
            found.add(letter)
        return found

    patch.setattr(letterbox, "read_letters", lambda connection, topic: Letters(topic, list(known)))
    patch.setattr(letterbox, "count_letters", counted)
