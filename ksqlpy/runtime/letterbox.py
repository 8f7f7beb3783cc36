"""Dead letters as clients of the server see them, and their replay: each for who has the rights on its topics."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksqlpy.access import ASKS, Grants, Need, Right, Thing, allowed, require
from ksqlpy.deadletters import Letter, Letters, choice, letter_json, mended, read_letters, replay
from ksqlpy.errors import AnalysisProblem
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.internal import may_read, unreadable
from ksqlpy.topicnames import is_internal

__all__ = ["LetterBox", "Which"]

READERS = 2
"""Requests that read a topic of letters at one time: each holds all of it."""


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
        self._turn = threading.Lock()
        self._reading = threading.BoundedSemaphore(READERS)

    def show(self, which: Which, limit: int | None, grants: Grants) -> list[dict[str, Any]]:
        """The letters that the principal may see, the last ones of them, as JSON.

        Raises StatementError ``missing-right`` and what :func:`ksqlpy.deadletters.read_letters` raises.
        """
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
        with self._turn:
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

    def _read(self, which: Which, right: Right, grants: Grants) -> tuple[Letters, list[Letter]]:
        """All letters of the topic, and those that the principal sees. ``right``: that he needs on another topic."""
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

        with self._reading:
            letters = read_letters(self._brokers.connection, topic)
        return letters, [letter for letter in letters.letters if sees(letter)]
