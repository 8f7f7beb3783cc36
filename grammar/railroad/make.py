"""Draws ksql.lark: one railroad diagram a rule, and a page that shows them all. ``make grammar`` runs it.

With an argument it draws into that folder instead of the one it lies in. Needs the package railroad-diagrams.
"""

from __future__ import annotations

import re
import sys
from io import StringIO
from itertools import pairwise
from pathlib import Path

import railroad
from railroad import DiagramItem

FOLDER = Path(__file__).resolve().parent
GRAMMAR = FOLDER.parent / "ksql.lark"

_HEAD = """# Railroad diagrams

Drawn from [`ksql.lark`](../ksql.lark) by `make grammar`; not to be edited. Round boxes are words and symbols as one
writes them, square ones are other diagrams, or at the end of the page what one fills in.
"""

_LEAVES = {
    "NAME": "plain name",
    "QUOTED_NAME": "`quoted name`",
    "CALL_NAME": "name of a function",
    "TYPE_NAME": "name of a type",
    "STRING": "'string'",
    "SOURCE_TEXT": "$$ text $$",
    "DIGIT_STRING": "'digits'",
    "INTEGER": "whole number",
    "PRECISION": "1 or more",
    "SCALE": "whole number",
    "DECIMAL_NUMBER": "number with a point",
    "DOUBLE_NUMBER": "number with an exponent",
}
"""What stands for the terminals of the grammar."""

_RULE = re.compile(r"^(?P<name>[a-z_]+): (?P<body>.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_PART = re.compile(r'\s*(?:"(?P<word>[^"]+)"i?|(?P<leaf>[A-Z_]+)|(?P<rule>[a-z_]+)|(?P<sign>[()|?*+]))')


class _Reader:
    """Reads the right side of a rule and draws it."""

    def __init__(self, body: str) -> None:
        self.parts = list(_PART.finditer(body))
        self.index = 0

    def sign(self, *signs: str) -> str:
        if self.index < len(self.parts) and (found := self.parts[self.index]["sign"]) in signs:
            self.index += 1
            return str(found)
        return ""

    def choice(self) -> DiagramItem:
        options = [self.sequence()]
        while self.sign("|"):
            options.append(self.sequence())
        return options[0] if len(options) == 1 else railroad.Choice(0, *options)

    def sequence(self) -> DiagramItem:
        items: list[tuple[str, DiagramItem]] = []
        while self.index < len(self.parts) and self.parts[self.index]["sign"] not in ("|", ")"):
            begin = self.index
            item = self.atom()
            text = self.text(begin)
            repeat = self.sign("?", "*", "+")
            if repeat == "*" and items and (separator := self.separator(begin, items[-1][0])) is not None:
                items[-1] = ("", railroad.OneOrMore(items[-1][1], separator))
            elif repeat == "?":
                items.append(("", railroad.Optional(item)))
            elif repeat:
                items.append(("", railroad.ZeroOrMore(item) if repeat == "*" else railroad.OneOrMore(item)))
            else:
                items.append((text, item))
        drawn = [item for _, item in items]
        return drawn[0] if len(drawn) == 1 else railroad.Sequence(*drawn)

    def separator(self, begin: int, before: str) -> DiagramItem | None:
        """What stands between in ``item (separator item)*``; None for another group."""
        inner = self.parts[begin + 1 : self.index - 2]
        ends = [i for i in range(1, len(inner)) if "".join(p[0].strip() for p in inner[i:]) == before]
        if self.parts[begin]["sign"] != "(" or not ends:
            return None
        reader = _Reader("".join(p[0] for p in inner[: ends[0]]))
        return reader.choice()

    def text(self, begin: int) -> str:
        return "".join(p[0].strip() for p in self.parts[begin : self.index])

    def atom(self) -> DiagramItem:
        if self.sign("("):
            inner = self.choice()
            self.index += 1
            return inner
        part = self.parts[self.index]
        self.index += 1
        if part["word"] is not None:
            return railroad.Terminal(part["word"])
        return railroad.NonTerminal(part["rule"] if part["rule"] is not None else _LEAVES[part["leaf"]])


def diagrams(grammar: str) -> dict[str, str]:
    """The files by their names: an SVG a rule, and README.md with all of them, section by section."""
    files: dict[str, str] = {}
    page = [_HEAD]
    for before, line in pairwise(grammar.splitlines()):
        if before.startswith("// ----"):
            page.append(f"## {before.strip('/- ').capitalize()}\n")
        if (rule := re.match(r"[a-z_]+(?=:)", line)) is not None:
            page.append(f"**{rule[0]}** ({before.lstrip('/ ')})\n\n![{rule[0]}]({rule[0]}.svg)\n")
    for found in _RULE.finditer(grammar):
        out = StringIO()
        railroad.Diagram(_Reader(found["body"]).choice()).writeStandalone(out.write)
        files[f"{found['name']}.svg"] = out.getvalue().rstrip("\n") + "\n"
    files["README.md"] = "\n".join(page)
    return files


def main(arguments: list[str]) -> None:
    """Writes the files and removes those of rules that are gone; ``arguments``: at most the folder."""
    folder = Path(arguments[0]) if arguments else FOLDER
    files = diagrams(GRAMMAR.read_text(encoding="utf-8"))
    for old in folder.glob("*.svg"):
        if old.name not in files:
            old.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
