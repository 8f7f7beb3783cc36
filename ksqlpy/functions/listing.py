"""Writes the functions as data: ``python -m ksqlpy.functions.listing`` renews ``grammar/functions.toml``.

With an argument it writes there instead.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ksqlpy.functions import FUNCTIONS

__all__ = ["DEFAULT", "listing", "main"]

DEFAULT = Path(__file__).resolve().parents[2] / "grammar" / "functions.toml"
"""The file in a checkout."""

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


def _text(value: str) -> str:
    # JSON quotes and escapes as TOML does, as long as it leaves other alphabets alone.
    return json.dumps(value, ensure_ascii=False)


def main(arguments: list[str]) -> None:
    """Writes the file; ``arguments``: at most its path."""
    target = Path(arguments[0]) if arguments else DEFAULT
    target.write_text(listing(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
