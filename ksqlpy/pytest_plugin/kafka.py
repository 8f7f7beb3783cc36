"""Statements and records of a test on Kafka, with an engine in real-time mode."""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.pytest_plugin.stage import Stage
from ksqlpy.session.embedded import Engine
from ksqlpy.testing.live import without_marks
from ksqlpy.testing.records import DeadLetter, Record
from ksqlpy.testing.served import Served, drop

__all__ = ["OnKafka"]


class OnKafka(Stage):
    """See :class:`Stage`; ``where``: how failures call the test."""

    def __init__(self, session: Engine, where: str) -> None:
        super().__init__(session._engine)  # noqa: SLF001  # what tests ask of it is not for programs
        self._served = Served(self.engine, "", where)

    def write(self, records: Sequence[Record]) -> None:
        """See :class:`Stage`."""
        served = self._now()
        served.wait_until_live()
        served.send(records)

    def settle(self) -> None:
        """Waits until all queries have read all records."""
        served = self._now()
        served.wait_until_live()
        served.settle()

    def records(self, topic: str) -> dict[tuple[int, int], Record]:
        """See :class:`Stage`."""
        found = self._now().written().get(topic, [])
        return {
            (w.partition, w.offset): Record(w.topic, w.key, w.value, w.time, without_marks(w.headers)) for w in found
        }

    def ordered(self, topic: str) -> bool:
        """See :class:`Stage`."""
        return self._now().partitions.get(topic, 1) == 1

    def dead_letters(self) -> Sequence[DeadLetter]:
        """See :class:`Stage`."""
        return self._now().dead_letters()

    def drop(self) -> None:
        """Takes all of it off the engine."""
        drop(self.engine, "")
        for name in self.engine.catalog.types:
            self.engine.execute(f"DROP TYPE IF EXISTS `{name}`;")

    def _now(self) -> Served:
        """With the queries and topics that there are by now."""
        self._served = self._served.renewed()
        return self._served
