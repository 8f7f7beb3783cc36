"""Dead letters as clients of the server see them, and their replay: each for who has the rights on its topics."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksqlpy.access import ASKS, Grants, Need, Right, Thing, allowed, require
from ksqlpy.asker import LEFT
from ksqlpy.deadletters import Letter, Letters, choice, count_letters, letter_json, mended, read_letters, replay
from ksqlpy.errors import AnalysisProblem, EngineProblem
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.internal import may_read, unreadable
from ksqlpy.topicnames import is_internal

__all__ = ["LetterBox", "Which"]

READERS, WAITERS = 2, 30
"""Requests that read a topic of letters at one time, each holds all of it, and those that wait for their turn."""


@dataclass(frozen=True)
class Which:
    """Letters of one query, about records of one topic, in another topic than the service's; None: no matter which."""

    query: str | None = None
    topic: str | None = None
    letters: str | None = None

    def takes(self, letter: Letter) -> bool:
        """Whether it is one of them."""
        return self.query in (None, letter.query) and self.topic in (None, letter.topic)


class LetterBox:
    """The dead letters of one service.

    A letter holds all of a record, or a result: who has SELECT on the topics of both sees it. Its replay writes the
    topic of that one, which needs INSERT.
    """

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._turn = threading.BoundedSemaphore(1)
        self._reading = threading.BoundedSemaphore(READERS)
        self._places = threading.BoundedSemaphore(READERS + WAITERS)

    def show(self, which: Which, limit: int | None, grants: Grants) -> list[dict[str, Any]]:
        """The letters that the principal may see, the last ones of them, as JSON.

        Raises StatementError ``missing-right`` and what :func:`ksqlpy.deadletters.read_letters` raises.
        """
        with self._place():
            letters, seen = self._read(which, Right.SELECT, grants)
        wanted, replayed = [letter for letter in seen if which.takes(letter)], letters.replayed
        last = wanted[-limit:] if limit is not None else wanted
        return [letter_json(letter, replayed=letter.record in replayed) for letter in last]

    def replay(
        self, which: Which, lines: Sequence[Mapping[str, Any]] | None, grants: Grants, *, again: bool, dry: bool
    ) -> dict[str, int]:
        """Replays letters, one replay at a time; ``lines``: those that :meth:`show` gave, mended; ``dry``: writes none.

        Gives how many records are written, and how many are left out, see :class:`ksqlpy.deadletters.Choice`. Raises
        as :meth:`show`, ahead of all that it would write.
        """
        with self._place(), _turn(self._turn):
            letters, seen = self._read(which, Right.INSERT, grants)
            wanted = [letter for letter in seen if which.takes(letter)]
            if lines is not None:
                among = {letter.id for letter in wanted}
                given = mended(map(json.dumps, lines), Letters(letters.topic, seen), "letters")
                wanted = [letter for letter in given if letter.id in among]
            found = choice(letters, wanted, again=again)
            for topic in sorted({letter.target for letter in found.letters}):
                if is_internal(topic):  # whoever may write the topic of letters could name any
                    raise AnalysisProblem("internal-topic", f"topic {topic} is internal, nothing is replayed to it")
                require(ASKS.get(), Need(Right.INSERT, Thing.topic(topic)), grants)
            left = len(found.letters)
            written = left if dry else replay(self._brokers.connection, letters, wanted, again=again)
            before = found.before + left - written
            return {"records": written, "before": before, "returned": found.returned, "cut": found.cut}

    def count(self, which: Which, grants: Grants) -> dict[str, Any]:
        """How many letters there are that the principal may see, by query, topic and reason; raises as :meth:`show`."""
        topic, sees = self._topic(which, Right.SELECT, grants)
        with self._place(), _turn(self._reading):
            found = count_letters(self._brokers.connection, topic, lambda letter: which.takes(letter) and sees(letter))
        return found.told()

    @contextlib.contextmanager
    def _place(self) -> Iterator[None]:
        """One of so many requests; raises EngineProblem ``too-many-wait``: each holds a thread of the server."""
        if not self._places.acquire(blocking=False):
            said = f"{WAITERS} requests wait for dead letters, and no more may at one time"
            raise EngineProblem("too-many-wait", said, hint="try again soon", error_code=42900)
        try:
            yield
        finally:
            self._places.release()

    def _read(self, which: Which, right: Right, grants: Grants) -> tuple[Letters, list[Letter]]:
        """All letters of the topic, and those that the principal sees. ``right``: that he needs on another topic."""
        topic, sees = self._topic(which, right, grants)
        with _turn(self._reading):
            letters = read_letters(self._brokers.connection, topic)
        return letters, [letter for letter in letters.letters if sees(letter)]

    def _topic(self, which: Which, right: Right, grants: Grants) -> tuple[str, Callable[[Letter], bool]]:
        """The topic of the letters, and whether the principal sees one."""
        own = self._brokers.topics.dead_letters
        topic = which.letters or own
        if topic != own:
            for needed in dict.fromkeys((Right.SELECT, right)):
                require(ASKS.get(), Need(needed, Thing.topic(topic)), grants)
            if not may_read(topic, self._brokers.config):
                raise unreadable(topic)
        principal = ASKS.get()

        def sees(letter: Letter) -> bool:
            topics = {letter.topic, letter.target}
            return all(allowed(principal, Right.SELECT, Thing.topic(t), grants) for t in topics)

        return topic, sees


@contextlib.contextmanager
def _turn(of: threading.BoundedSemaphore) -> Iterator[None]:
    """A turn; raises EngineProblem ``client-left`` where nobody waits for it any more."""
    left = LEFT.get()
    while not of.acquire(timeout=0.5):
        if left is not None and left.is_set():
            raise EngineProblem("client-left", "nobody waits for the dead letters any more")
    try:
        yield
    finally:
        of.release()
