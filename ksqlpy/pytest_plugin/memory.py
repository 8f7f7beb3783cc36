"""Statements and records of a test in memory: topics are lists, and each query is a micro-batch at a time."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.errors import reason_of
from ksqlpy.pytest_plugin.stage import Stage
from ksqlpy.testing.check import CaseFailed
from ksqlpy.testing.memory import MemoryEngine, ordered, run_query
from ksqlpy.testing.records import DeadLetter, Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["InMemory"]


class InMemory(Stage):
    """See :class:`Stage`; ``folder``: for the files and checkpoints of the queries, best in memory."""

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._memory = MemoryEngine(session)
        super().__init__(self._memory)
        self._folder = folder
        self._read: dict[str, set[tuple[str, int]]] = {}
        self._dead: list[DeadLetter] = []

    def write(self, records: Sequence[Record]) -> None:
        """See :class:`Stage`."""
        for record in records:
            self._memory.broker.append(record)

    def settle(self) -> None:
        """Each query works on the records that are new to it, those before that read what it writes."""
        for query_id, spec in self._memory.ordered_specs():
            seen = self._read.setdefault(query_id, set())
            new = [s for s in ordered(spec, self._memory) if (s.record.topic, s.offset) not in seen]
            if not new:
                continue
            name = f"{query_id} {uuid.uuid4().hex}"  # queries of other tests are called alike
            try:
                self._dead += run_query(spec, self._memory, self._folder / query_id, new, counted_as=name)
            except Exception as e:  # whatever Spark raises belongs to the test
                raise CaseFailed(f"query {query_id} failed: {reason_of(e)}") from e
            seen |= {(s.record.topic, s.offset) for s in new}

    def records(self, topic: str) -> dict[tuple[int, int], Record]:
        """See :class:`Stage`."""
        return {(0, offset): r for offset, r in enumerate(self._memory.broker.records().get(topic, []))}

    def ordered(self, topic: str) -> bool:
        """There is one partition."""
        return True

    def dead_letters(self) -> Sequence[DeadLetter]:
        """See :class:`Stage`."""
        return self._dead
