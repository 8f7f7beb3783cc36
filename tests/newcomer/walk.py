"""The first minutes of a newcomer, in a terminal: ``python -m tests.newcomer.walk`` prints how long they take.

From ``ksqlpy dev`` to the first result of an own query, with the statements of the quickstart; with names of pages,
these are pasted into a shell line by line.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import pexpect

from tests.docs.pages import commands, pieces
from tests.newcomer.environment import ROOT, made_for

__all__ = ["first_result", "paste"]

QUICKSTART = "docs/quickstart.md"
SHELL, PROMPT = "\\$ ", "ksql> "
ROW = re.compile(r"tea\s+[|│]\s+1\s+[|│]\s+12\.50")
"""The first row of the query that README and quickstart make."""

PATIENCE = 180
_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[()][A-Z0-9]|[=>])")


class Typist:
    """A shell in a terminal into which lines are pasted."""

    def __init__(self, folder: Path, program: str, *arguments: str) -> None:
        self._child = pexpect.spawn(
            program, list(arguments), env=made_for(folder), cwd=str(ROOT), encoding="utf-8", timeout=PATIENCE,
            dimensions=(50, 160),
        )  # fmt: skip
        self._child.delaybeforesend = None

    def paste(self, text: str) -> None:
        """Types all lines at once, as a terminal does with what is pasted."""
        for line in text.split("\n"):
            self._child.send(f"{line}\r")

    def wait(self, pattern: str | re.Pattern[str]) -> str:
        """Waits for an output; gives what came until then. Raises pexpect.TIMEOUT."""
        self._child.expect(pattern)
        return _ESCAPES.sub("", f"{self._child.before}{self._child.after}")

    def leave(self) -> None:
        """Presses Ctrl-D."""
        self._child.sendeof()

    def close(self) -> None:
        """Ends it with all that it has started."""
        self._child.sendeof()
        with contextlib.suppress(pexpect.TIMEOUT):
            self._child.expect(pexpect.EOF, timeout=60)
        self._child.close(force=True)


def first_result(folder: Path) -> dict[str, float]:
    """Seconds from the command ``ksqlpy dev`` to its prompt, and to the first row of a query of one's own."""
    [statements] = [x.text for x in pieces(QUICKSTART) if x.kind == "sql"]
    [command] = [c for c in _typed(QUICKSTART) if "dev" in c and "--sample" not in c]
    begun = time.monotonic()
    typist = Typist(folder, "bash", "--norc", "--noprofile", "-c", f"exec {command.partition('#')[0]}")
    found = {}
    try:
        typist.wait(PROMPT)
        found["prompt"] = time.monotonic() - begun
        typist.paste(statements)
        typist.wait(ROW)
        found["first own result"] = time.monotonic() - begun
        typist.wait("has ended: 1 row")
        typist.wait(PROMPT)
    finally:
        typist.close()
    return found


def paste(page: str, folder: Path) -> str:
    """Pastes the commands and statements of a page in the order of reading; gives what was seen last.

    Those of ``make`` are left out: the environment is made, and the demo has its own test.
    """
    typist = Typist(folder, "bash", "--norc", "--noprofile", "-i")
    seen = ""
    try:
        typist.wait(SHELL)
        inside = False
        for piece in pieces(page):
            if piece.kind == "sql" and inside:
                typist.paste(piece.text)
                seen = typist.wait(ROW)
                typist.wait(PROMPT)
                continue
            if piece.kind != "commands" or "bootstrap-servers" in piece.text:
                continue  # brokers of the reader's
            lines = [c for c in commands(piece.text) if not c.startswith("make ")]
            if inside and lines:
                typist.leave()
                typist.wait(SHELL)
            inside = any("ksqlpy dev" in c for c in lines)
            typist.paste("\n".join(lines))
            if inside:
                typist.wait(PROMPT)
            elif any(c.startswith("ksqlpy -e") for c in lines):
                seen = typist.wait(ROW)
        typist.paste("kill %1; wait; echo all is ' over'")
        typist.wait("all is  over")
    finally:
        typist.close()
    return seen


def _typed(page: str) -> list[str]:
    return [c for x in pieces(page) if x.kind == "commands" for c in commands(x.text)]


def main(arguments: list[str]) -> int:
    """Prints the times."""
    with tempfile.TemporaryDirectory(prefix="ksqlpy-newcomer-") as folder:
        load = os.getloadavg()[0]
        if arguments:
            for page in arguments:
                begun = time.monotonic()
                paste(page, Path(folder) / page.replace("/", "_"))
                print(f"{page}: {time.monotonic() - begun:.1f} s")
        else:
            for what, seconds in first_result(Path(folder)).items():
                print(f"{seconds:5.1f} s  {what}")
        print(f"load {load:.2f} before, {os.getloadavg()[0]:.2f} behind, on {os.cpu_count()} processors")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
