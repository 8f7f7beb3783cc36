"""Results for people and for programs: entities and rows as tables, as JSON or as CSV.

A kind of entity that is not in :data:`SHOWN` is shown as indented JSON, so that nothing of a newer server is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TextIO

from ksqlpy.shell.entities import SHORT, SHOWN, Entity
from ksqlpy.shell.screen import Screen
from ksqlpy.shell.tables import Layout, fitted, stream_layout, upright
from ksqlpy.shell.text import cell_text, csv_line, escaped, fold, json_line, json_text
from ksqlpy.shell.times import shown_time, time_types

__all__ = ["FORMATS", "SHOWN", "Printer", "cell_text", "escaped"]

FORMATS = ("table", "json", "csv")


class Printer:
    """Prints results: format ``table``, ``json`` (one object a line) or ``csv``.

    ``vertical``: whether rows stand upright: ``auto``, where they do not fit the terminal, ``on`` or ``off``; ``wrap``:
    whether long values are folded on a terminal, or cut; ``column_width``: of all columns there, 0: as needed;
    ``times``: how tables show times, see :data:`.times.MODES`. JSON and CSV have them as the server gives them.
    """

    def __init__(self, output: str = "table", stream: TextIO | None = None) -> None:
        self.format = output
        self.screen = Screen(stream)
        self.vertical = "auto"
        self.wrap = True
        self.column_width = 0
        self.times = "millis"
        self.rows_shown = 0
        self._block: bool | None = None
        self._names: list[str] = []
        self._layout: Layout | None = None
        self._times = frozenset[int]()
        self._loose = True

    @property
    def json(self) -> bool:
        """Whether results are JSON."""
        return self.format == "json"

    # -------------------------------------------------------- entities

    def entities(self, entities: Iterable[Entity]) -> None:
        """Prints what statements gave."""
        for entity in entities:
            if self.json:
                self.data(entity)
                continue
            show = SHOWN.get(str(entity.get("@type")))
            self._part(block=show not in SHORT)
            try:
                if show is None:
                    raise KeyError
                show(self, entity)
            except (KeyError, TypeError, AttributeError, IndexError):
                self._line(escaped(json.dumps(entity, indent=2, ensure_ascii=False), keep="\n"))
            for warning in entity.get("warnings") or []:
                self._line(f"warning: {escaped(str(warning.get('message')))}")

    def data(self, value: object, indent: int | None = None) -> None:
        """Prints a value of a command that gives JSON, not entities or rows."""
        self._json(json.dumps(value, indent=indent, ensure_ascii=False))

    def _part(self, block: bool) -> None:
        """Puts an empty line between blocks; messages of one line stand close together."""
        if self._block is not None and (block or self._block) and self.format != "csv":
            self._line("")
        self._block = block

    def begin(self) -> None:
        """Says that what comes next is the answer to something new: no line is left empty before it."""
        self._block = None

    def text(self, text: str) -> None:
        """Prints lines."""
        self._line(escaped(text, keep="\n"))

    def facts(self, facts: Mapping[str, object]) -> None:
        """Prints names and values, one pair a line; leaves out what is not there."""
        shown = {k: v for k, v in facts.items() if v not in (None, "", [], {})}
        if self.format == "csv":
            for name, value in shown.items():
                self._csv([name, value])
            return
        width = max((len(k) for k in shown), default=0)
        for name, value in shown.items():
            lines = escaped(value, keep="\n").rstrip().split("\n") if isinstance(value, str) else [_plain(value)]
            rest = None if self.screen.room is None else max(self.screen.room - width - 3, 8)
            first, *more = lines if rest is None else [part for line in lines for part in [*fold(line, rest)] or [""]]
            self._line(f"{name.ljust(width)} : {first}")
            for line in more:
                self._line(f"{' ' * width}   {line}")

    def table(self, names: Sequence[str], rows: Iterable[Sequence[object]], nothing: str = "nothing to show") -> None:
        """Prints a table: fitted to a terminal, in plain columns elsewhere."""
        rows = list(rows)
        if self.format == "csv":
            self._csv(list(names))
            for row in rows:
                self._csv(list(row))
            return
        cells = [[_plain(value) for value in row] for row in rows]
        if not cells:
            self._line(f"({nothing})")
            return
        room, layout = self.screen.room, None
        if self.vertical != "on":
            width = self.column_width if room is not None else 0
            fits = self.vertical == "auto" and room is not None
            layout = fitted(names, cells, room if fits and room else 10**9, wrap=self.wrap, width=width)
        if layout is None:
            self._upright(names, cells, room)
            return
        self._names_row(names, layout)
        for row in cells:
            for line in layout.row(row):
                self._line(line)

    def _names_row(self, names: Sequence[str], layout: Layout, cross: str = "") -> None:
        for line in replace(layout, right=(False,) * len(names)).row(names):
            self._line(self.screen.styled(line, "name"))
        pretty = self.screen.is_terminal and self.screen.unicode
        rule = layout.rule("─" if pretty else "-", cross.replace("-", "─").replace("+", "┼") if pretty else cross)
        self._line(self.screen.styled(rule, "rule"))

    def _upright(self, names: Sequence[str], rows: Iterable[Sequence[str]], room: int | None, start: int = 1) -> None:
        pretty = self.screen.is_terminal and self.screen.unicode
        for number, row in enumerate(rows, start):
            title, *lines = upright(names, row, f"{number:,}", room, "─" if pretty else "-")
            self._line(self.screen.styled(title, "rule"))
            for line in lines:
                self._line(line)

    # -------------------------------------------------------- rows

    def header(self, header: Entity) -> None:
        """Prints the names of a query's columns; its rows follow with :meth:`row`."""
        self._names = [str(n) for n in header["columnNames"]]
        self.rows_shown = 0
        types = [str(t) for t in header.get("columnTypes") or []] or [""] * len(self._names)
        if self.json:
            return
        self._part(block=True)
        if self.format == "csv":
            self._csv(list(self._names))
            return
        types, self._times = time_types(self._names, types, self.times)
        self._names = [escaped(n) for n in self._names]
        room = None if self.vertical == "off" else self.screen.room
        self._layout, self._loose = None, room is None
        if self.vertical != "on":
            width = self.column_width
            self._layout = stream_layout(self._names, types, room, wrap=self.wrap, width=width)
        if self._layout is not None:
            self._names_row(self._names, self._layout, "-+-")

    def row(self, row: Sequence[object]) -> None:
        """Prints a row at once; elsewhere than on a terminal all of it: a long value takes the room it needs."""
        self.rows_shown += 1
        if self.json:
            self._json(json_text(dict(zip(self._names, row, strict=True))))
        elif self.format == "csv":
            self._csv(list(row))
        elif self._layout is None:
            self._upright(self._names, [self._cells(row)], self.screen.room, self.rows_shown)
        elif self._loose:
            self._line(self._layout.loose(self._cells(row)))
        else:
            for line in self._layout.row(self._cells(row)):
                self._line(line)

    def _cells(self, row: Sequence[object]) -> list[str]:
        times = self._times
        return [cell_text(shown_time(v, self.times) if times and i in times else v) for i, v in enumerate(row)]

    def _csv(self, values: list[object]) -> None:
        self._line(csv_line(values, escape=self.screen.is_terminal))

    def _json(self, text: str) -> None:
        self._line(json_line(text, self.screen.unicode))

    def _line(self, text: str) -> None:
        self.screen.line(text)


def _plain(value: object) -> str:
    return "" if value is None else cell_text(value)
