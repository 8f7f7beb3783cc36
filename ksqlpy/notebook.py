"""The cell magic ``%%ksql`` of IPython and Jupyter.

    %load_ext ksqlpy
    %ksql http://127.0.0.1:8088

    %%ksql --plot
    SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone EMIT CHANGES;

Without a line ``%ksql …`` the first cell starts an embedded engine, which ends with the notebook's process. A query
whose rows go on coming shows them in a table that changes, until its LIMIT, until ``--seconds``, or until the cell is
interrupted. ``--plot`` shows bars of the last number of each row; ``--rows N`` how many rows are seen; ``--into NAME``
gives the rows a name, as a list. ``:name`` in a query is the value of that name in the notebook.
"""

from __future__ import annotations

import argparse
import atexit
import html
import shlex
import threading
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from ksqlpy.errors import ConfigProblem, KsqlError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ksqlpy.session.result import Result
    from ksqlpy.session.rows import Row
    from ksqlpy.session.session import Session

__all__ = ["KsqlMagic", "Shown", "load_ipython_extension", "unload_ipython_extension"]

_LOOK = 0.25
"""Seconds between two views of a table that changes."""


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigProblem(
            "bad-option", f"%%ksql: {message}", hint="the options are --plot, --rows, --seconds, --into"
        )


def _options() -> _Options:
    parser = _Options(prog="%%ksql", add_help=False, allow_abbrev=False)
    parser.add_argument("--plot", action="store_true")
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--into")
    return parser


class Refused(Exception):
    """What ended a cell; IPython shows its drawing, and not the way through the magic."""

    def __init__(self, error: KsqlError) -> None:
        super().__init__(error.summary())
        self.error = error

    def _render_traceback_(self) -> list[str]:
        return self.error.render().split("\n")


class KsqlMagic:
    """The magic of one notebook, and its session."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._own: Session | None = None
        self._given: Session | None = None

    # ------------------------------------------------------------ the session

    @property
    def session(self) -> Session:
        """The session of the cells; starts an embedded engine if there is none."""
        found = self._given if self._given is not None else self._own
        if found is None or found.closed:
            from ksqlpy.session.embedded import Engine

            found = self._own = Engine()
            self._given = None
        return found

    def line(self, line: str) -> None:
        """``%ksql URL`` asks that server from now on; ``%ksql NAME`` the session that has the name in the notebook."""
        from ksqlpy.session.remote import connect
        from ksqlpy.session.session import Session

        word = line.strip()
        if not word:
            print(self.session)
            return
        named = self._shell.user_ns.get(word)
        if isinstance(named, Session):
            self.close()
            self._given = named
            return
        try:
            session = connect(word)
        except KsqlError as e:
            raise Refused(e) from e
        self.close()
        self._own = session

    def close(self) -> None:
        """Ends the session if it is its own."""
        own, self._own, self._given = self._own, None, None
        if own is not None:
            own.close()

    # ------------------------------------------------------------ cells

    def cell(self, line: str, cell: str) -> None:
        """``%%ksql``: runs the statements of the cell, and shows what they answer and the rows of its queries."""
        try:
            options = _options().parse_args(shlex.split(line))
            for text in _statements(cell):
                self._run(text, options)
        except KsqlError as e:
            raise Refused(e) from e

    def _run(self, text: str, options: argparse.Namespace) -> None:
        from ksqlpy.session.binding import first_word
        from ksqlpy.sql.tokens import parameters

        if first_word(text) not in ("SELECT", "WITH", "("):
            for answer in self.session.sql(text):
                print(answer.text)
            return
        names = {p.name for p in parameters(text)} & {*self._shell.user_ns}
        values = {name: self._shell.user_ns[name] for name in names}
        with self.session.query(text, **values) as result:
            rows = self._show(result, options)
        if options.into is not None:
            self._shell.user_ns[options.into] = rows

    def _show(self, result: Result, options: argparse.Namespace) -> list[Row]:
        """Shows the rows while they come; an interruption ends the query and leaves what is seen."""
        rows: list[Row] = []
        view = (_Live if hasattr(self._shell, "kernel") else _Printed)([c.name for c in result.columns], options)
        come = threading.Event()
        result.listen(come.set)
        until = None if options.seconds is None else time.monotonic() + options.seconds
        try:
            while (more := result.ready()) is not None:
                rows += more
                if more:
                    view.more(rows, len(more))
                if until is not None and time.monotonic() >= until:
                    break
                if not more:
                    come.wait(_LOOK if until is None else min(_LOOK, max(0.0, until - time.monotonic())))
                    come.clear()
        except KeyboardInterrupt:
            pass
        view.end(rows)
        return rows


class _Live:
    """A table, or bars, that change where they stand."""

    def __init__(self, names: Sequence[str], options: argparse.Namespace) -> None:
        display: Any = import_module("IPython.display").display
        self._names, self._options = names, options
        self._handle = display(self._seen([], open=True), display_id=True)
        self._next = 0.0

    def more(self, rows: Sequence[Row], new: int) -> None:
        """Rows have come; a view is not changed more often than people see."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LOOK
            self._handle.update(self._seen(rows, open=True))

    def end(self, rows: Sequence[Row]) -> None:
        """No more come."""
        self._handle.update(self._seen(rows, open=False))

    def _seen(self, rows: Sequence[Row], *, open: bool) -> Shown:
        return Shown(self._names, rows, self._options.rows, plot=self._options.plot, open=open)


class _Printed:
    """The same in a terminal, where nothing changes that was printed: rows follow each other."""

    def __init__(self, names: Sequence[str], options: argparse.Namespace) -> None:
        self._names, self._options = names, options
        self._begun = False

    def more(self, rows: Sequence[Row], new: int) -> None:
        """Rows have come."""
        if not self._options.plot:
            if not self._begun:
                print("  ".join(self._names))
            self._begun = True
            for row in rows[-new:]:
                print("  ".join(map(_text, row)))

    def end(self, rows: Sequence[Row]) -> None:
        """No more come."""
        if self._options.plot or not rows:
            print(repr(Shown(self._names, rows, self._options.rows, plot=self._options.plot)))
        else:
            print(_counted(len(rows)))


def _statements(cell: str) -> list[str]:
    """The statements of a cell, the last of which may have no semicolon; raises SyntaxProblem."""
    from ksqlpy.sql.tokens import parameters, tokenize

    plain = cell
    for parameter in parameters(cell):  # which are not of the language
        start, end = parameter.span.start, parameter.span.end
        plain = f"{plain[:start]}{'0' * (end - start)}{plain[end:]}"
    tokens = tokenize(plain)
    ends = [t.end + 1 for t in tokens if t.text == ";"]
    if tokens and tokens[-1].text != ";":
        ends.append(len(cell))
    return [cell[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


# ---------------------------------------------------------------- what is seen


class Shown:
    """Rows as a table or as bars, in HTML and as text; the last ones of many.

    ``open``: whether more are to come.
    """

    def __init__(
        self, names: Sequence[str], rows: Sequence[Sequence[Any]], most: int, *, plot: bool = False, open: bool = False
    ) -> None:
        self._names = names
        self._count = len(rows)
        self._rows = [*rows[-most:]] if most > 0 else []
        self._bars = _bars(rows) if plot else None
        self._open = open

    def __repr__(self) -> str:
        if self._bars is not None:
            return "\n".join([*_drawn(self._bars), self._end()])
        cells = [[*self._names], *([*map(_text, row)] for row in self._rows)]
        widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(c + " " * (w - _width(c)) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:], self._end()])

    def _repr_html_(self) -> str:
        end = f"<p>{html.escape(self._end())}</p>"
        if self._bars is not None:
            return _drawn_html(self._bars) + end
        head = "".join(f"<th>{html.escape(n)}</th>" for n in self._names)
        rows = [
            "".join(f"<td{_RIGHT if _is_number(v) else ''}>{html.escape(_text(v))}</td>" for v in row)
            for row in self._rows
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{end}"

    def _end(self) -> str:
        said = _counted(self._count)
        if self._bars is None and self._count > len(self._rows):
            said = f"the last {len(self._rows)} of {said}"
        return f"{said}, and more are to come" if self._open else said


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


_RIGHT = ' style="text-align:right"'
_WIDTH = 40
"""Characters of the longest bar."""


def _bars(rows: Sequence[Sequence[Any]]) -> dict[str, float]:
    """The last number of each row by the text of its first value; of rows that begin alike, of the last one."""
    found: dict[str, float] = {}
    for row in rows:
        number = next((v for v in reversed(row) if _is_number(v)), None)
        if number is not None:
            found[_text(row[0])] = float(number)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _drawn(bars: Mapping[str, float]) -> list[str]:
    width = max(map(_width, bars), default=0)
    longest = max((v for v in bars.values() if v > 0), default=1.0)
    return [f"{n}{' ' * (width - _width(n))}  {'█' * _share(v, longest)} {v:g}" for n, v in bars.items()]


def _share(value: float, longest: float) -> int:
    """Characters of a bar; none for what is no positive number."""
    return round(_WIDTH * value / longest) if 0 < value < float("inf") and longest < float("inf") else 0


def _drawn_html(bars: Mapping[str, float]) -> str:
    longest = max((v for v in bars.values() if v > 0), default=1.0)
    rows = (
        f'<tr><td>{html.escape(n)}</td><td><div style="background:#4878a8;height:1em;'
        f'width:{_share(v, longest) / 2:g}em"></div></td><td{_RIGHT}>{v:g}</td></tr>'
        for n, v in bars.items()
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _text(value: object) -> str:
    return "null" if value is None else str(value)


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


# ---------------------------------------------------------------- the extension


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What ``%load_ext ksqlpy`` calls."""
    magic = KsqlMagic(shell)
    register: Any = shell.register_magic_function  # whose types are not those that it takes
    register(magic.cell, "cell", "ksql")
    register(magic.line, "line", "ksql")
    atexit.register(magic.close)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """What ``%unload_ext ksqlpy`` calls: ends the session of the cells."""
    for kind in ("cell", "line"):
        found = shell.magics_manager.magics[kind].pop("ksql", None)
        magic = getattr(found, "__self__", None)
        if isinstance(magic, KsqlMagic):
            magic.close()
            atexit.unregister(magic.close)
