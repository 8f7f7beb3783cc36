"""Where the statements and records of a test are: in memory, or on Kafka."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ksqlpy.runtime import Engine
from ksqlpy.testing.records import DeadLetter, Record

__all__ = ["EARLIEST", "Stage"]

EARLIEST = {"auto.offset.reset": "earliest"}


class Stage(ABC):
    """An engine, and topics. What raises CaseFailed says so when a query ends, or does not come to its end."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def run(self, sql: str, variables: Mapping[str, str]) -> list[dict[str, Any]]:
        """Runs statements, whose queries read their topics from the first record on; raises KsqlError."""
        return self.engine.execute(sql, EARLIEST, variables)

    @abstractmethod
    def write(self, records: Sequence[Record]) -> None:
        """Puts records into their topics; raises CaseFailed."""

    @abstractmethod
    def settle(self) -> None:
        """Lets all queries work on all records; raises CaseFailed."""

    @abstractmethod
    def records(self, topic: str) -> dict[tuple[int, int], Record]:
        """What a topic holds, by partition and offset: in order, or partition by partition."""

    @abstractmethod
    def ordered(self, topic: str) -> bool:
        """Whether the order of its records says something, not only that of records with the same key."""

    @abstractmethod
    def dead_letters(self) -> Sequence[DeadLetter]:
        """The records that no query could read, and results that could not be written."""
