"""A real terminal for tests: the shell as a process in it, keys in, and what the screen shows."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import pexpect
import pyte

PATIENCE = 120.0
"""Seconds that a screen gets to show what is waited for, on a machine that has other work too."""

ENTER, TAB, CTRL_C, CTRL_D, CTRL_R, ESCAPE, UP, DOWN = "\r", "\t", "\x03", "\x04", "\x12", "\x1b", "\x1b[A", "\x1b[B"


class Terminal:
    """``ksqlpy`` in a terminal; a context manager. ``home``: for its own files."""

    def __init__(
        self,
        arguments: list[str],
        home: Path,
        columns: int = 100,
        lines: int = 30,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.columns, self.lines = columns, lines
        self.display = pyte.HistoryScreen(columns, lines, history=2000, ratio=0.5)
        self._stream = pyte.ByteStream(self.display)
        variables = {
            **{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES", "EDITOR", "VISUAL")},
            "TERM": "xterm-256color",
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            **(environment or {}),
        }
        self.raw = b""
        self._process = pexpect.spawn(
            sys.executable, ["-m", "ksqlpy", *arguments], env=variables, dimensions=(lines, columns), timeout=PATIENCE
        )
        # The terminal answers where the cursor is, as real ones do.
        self.display.write_process_input = self._process.send

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.isalive():  # what closes it would wait a tenth of a second only
            self._process.kill(signal.SIGKILL)
            self._process.wait()
        self._process.close(force=True)

    def send(self, keys: str) -> None:
        """Presses keys."""
        self._process.send(keys)

    def type(self, text: str) -> None:
        """Types a line and waits until it is on the screen, then presses Enter."""
        self.send(text)
        end = text.replace(" ", "")[-20:]
        self.wait(lambda screen: end in re.sub(r"\n    >|[ \n]", "", screen), text)
        self.send(ENTER)

    def read(self, seconds: float = 0.05) -> bool:
        """Takes what the process has written; whether there was something."""
        try:
            data = self._process.read_nonblocking(65536, seconds)
        except pexpect.TIMEOUT:
            return False
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True

    def text(self) -> str:
        """What the screen shows, without what has gone up out of it; no blanks at the ends of lines."""
        return "\n".join(line.rstrip() for line in self.display.display).rstrip()

    def wait(self, shown: str | Callable[[str], bool], what: str = "") -> str:
        """The screen once it shows a text, or passes; fails with the screen when it does not in time."""
        passes = (lambda screen: shown in screen) if isinstance(shown, str) else shown
        until = time.monotonic() + PATIENCE
        while True:
            more = self.read()
            if not more and passes(self.text()):
                return self.text()
            if time.monotonic() > until:
                raise AssertionError(f"the screen never shows {what or shown!r}:\n{self.text()}")

    def offered(self, text: str, shown: str) -> str:
        """The screen once a text, typed again if need be, makes the menu show something: names come in their time."""
        for attempt in range(20):
            self.send(("" if attempt == 0 else CTRL_C) + text)
            until = time.monotonic() + PATIENCE / 20
            while time.monotonic() < until:
                if not self.read() and shown in self.text():
                    return self.text()
        raise AssertionError(f"{text!r} never makes the menu show {shown!r}:\n{self.text()}")

    def prompt(self) -> str:
        """The screen once the prompt waits for a statement: nothing is written behind it."""

        def waits(screen: str) -> bool:
            line = self.display.display[self.display.cursor.y].rstrip()
            return line == "ksql>" and self.display.cursor.x == 6

        return self.wait(waits, "the prompt")

    def ended(self) -> int | None:
        """The exit code, once the process has ended."""
        until = time.monotonic() + PATIENCE
        while self._process.isalive() and time.monotonic() < until:
            self.read()
        while self.read():
            pass
        self._process.close()
        code: int | None = self._process.exitstatus
        return code
