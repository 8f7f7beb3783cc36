"""The data of the language: its words. Read by the tokenizer, the completer and the tests.

The written grammar (``ksql.lark``) lies beside this file for people and for tests; nothing runs from it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["by_place", "non_reserved", "reserved"]

if __name__ != "ksqlpy.grammar":  # from the root of a checkout
    raise ImportError("this is a part of ksqlpy: import ksqlpy.grammar")


@cache
def _sections() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    current: set[str] | None = None
    for line in files(__name__).joinpath("keywords.txt").read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text.startswith("#"):
            current = found.setdefault(text.lstrip("# ").split(":", 1)[0].strip(), set())
        elif text and current is not None:
            current.update(text.split())
    return {name: frozenset(words) for name, words in found.items()}


def reserved() -> frozenset[str]:
    """The words, in upper case, that may stand as a name only in quotes."""
    return _sections()["reserved"]


def non_reserved() -> frozenset[str]:
    """The words, in upper case, that mean something in one place and are plain names everywhere else."""
    return _sections()["non-reserved"]


def by_place() -> frozenset[str]:
    """The words, in upper case, that ksqlDB does not have: plain names, save where it has an error."""
    return _sections()["by place"]
