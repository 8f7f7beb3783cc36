"""Tokens, comments and a layout become text."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.project.comments import Gap
from ksqlpy.project.layout import Group, Layout
from ksqlpy.sql.tokens import RESERVED, WORD, Token

__all__ = ["STEP", "WIDTH", "printed"]

WIDTH = 88
"""So many characters fit on a line."""

STEP = "  "
"""By so much an inner line stands further in."""

_CONSTANTS = ("END", "NULL", "TRUE", "FALSE")


def printed(tokens: Sequence[Token], gaps: Sequence[Gap], layout: Layout, sql: str) -> str:
    """The text of a statement from its first token to its semicolon.

    ``gaps``: those ahead of the tokens; of the first one only what leads it counts here.
    """
    return _Printer(tokens, gaps, layout, sql).text()


class _Printer:
    def __init__(self, tokens: Sequence[Token], gaps: Sequence[Gap], layout: Layout, sql: str) -> None:
        self.gaps = gaps
        self.layout = layout
        self.words = [self._word(i, t, sql) for i, t in enumerate(tokens)]
        self.symbols = [self._symbol(i, t) for i, t in enumerate(tokens)]
        self.signs = {i for i, s in enumerate(self.symbols) if s in ("-", "+") and not self._operand(i - 1)}
        self.blanks = [self._blank(i) for i in range(len(tokens))]
        self._flat_ends = self._flat()
        self._out: list[str] = []
        self._column = 0
        self._broken: dict[int, bool] = {}  # by id of group
        self._new_lines: set[int] = set()
        self._opening: dict[int, list[Group]] = {}
        for group in sorted(layout.groups, key=lambda g: -g.end):
            self._opening.setdefault(group.start, []).append(group)
        forced = [i for i, g in enumerate(gaps) if i and g.breaks]
        self._forced = {id(g) for g in layout.groups if any(g.start < i < g.end for i in forced)}

    # ------------------------------------------------------------ tokens

    def _word(self, i: int, token: Token, sql: str) -> str:
        written = sql[token.start : token.end + 1]
        if token.token_type == RESERVED or (token.token_type == WORD and i not in self.layout.names):
            return written.upper()
        return written

    def _symbol(self, i: int, token: Token) -> str:
        """A symbol; else one letter: W a keyword, V what may be an operand."""
        written = self.words[i]
        if written[0].isalnum() or written[0] in "_'`\"$" or (written[0] == "." and len(written) > 1):
            keyword = token.token_type in (RESERVED, WORD) and i not in self.layout.names
            return "W" if keyword and written not in _CONSTANTS else "V"
        return written

    def _operand(self, i: int) -> bool:
        """Whether an operand ends here, so that a sign behind it is an operator."""
        return i >= 0 and self.symbols[i] in ("V", ")", "]")

    def _blank(self, i: int) -> str:
        """What stands ahead of a token that begins no line."""
        if i == 0:
            return ""
        before, here, layout = self.symbols[i - 1], self.symbols[i], self.layout
        if here in (",", ";", ")", "]", ".", "->", "[") or before in ("(", "[", ".", "->"):
            return ""
        if i - 1 in self.signs:  # two signs in a row would begin a comment
            return " " if here == "-" and before == "-" else ""
        if here == "(":
            return "" if i - 1 in layout.calls else " "
        if i in layout.angles:
            return " " if before == "<" and here == ">" else ""
        if i - 1 in layout.angles and before == "<":
            return ""
        return " "

    # ------------------------------------------------------------ widths

    def _inline(self, i: int) -> str:
        """What stands ahead of a token on the same line, comments included."""
        leading = [c.text for c in self.gaps[i].comments]
        if not leading:
            return self.blanks[i]
        after = "" if self.symbols[i] in (",", ";", ")", "]", ".", "->") else " "
        before = "" if i == 0 or self.symbols[i - 1] in ("(", "[") else " "
        return before + " ".join(leading) + after

    def _flat(self) -> list[int]:
        """Where each token would end if all stood on one line."""
        ends, at = [], 0
        for i, word in enumerate(self.words):
            at += (len(self._inline(i)) if i else 0) + len(word)
            ends.append(at)
        return ends

    def _fits(self, group: Group) -> bool:
        """Whether the group, and what follows up to the next possible line end, fits on the line."""
        last = group.end
        while last < len(self.words) and not (last in self.layout.breaks and self._may_break(last)):
            last += 1
        begin = self._flat_ends[group.start] - len(self.words[group.start])
        return self._column + self._flat_ends[last - 1] - begin <= WIDTH

    def _may_break(self, place: int) -> bool:
        return self._broken.get(id(self.layout.breaks[place]), True) or self.gaps[place].breaks

    # ------------------------------------------------------------ lines

    def text(self) -> str:
        for i, word in enumerate(self.words):
            if i == 0:
                self._write("".join(f"{c.text} " for c in self.gaps[0].comments if c.place == "LEADING"))
            else:
                self._gap(i)
            for group in self._opening.get(i, ()):
                self._broken[id(group)] = id(group) in self._forced or not self._fits(group)
            self._write(word)
        return "".join(self._out)

    def _write(self, text: str) -> None:
        self._out.append(text)
        head, line_end, tail = text.rpartition("\n")
        self._column = len(tail) if line_end else self._column + len(head or tail)

    def _gap(self, i: int) -> None:
        gap = self.gaps[i]
        if not gap.breaks and not self._breaks(i):
            self._write(self._inline(i) + self._pad(i))
            return
        self._new_lines.add(i)
        indent = self._indent(i)
        # A comment ahead of a closing bracket stands with what is in the brackets.
        inner = indent + STEP if self.symbols[i] in (")", "]", ">") else indent
        for comment in gap.comments:
            if comment.place == "TRAILING":
                self._write(f" {comment.text}")
            elif comment.place == "OWN":
                self._write(f"\n{inner}{comment.text}")
        self._write(f"\n{indent}")
        for comment in gap.comments:
            if comment.place == "LEADING":
                self._write(f"{comment.text} ")

    def _breaks(self, i: int) -> bool:
        group = self.layout.breaks.get(i)
        if group is None or not self._broken[id(group)]:
            return False
        unless = self.layout.unless.get(i)
        return unless is None or not self._broken[id(unless)]

    def _indent(self, i: int) -> str:
        steps = sum(
            1
            for n in self.layout.indents
            if n.first <= i <= n.last and (n.only_after is None or n.only_after in self._new_lines)
        )
        # Where only a comment ends the line, the rest of the part stands further in.
        return STEP * (steps + (i not in self.layout.breaks and self.symbols[i] != ";"))

    def _pad(self, i: int) -> str:
        group, width = self.layout.pads.get(i, (None, 0))
        return " " * width if group is not None and self._broken[id(group)] else ""
