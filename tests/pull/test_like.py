"""LIKE in pull queries: what matches, and that no pattern takes for ever."""

from __future__ import annotations

import random
from functools import cache

import pytest

from ksqlpy.analysis import typed as t
from ksqlpy.reading.conditions import condition_of
from ksqlpy.types import BOOLEAN, STRING


def like(text: str, pattern: str) -> bool:
    condition = condition_of(t.Like(BOOLEAN, t.ColumnRef(STRING, "NAME"), t.Literal(STRING, pattern), None))
    assert condition is not None
    return bool(condition({"NAME": text}))


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("invoice 17", "invoice%", True),
        ("invoice 17", "%17", True),
        ("invoice 17", "inv%ice%", True),
        ("invoice 17", "invoice", False),
        ("invoice 17", "invoice _7", True),
        ("17 17", "%17%17%17%", False),
        ("two\nlines", "two%lines", True),
        ("100%", "100\\%", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("", "%", True),
        ("", "_", False),
        ("", "", True),
        ("aa", "a%a", True),
        ("a", "a%a", False),
    ],
)
def test_like(text: str, pattern: str, matches: bool) -> None:
    assert like(text, pattern) is matches


def test_as_by_its_definition() -> None:
    @cache
    def by_definition(text: str, pattern: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "%":
            return any(by_definition(text[i:], pattern[1:]) for i in range(len(text) + 1))
        return bool(text) and pattern[0] in ("_", text[0]) and by_definition(text[1:], pattern[1:])

    source = random.Random(7)
    for _ in range(5_000):
        text = "".join(source.choices("ab", k=source.randrange(8)))
        pattern = "".join(source.choices("ab%_", k=source.randrange(7)))
        assert like(text, pattern) == by_definition(text, pattern), (text, pattern)


@pytest.mark.parametrize(
    "pattern", ["%" + "a%" * 30 + "b", "a" + "%a" * 30 + "%b%", "%" * 1_000 + "b", "%" + "_a%" * 30 + "b"]
)
def test_a_pattern_with_many_percent_signs_ends(pattern: str) -> None:
    """Tried in all ways, it would take longer than the age of the universe."""
    assert not like("a" * 2_000, pattern)
