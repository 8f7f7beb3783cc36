"""The syntax of a statement for people, drawn from its rule in ``grammar/ksql.lark``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

__all__ = ["rules", "syntax"]

_INLINE = ("or_replace", "if_not_exists", "if_exists", "source_kind", "absent", "timeout", "limit", "with", "columns")
"""Rules that are written out where they stand."""

_SPOKEN = {"STRING": "'…'", "INTEGER": "n", "create_query": "CREATE … AS query", "insert_query": "INSERT INTO … query"}
"""What stands for a rule or a token."""

_PART = re.compile(r'"(?P<word>[^"]+)"i?|(?P<name>[A-Za-z_]+)|(?P<mark>[()|?*+])')


@cache
def rules() -> Mapping[str, str]:
    """The rules of the grammar by name, each on one line."""
    found: dict[str, str] = {}
    name = ""
    for line in files("ksqlpy.grammar").joinpath("ksql.lark").read_text(encoding="utf-8").splitlines():
        start = re.match(r"([a-z_]+): (.*)", line)
        if start:
            name = start[1]
            found[name] = start[2]
        elif line.startswith("    |") and name:
            found[name] += " " + line.strip()
        elif not line.startswith("//"):
            name = ""
    return found


def syntax(rule: str) -> list[str]:
    """The forms of a rule: words in capitals, [what may be missing], a | b, names of other rules in lower case."""
    return [" ".join(_drawn(form)) for form in _alternatives(_parts(rule))]


def _alternatives(parts: list[str]) -> Iterator[list[str]]:
    """What stands between the bars; alternatives inside of brackets stay together."""
    depth, form = 0, list[str]()
    for part in parts:
        depth += (part == "(") - (part == ")")
        if part == "|" and depth == 0:
            yield form
            form = []
        else:
            form.append(part)
    yield form


def _parts(rule: str) -> list[str]:
    parts = []
    for found in _PART.finditer(rules()[rule]):
        if found["name"] in _INLINE:
            parts += ["(", *_parts(found["name"]), ")"]
        else:
            # A word in quotes keeps them here, so that a bracket of the language is none of the grammar.
            parts.append(f'"{found["word"]}' if found["word"] else found[0])
    return parts


def _drawn(parts: list[str]) -> Iterator[str]:
    """The parts as people write syntax."""
    at = 0
    while at < len(parts):
        part = parts[at]
        if part == "(":
            end = _closing(parts, at)
            inner, at = parts[at + 1 : end], end + 1
            text, simple = " ".join(_drawn(inner)), len(list(_alternatives(inner))) == 1
        elif part == "|":
            yield "|"
            at += 1
            continue
        else:
            text = part[1:] if part.startswith('"') else _SPOKEN.get(part, part.replace("_", " ").lower())
            simple, at = True, at + 1
        mark = parts[at] if at < len(parts) and parts[at] in ("?", "*", "+") else ""
        at += bool(mark)
        if mark == "?":
            yield f"[{text}]"
        elif mark == "*":
            yield f"[{text} …]"
        elif mark == "+":
            yield f"{text} …"
        else:
            yield text if simple else f"{{{text}}}"


def _closing(parts: list[str], at: int) -> int:
    depth = 0
    for end in range(at, len(parts)):
        depth += (parts[end] == "(") - (parts[end] == ")")
        if depth == 0:
            return end
    raise ValueError("a bracket of the grammar is not closed")
