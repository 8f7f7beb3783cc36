"""Long output on a terminal goes through a pager: ``PAGER``, else less or more, as in psql."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess

__all__ = ["MODES", "Pager", "pager"]

MODES = ("on", "off", "always")
"""``on``: for what is longer than the screen."""


def pager() -> str | None:
    """The command of the pager; None: there is none, or PAGER is empty."""
    given = os.environ.get("PAGER")
    if given is not None:
        try:
            words = shlex.split(given)
        except ValueError:
            return None
        return given if words and shutil.which(words[0]) else None
    return next((name for name in ("less", "more") if shutil.which(name)), None)


class Pager:
    """A pager that runs and is given lines as they come. ``left``: whether the person has left it before their end."""

    def __init__(self, command: str, encoding: str = "utf-8") -> None:
        # less: with colours; what it has shown stays on the screen.
        environment = {"LESS": "FRX", **os.environ}
        # Unbuffered: what an interrupt cuts short is not written once more when the pipe is closed.
        self._process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, bufsize=0, env=environment)
        self._encoding = encoding
        self.left = False

    def line(self, text: str) -> None:
        """Gives it a line; waits while the person has enough to read. What comes once it is left is dropped."""
        pipe = self._process.stdin
        if self.left or pipe is None:
            return
        rest = memoryview(f"{text}\n".encode(self._encoding, "backslashreplace"))
        try:
            while rest:
                rest = rest[pipe.write(rest) :]
        except OSError:
            self.left = True

    def close(self) -> None:
        """Waits until the person leaves it; Ctrl-C is the pager's meanwhile."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        while True:
            try:
                self._process.wait()
                return
            except KeyboardInterrupt:
                continue
