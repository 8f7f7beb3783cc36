"""Tables that fit a terminal: how wide each column is, and when rows stand upright instead.

Widths are columns of the terminal. All functions are pure: names and cells in, lines out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from types import MappingProxyType

from ksqlpy.shell.text import cut, fold, pad, text_width

__all__ = ["CELL_LINES", "TYPE_WIDTHS", "Layout", "fitted", "stream_layout", "upright"]

TYPE_WIDTHS: Mapping[str, int] = MappingProxyType(
    {"BOOLEAN": 7, "INTEGER": 11, "BIGINT": 13, "DOUBLE": 12, "STRING": 16, "DATE": 10, "TIME": 12, "TIMESTAMP": 23}
    | {"UTC TIME": 24, "LOCAL TIME": 29}
)
"""Room for the values of a streamed column, by type; 16 for the others. See :mod:`.times` for the last two."""

NARROW = 12
"""So narrow may a column become so that a table fits; with less the rows stand upright."""

CELL_LINES = 20
"""So many lines does a value get in a terminal; the rest is counted. JSON and CSV have it whole."""


@dataclass(frozen=True)
class Layout:
    """The columns of a table: widths, which are right-aligned, what stands between; ``wrap``: long values fold."""

    widths: tuple[int, ...]
    right: tuple[bool, ...]
    gap: str = "  "
    wrap: bool = True

    def row(self, cells: Sequence[str]) -> Iterator[str]:
        """The lines of a row."""
        if all(len(c) <= w and text_width(c) <= w for c, w in zip(cells, self.widths, strict=True)):
            yield self._line(cells)
            return
        if not self.wrap:
            yield self._line([cut(c, w) for c, w in zip(cells, self.widths, strict=True)])
            return
        columns = [_folded(c, w) for c, w in zip(cells, self.widths, strict=True)]
        for parts in zip_longest(*columns, fillvalue=""):
            yield self._line(parts)

    def loose(self, cells: Sequence[str]) -> str:
        """A row on one line, where longer values take the room that they need."""
        return self._line(cells)

    def rule(self, line: str = "-", cross: str = "") -> str:
        """The line under the names."""
        return (cross or self.gap).join(line * w for w in self.widths)

    def _line(self, cells: Sequence[str]) -> str:
        padded = (pad(c, w, r) for c, w, r in zip(cells, self.widths, self.right, strict=True))
        return self.gap.join(padded).rstrip()


def _folded(cell: str, width: int) -> list[str]:
    lines = list(islice(fold(cell, width), CELL_LINES + 1))
    if len(lines) > CELL_LINES:
        lines = [*lines[: CELL_LINES - 1], *fold(f"… ({len(cell):,} characters)", width)]
    return lines


def fitted(
    names: Sequence[str], rows: Sequence[Sequence[str]], room: int, *, wrap: bool, width: int = 0
) -> Layout | None:
    """The layout of a finished table; None if its rows must stand upright to fit into ``room``.

    ``width``: the one of all columns, 0: as their values need.
    """
    natural = [max(map(text_width, column)) for column in zip(names, *rows, strict=True)]
    widths = [width] * len(names) if width else _shrunk(natural, room - 2 * (len(names) - 1))
    return Layout(tuple(widths), (False,) * len(names), wrap=wrap) if widths else None


def _shrunk(widths: list[int], room: int) -> list[int] | None:
    """Widths that fit: the widest give way first, down to NARROW."""
    if sum(widths) <= room:
        return widths
    if sum(min(w, NARROW) for w in widths) > room:
        return None
    low, high = NARROW, max(widths)
    while low < high:  # the largest width that no column may exceed
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sum(min(w, middle) for w in widths) <= room else (low, middle - 1)
    left = room - sum(min(w, low) for w in widths)
    shrunk = []
    for w in widths:
        more = 1 if w > low and left > 0 else 0
        left -= more
        shrunk.append(min(w, low + more))
    return shrunk


def stream_layout(
    names: Sequence[str], types: Sequence[str], room: int | None, *, wrap: bool, width: int = 0
) -> Layout | None:
    """The layout of rows that are still to come, by their types; None if they must stand upright.

    ``room``: of the terminal; None where there is none, and each value takes what it needs.
    """
    right = tuple(t in ("INTEGER", "BIGINT", "DOUBLE") or t.startswith("DECIMAL") for t in types)
    usual = [max(text_width(n), _usual(t)) for n, t in zip(names, types, strict=True)]
    if room is None:
        return Layout(tuple(usual), right, " | ")
    if width:
        return Layout((width,) * len(names), right, " | ", wrap)
    inner = room - 3 * (len(names) - 1)
    if sum(usual) > inner:
        # Numbers and times do not become readable by folding.
        least = [min(w, NARROW) if _elastic(t) else w for w, t in zip(usual, types, strict=True)]
        if sum(least) > inner:
            return None
        usual = least
    elastic = [i for i, t in enumerate(types) if _elastic(t)]
    spare = min(inner - sum(usual), 16 * len(elastic))
    for count, i in enumerate(elastic):
        more = spare // (len(elastic) - count)
        usual[i] += more
        spare -= more
    return Layout(tuple(usual), right, " | ", wrap)


def _usual(type: str) -> int:
    digits = type.removeprefix("DECIMAL(").partition(",")[0]
    return int(digits) + 2 if type.startswith("DECIMAL(") and digits.isdigit() else TYPE_WIDTHS.get(type, 16)


def _elastic(type: str) -> bool:
    """Whether values of the type have no usual width."""
    return type == "STRING" or (type not in TYPE_WIDTHS and not type.startswith("DECIMAL"))


def upright(names: Sequence[str], cells: Sequence[str], title: str, room: int | None, line: str = "-") -> Iterator[str]:
    """The lines of a row that stands upright: a title, then a line for each column."""
    yield f"{line}[ {title} ]".ljust(min(room or 40, 40), line)
    width = min(max(map(text_width, names), default=0), max((room or 200) // 2 - 3, 4))
    rest = None if room is None else max(room - width - 3, 8)
    for name, cell in zip(names, cells, strict=True):
        first, *more = (
            [cell] if rest is None or (len(cell) <= rest and text_width(cell) <= rest) else _folded(cell, rest)
        )
        yield f"{pad(cut(name, width), width)} | {first}".rstrip()
        for part in more:
            yield f"{' ' * width} | {part}"
