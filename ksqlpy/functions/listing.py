"""Writes the functions down: ``python -m ksqlpy.functions.listing`` renews ``functions.toml`` and ``functions.md``.

They lie in ``grammar``; with an argument, a folder, it writes there instead.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ksqlpy.functions import FUNCTIONS, Function, Signature

__all__ = ["DEFAULT", "listing", "main", "manual"]

DEFAULT = Path(__file__).resolve().parents[2] / "grammar"
"""The folder in a checkout."""

_HEAD = """\
# All functions. Written by `python -m ksqlpy.functions.listing` from ksqlpy/functions/; not to be edited.
# takes: the parameters; … after the last: it may be repeated. returns: absent where it follows from the arguments.
"""


def listing() -> str:
    """The functions as TOML, by name."""
    blocks = [_HEAD]
    for function in FUNCTIONS.functions.values():
        lines = ["[[function]]"]
        for key in ("name", "kind", "category", "help", "example"):
            lines.append(f"{key} = {_text(getattr(function, key))}")
        lines.append("signatures = [")
        for signature in function.signatures:
            fixed = "" if callable(signature.returns) else f", returns = {_text(str(signature.returns))}"
            lines.append(f"    {{ takes = {_text(str(signature))}{fixed} }},")
        lines.append("]")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def manual() -> str:
    """The functions for people, in Markdown: a table a category."""
    functions = FUNCTIONS.functions.values()
    blocks = [_MANUAL.format(count=len(functions))]
    for kind, what in _KINDS.items():
        for category in sorted({f.category for f in functions if f.kind == kind}):
            title = what if category == kind else f"{what}: {category.lower()}"
            rows = [f for f in functions if (f.kind, f.category) == (kind, category)]
            lines = [
                f"## {title}",
                "",
                "| function | takes | gives | example | null for null | failures |",
                "|---|---|---|---|---|---|",
            ]
            lines += [_row(f) for f in rows]
            blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


_KINDS = {"SCALAR": "Scalar functions", "AGGREGATE": "Aggregate functions", "TABLE": "Table functions"}

_MANUAL = """\
# Functions

All {count} of them. Written by `make grammar` from `ksqlpy/functions/`; not to be edited. `SHOW FUNCTIONS;` and
`DESCRIBE FUNCTION name;` tell the same. Names are case-insensitive. A call that fails for a row gives null.
"null for null" says whether a null argument makes the result null: yes, no, or which arguments do; aggregates leave
nulls out unless their line says more. Where a null by an error can be told from another null, it is counted (DESCRIBE
name EXTENDED: failed values), as failures of CAST and of arithmetic are; of all other functions it is a null like any
other.
"""


def _row(function: Function) -> str:
    takes = "<br>".join(_cell(str(s)) for s in function.signatures)
    gives = "<br>".join(
        "by its arguments" if callable(s.returns) else _cell(str(s.returns)) for s in function.signatures
    )
    name = f"**{function.name}** {_cell(function.help, code=False)}"
    return (
        f"| {name} | {takes} | {gives} | {_cell(function.example)} | {_null_rule(function)} | {_failures(function)} |"
    )


def _failures(function: Function) -> str:
    signatures = [s for s in function.signatures if isinstance(s, Signature)]
    return "counted" if any(s.fails for s in signatures) else ""


def _null_rule(function: Function) -> str:
    if function.kind == "AGGREGATE":
        return "ignored"
    rules = set()
    for signature in function.signatures:
        assert isinstance(signature, Signature)
        count = len(signature.parameters)
        needed = signature.needs(count)
        if len(needed) == count:
            rules.add("yes")
        else:
            rules.add("argument " + ", ".join(str(i + 1) for i in needed) if needed else "no")
    return " or ".join(sorted(rules, reverse=True))


def _cell(text: str, *, code: bool = True) -> str:
    escaped = text.replace("|", "\\|").replace("\n", " ")
    return f"`{escaped}`" if code else escaped.replace("<", "&lt;")


def _text(value: str) -> str:
    # JSON quotes and escapes as TOML does, as long as it leaves other alphabets alone.
    return json.dumps(value, ensure_ascii=False)


def main(arguments: list[str]) -> None:
    """Writes the files; ``arguments``: at most their folder."""
    folder = Path(arguments[0]) if arguments else DEFAULT
    (folder / "functions.toml").write_text(listing(), encoding="utf-8")
    (folder / "functions.md").write_text(manual(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
