"""The loop of the shell: reads a text, runs it, shows what comes or what is wrong with it, and reads again."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from ksqlpy.errors import KsqlError, as_problem
from ksqlpy.shell.files import Favourites, open_history
from ksqlpy.shell.session import INTERRUPTED, Session
from ksqlpy.shell.special import match, submits
from ksqlpy.shell.style import CONTINUED, PROMPT
from ksqlpy.shell.text import escaped
from ksqlpy.shell.watcher import Watcher
from ksqlpy.version import __version__

if TYPE_CHECKING:
    from prompt_toolkit.history import History

    from ksqlpy.shell.prompt import Prompt

__all__ = ["Repl", "interact", "run_lines"]


class Repl:
    """A session with what only a person needs: history, favourites, the last statement. See :class:`.special.Shell`."""

    def __init__(self, session: Session, watcher: Watcher | None = None) -> None:
        self.session = session
        self.watcher = watcher
        self.favourites = Favourites()
        self.last = ""
        self.draft = ""
        self.timing = False
        self.status = 0
        self.entries: History | None = None
        if watcher is not None:
            session.changed = watcher.refresh

    # ------------------------------------------------------------ what commands use

    def run(self, text: str) -> None:
        """Runs statements; raises KsqlError."""
        self.last = text.strip()
        began = time.monotonic()
        self.session.printer.begin()
        self.status = self.session.run(text)
        if self.timing:
            self.session.note(f"time: {time.monotonic() - began:.3f} s")

    def history(self) -> Sequence[str]:
        """What was typed, oldest first."""
        return [] if self.entries is None else [*self.entries.load_history_strings()][::-1]

    def refresh(self) -> None:
        """Lets the names be read again."""
        if self.watcher is not None:
            self.watcher.refresh(anew=True)

    def move(self, url: str) -> None:
        """Goes to another server with the same login; raises ConfigProblem."""
        from dataclasses import replace

        from ksqlpy.client import Connection

        now = self.session.server
        there = Connection(url) if isinstance(now, str) else replace(now, url=url)
        self.session.move(there)
        if self.watcher is not None:
            self.watcher.move(there)

    def edit(self, text: str) -> str:
        """The text as it comes back from the person's editor; raises ConfigProblem."""
        from ksqlpy.shell.prompt import edited

        return edited(text)

    # ------------------------------------------------------------ one text

    def handle(self, text: str) -> None:
        """Runs a command or statements; raises KsqlError, and EOFError for ``exit``."""
        found = match(text)
        if found is not None:
            special, rest = found
            special.run(self, rest)
        elif text.strip():
            self.run(text)

    def show(self, error: KsqlError) -> None:
        """Draws an error on the screen."""
        screen = self.session.printer.screen
        first, *more = escaped(error.render(screen.room), keep="\n").split("\n")
        screen.line(screen.styled(first, "error"))
        for line in more:
            style = "hint" if line.startswith(" = hint") else "error" if line.endswith("^") else None
            screen.line(screen.styled(line, style) if style else line)


def interact(session: Session) -> int:
    """Talks with a person until ``exit`` or Ctrl-D; gives the exit code 0."""
    watcher = Watcher(session.server)
    repl = Repl(session, watcher)
    repl.entries = open_history()
    session.printer.times = "utc"
    screen = session.printer.screen
    said = f"ksqlpy {__version__}, server {watcher.url}. help shows what there is, Ctrl-D leaves."
    for line in textwrap.wrap(said, screen.room or 120):
        screen.line(line)
    read: Prompt | _Plain
    if os.environ.get("TERM", "dumb") == "dumb" or not screen.is_terminal:
        read = _Plain(repl.entries)
        watcher.start()
    else:
        from ksqlpy.shell.prompt import Prompt

        read = Prompt(session, watcher, repl.entries, watcher.start)
        watcher.changed = read.redraw
    try:
        _loop(repl, read)
    finally:
        watcher.stop()
        screen.spool(None)
        session.close()
    return 0


def _loop(repl: Repl, read: Prompt | _Plain) -> None:
    screen = repl.session.printer.screen
    while True:
        draft, repl.draft = repl.draft, ""
        try:
            text = read.read(draft)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        screen.copy(PROMPT + text.replace("\n", f"\n{CONTINUED}"))
        try:
            repl.handle(text)
        except EOFError:
            return
        except KeyboardInterrupt:
            repl.session.note("nothing is waited for any more; the server may still do it")
        except Exception as e:  # the shell goes on, whatever it was
            repl.show(as_problem(e))


class _Plain:
    """Reads from a terminal that can do nothing but lines."""

    def __init__(self, history: History) -> None:
        self._history = history

    def read(self, draft: str = "") -> str:
        if draft:
            print(draft)
        text = draft or input(PROMPT)
        while not submits(text):
            text += "\n" + input(CONTINUED)
        self._history.append_string(text)
        return text


def run_lines(session: Session, lines: TextIO) -> int:
    """Runs statements and commands from a file or a pipe as they come; the first that fails is the last.

    Gives the exit code: 0 done, 130 a query was interrupted. Raises KsqlError.
    """
    repl = Repl(session)
    try:
        for text in _texts(lines):
            repl.handle(text)
            if repl.status == INTERRUPTED:
                break
    except EOFError:
        pass
    finally:
        session.printer.screen.spool(None)
        session.close()
    return repl.status


def _texts(lines: TextIO) -> Iterator[str]:
    """The lines, put together until a statement has its end."""
    text = ""
    for line in lines:
        text += line
        if submits(text):
            if text.strip():
                yield text
            text = ""
    if text.strip():
        yield text
