"""How many dead letters there are, by query, topic and reason: each is counted as it is read, and none is held."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from confluent_kafka import Message

from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters.letters import Letter, Letters, records

__all__ = ["GROUPS", "Summary", "count_letters"]

GROUPS = 1000
"""Groups that are told at most, those with the most letters: reasons may tell of single records."""


class Summary:
    """Counts of the letters that ``takes`` takes; some 28 bytes for each letter of the topic.

    Whether one was replayed is known at the end of the topic only, and of all letters about its record.
    """

    def __init__(self, takes: Callable[[Letter], bool]) -> None:
        self._takes = takes
        self._said = Letters("")  # takes the notes of replays, and holds no letter
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._groups: list[dict[str, Any]] = []
        # Of each letter: its id, its record, and the number of its group.
        self._partitions, self._offsets, self._records, self._of = array("i"), array("q"), array("q"), array("i")

    def take(self, message: Message) -> None:
        """Counts what a record of the topic says."""
        self._said.take(message)
        if self._said.letters:
            self.add(self._said.letters.pop())

    def add(self, letter: Letter) -> None:
        """Counts a letter."""
        partition, _, offset = letter.id.partition("-")
        self._partitions.append(int(partition))
        self._offsets.append(int(offset))
        self._records.append(hash(letter.record))
        self._of.append(self._group(letter) if self._takes(letter) else -1)

    def _group(self, letter: Letter) -> int:
        key, at = (letter.query, letter.topic, letter.reason), letter.timestamp
        number = self._numbers.setdefault(key, len(self._groups))
        if number == len(self._groups):
            named = {"query": letter.query, "topic": letter.topic, "reason": letter.reason}
            self._groups.append({**named, "count": 0, "replayed": 0, "first": at, "last": at})
        group = self._groups[number]
        group["count"] += 1
        group["first"], group["last"] = min(group["first"], at), max(group["last"], at)
        return number

    def told(self) -> dict[str, Any]:
        """What POST /deadletters/summary tells."""
        replayed = [0] * len(self._groups)
        if done := self._said.done:
            ids = zip(self._partitions, self._offsets, strict=True)
            found = {record for (p, o), record in zip(ids, self._records, strict=True) if f"{p}-{o}" in done}
            for number, record in zip(self._of, self._records, strict=True):
                if number >= 0 and record in found:
                    replayed[number] += 1
        groups = [{**group, "replayed": count} for group, count in zip(self._groups, replayed, strict=True)]
        groups.sort(key=lambda group: (-group["count"], group["reason"]))
        return {"total": sum(group["count"] for group in groups), "groups": groups[:GROUPS]}


def count_letters(connection: KafkaConnection, topic: str, takes: Callable[[Letter], bool]) -> Summary:
    """Counts what lies in a topic now; raises as :func:`.letters.read_letters`."""
    found = Summary(takes)
    for message in records(connection, {topic: {}}):
        found.take(message)
    return found
