"""Where the shell writes: a stream, its size and colours, and the spool file that gets a copy."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from ksqlpy.errors import ConfigProblem, file_reason
from ksqlpy.shell import pager
from ksqlpy.shell.text import text_width

__all__ = ["PLAIN", "STYLES", "Screen", "has_colours"]

STYLES = {"name": "1", "rule": "2", "dim": "2", "error": "1;31", "hint": "36", "good": "32", "keyword": "1;34"}
"""What a part of the output looks like, as numbers of ANSI's SGR sequence."""

PLAIN = re.compile(r"\x1b\[[0-9;]*m")


def has_colours(stream: TextIO) -> bool:
    """Whether the stream is a terminal that should get colours: not with NO_COLOR, nor with TERM=dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


class Screen:
    """A stream for lines. ``paging``: whether what is printed under :meth:`paged` goes through a pager, see there."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._spool: TextIO | None = None
        self._held: list[str] | None = None
        self._height = 0
        self._pager: pager.Pager | None = None
        self.paging = "on"

    @property
    def stream(self) -> TextIO:
        """Standard output if no other was given; looked up late, since tests and others replace it."""
        return self._stream or sys.stdout

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads the stream."""
        return self.stream.isatty()

    @property
    def unicode(self) -> bool:
        """Whether the stream takes more than ASCII."""
        return (getattr(self.stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")

    @property
    def room(self) -> int | None:
        """The columns of the terminal; None where the stream is none."""
        if not self.is_terminal:
            return None
        try:
            columns = os.get_terminal_size(self.stream.fileno()).columns
        except (OSError, ValueError, AttributeError):
            columns = 0
        return max(columns or shutil.get_terminal_size().columns, 8)

    def styled(self, text: str, style: str) -> str:
        """The text as :data:`STYLES` says, where there are colours."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if text and has_colours(self.stream) else text

    def line(self, text: str) -> None:
        """Writes a line at once, but under :meth:`paged`; the spool gets it without colours."""
        if self._pager is not None:
            self._pager.line(text)
        elif self._held is not None:
            self._hold(text, self._held)
        else:
            print(text, file=self.stream, flush=True)
        self.copy(text)

    @property
    def in_pager(self) -> bool:
        """Whether a pager has the terminal now."""
        return self._pager is not None

    @property
    def left(self) -> bool:
        """Whether the person has left the pager, so that more lines are for nobody."""
        return self._pager is not None and self._pager.left

    @contextlib.contextmanager
    def paged(self) -> Iterator[None]:
        """Holds the lines of the block; once they are more than the terminal has, they go into a pager as they come.

        ``paging`` ``off``: never; ``always``: also when they are few. Elsewhere than on a terminal lines go on at once.
        """
        dumb = os.environ.get("TERM", "dumb") == "dumb"
        command = None if self.paging == "off" or not self.is_terminal or dumb else pager.pager()
        if command is None or self._held is not None:
            yield
            return
        self._held, self._height = [], 0
        try:
            yield
        finally:
            lines, self._held = self._held, None
            if self._pager is None and lines and self.paging == "always":
                self._open_pager(lines)
            if self._pager is None:
                for line in lines:
                    print(line, file=self.stream)
                self.stream.flush()
            else:
                self._pager.close()
                self._pager = None

    def _hold(self, text: str, held: list[str]) -> None:
        held.append(text)
        columns = self.room or 80
        parts = PLAIN.sub("", text).split("\n")
        self._height += sum(max(1, -(-text_width(part) // columns)) for part in parts)
        if self._height >= self._terminal().lines:
            self._open_pager(held)

    def _open_pager(self, lines: Iterable[str]) -> None:
        command = pager.pager()
        if command is not None:
            self._pager = pager.Pager(command, getattr(self.stream, "encoding", None) or "utf-8")
            for line in lines:
                self._pager.line(line)

    def _terminal(self) -> os.terminal_size:
        try:
            return os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError, AttributeError):
            return shutil.get_terminal_size()

    def copy(self, text: str) -> None:
        """Writes a line into the spool file only, if there is one."""
        if self._spool is not None:
            print(PLAIN.sub("", text), file=self._spool, flush=True)

    def spool(self, file: str | None) -> None:
        """Copies every later line to the end of a file; None: no more.

        Raises ConfigProblem ``spool-unwritable``; what was copied to before goes on then.
        """
        spool = None
        if file is not None:
            try:
                spool = Path(file).expanduser().open("a", encoding="utf-8", errors="backslashreplace")
            except OSError as e:
                raise ConfigProblem("spool-unwritable", f"the file {file} cannot be written: {file_reason(e)}") from e
        if self._spool is not None:
            self._spool.close()
        self._spool = spool
