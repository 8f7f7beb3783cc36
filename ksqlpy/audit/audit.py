"""Takes decisions from all threads, and has them written by one of its own; nobody waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol

from ksqlpy.audit.decision import Decision, lines_of
from ksqlpy.audit.file import RotatedFile
from ksqlpy.config import Config

__all__ = ["AUDIT", "Audit", "Sink"]

_log = logging.getLogger("ksqlpy.audit")

ROOM, ROOM_TEXT = 20_000, 2**26
"""Requests whose decisions wait to be written, and characters of their statements; more are counted, and lost.

By requests, since one may hold ten thousands of statements, and nobody shall go unseen by sending so many.
"""
AT_ONCE = 1_000
"""Requests whose decisions are written at once."""
LOOK = 1.0
"""Seconds between two looks at what became of lines."""
SAY = 60.0
"""Seconds between two lines of the log about what was not written."""
ENDING = 5.0
"""Seconds that what waits gets to be written at the end."""


class Sink(Protocol):
    """Where lines go."""

    name: str
    problem: str
    """Why a line was lost last; empty if none was."""

    def write(self, lines: Sequence[bytes]) -> int:
        """Writes lines, also none; gives the number of those that were lost since the last call."""
        ...

    def close(self) -> int:
        """Ends it; gives the number of lines that were lost since the last call."""
        ...


class Audit:
    """The audit log of a process. ``lost``: lines that were not written, by where they were to go."""

    def __init__(self, sinks: Sequence[Sink], process: str = "server", room: int = ROOM, say: float = SAY) -> None:
        """``process``: what lines call it; ``room``: requests that may wait; ``say``: seconds between complaints."""
        self.lost = dict.fromkeys(("queue", *(s.name for s in sinks)), 0)
        self._sinks = sinks
        self._process = process
        self._room = room
        self._waiting: deque[tuple[Decision, ...]] = deque()
        self._text = 0  # characters that wait
        self._lock = threading.Lock()
        self._come = threading.Event()
        self._closing = threading.Event()
        self._say, self._said_at, self._said = say, float("-inf"), 0
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, config: Callable[[], Config], process: str = "server") -> Audit | None:
        """By the properties of a server; None where none is wanted. Raises ConfigProblem ``audit-file``.

        ``config``: gives them; the address of the brokers may become known later.
        """
        now = config()
        sinks: list[Sink] = []
        if file := now.get("ksqlpy.audit.file"):
            path = Path(file)
            if process != "server":  # a file has one writer
                path = path.with_name(f"{path.name}.{process}")
            sinks.append(
                RotatedFile(path, now.number("ksqlpy.audit.file.bytes"), now.number("ksqlpy.audit.file.count"))
            )
        if now.get("ksqlpy.audit.topic") == "true":
            from ksqlpy.audit.topic import Topic  # Kafka's clients are slow to import

            sinks.append(Topic(lambda: config().connection(), now.get("ksql.service.id")))
        return cls(sinks, process) if sinks else None

    def note(self, *decisions: Decision) -> None:
        """Takes the decisions about a request; waits for nothing."""
        text = _text(decisions)
        with self._lock:
            full = len(self._waiting) >= self._room or self._text + text > ROOM_TEXT
            if full and self._waiting:
                self.lost["queue"] += len(decisions)
            else:
                self._waiting.append(decisions)
                self._text += text
        if not self._come.is_set():
            self._come.set()

    def close(self) -> None:
        """Writes what waits, and ends."""
        self._closing.set()
        self._come.set()
        self._thread.join(ENDING)

    def _run(self) -> None:
        while not (self._closing.is_set() and not self._waiting):
            self._come.wait(LOOK)
            self._come.clear()
            while self._waiting:
                self._write(self._lines(self._taken()))
            self._write(())
            self._complain(self._say)
        for sink in self._sinks:
            self.lost[sink.name] += sink.close()
        self._complain(0.0)

    def _taken(self) -> list[Decision]:
        """Some of those that wait."""
        with self._lock:
            some = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
            self._text -= sum(map(_text, some))
        return [decision for decisions in some for decision in decisions]

    def _lines(self, some: Sequence[Decision]) -> list[bytes]:
        try:
            return list(lines_of(some, self._process))
        except Exception:  # whatever it is, it hides no decision but its own
            if len(some) > 1:
                return [line for decision in some for line in self._lines([decision])]
            with self._lock:
                self.lost["queue"] += 1
            _log.exception("a decision cannot be written into the audit log")
            return []

    def _write(self, lines: Sequence[bytes]) -> None:
        for sink in self._sinks:
            self.lost[sink.name] += sink.write(lines)

    def _complain(self, say: float) -> None:
        """Says what was not written; not before so many seconds after it has said so last."""
        lost = sum(self.lost.values())
        if lost == self._said or time.monotonic() - self._said_at < say:
            return
        places = [f"{name}: {n}" for name, n in self.lost.items() if n]
        why = [f"{s.name}: {s.problem}" for s in self._sinks if s.problem]
        _log.error(
            "%d more lines of the audit log were not written (in all %s)%s",
            lost - self._said,
            ", ".join(places),
            f": {'; '.join(why)}" if why else "",
        )
        self._said, self._said_at = lost, time.monotonic()


def _text(decisions: Iterable[Decision]) -> int:
    return sum(len(d.text) for d in decisions if d.text is not None)


AUDIT: ContextVar[Audit | None] = ContextVar("audit", default=None)
"""Where decisions about what a thread does are noted; None: nowhere."""
