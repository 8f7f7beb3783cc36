"""The taxi rides as a sample for a server that runs: streams and queries made, topics filled."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ksqlpy.connection import KafkaConnection
from ksqlpy.demo.data import ZONES_AT, find_files, read_rides, read_statements, read_zones
from ksqlpy.errors import KsqlError

__all__ = ["MOVING", "Pace", "Taxi"]

Tell = Callable[[str], None]
Run = Callable[[str, Mapping[str, object]], list[dict[str, Any]]]
"""Runs statements with properties, for somebody; raises KsqlError."""
Records = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Pace:
    """How the rides come: ``ahead`` of them at once, the others so many a second."""

    ahead: int
    rate: float

    def records(self, records: Records, ending: threading.Event) -> Iterator[tuple[bytes, bytes]]:
        """The records, each when it is due, until there are no more or the end is told."""
        remaining = iter(records)
        yield from itertools.islice(remaining, self.ahead)
        began = time.monotonic()
        for number, record in enumerate(remaining):
            if ending.wait(max(0.0, began + number / self.rate - time.monotonic())):
                return
            yield record


RIDES = "taxi_rides"
"""Their topic."""

MOVING = Pace(4_500, 5.0)
"""There is something to ask about at once, and something to look at for some minutes."""


class Taxi:
    """The sample of ``examples/taxi``; a context manager, which ends the writing of rides.

    ``connection``: to the brokers of the server on which it is made.
    """

    def __init__(self, connection: KafkaConnection, tell: Tell, pace: Pace = MOVING) -> None:
        self._connection = connection
        self._tell = tell
        self._pace = pace
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._making = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout=15)

    def make(self, run: Run, folder: Path | None = None) -> str:
        """Makes what is not there yet, and says what there is. The rides come in the background.

        ``folder``: with the files. Where an earlier server has ended meanwhile, those come that are missing. Whoever
        asks while another one has it made waits. Raises KsqlError.
        """
        from ksqlpy.demo.topics import produce, written

        with self._making:
            files = find_files(folder)
            properties, sources, queries = read_statements(files.sql)
            records = [r.record for r in read_rides(files.rides)]
            names = [s["name"] for e in run("SHOW STREAMS;", {}) for s in e["streams"]]
            if "RIDES" in names:
                there = len(records) if self._thread else written(self._connection, {RIDES: len(records)})[RIDES]
                return f"sample taxi: is there already{self._begin(records, there)}"
            for statement in sources:
                run(statement, properties)
            zones = read_zones(files.zones)
            produce(self._connection, "taxi_zones", (z.record for z in zones), time=ZONES_AT)
            self._all(run, queries, properties)
            return f"sample taxi: {len(zones)} zones, {len(queries)} queries{self._begin(records, 0)}"

    def _begin(self, records: Sequence[tuple[bytes, bytes]], there: int) -> str:
        """Begins to write the rides behind those that are there, and says how they come."""
        if there >= len(records):
            return ""
        pace = replace(self._pace, ahead=max(0, min(self._pace.ahead, len(records)) - there))
        self._thread = threading.Thread(target=self._write, args=(records[there:], pace), name="rides", daemon=True)
        self._thread.start()
        at_once = f", {pace.ahead:,} rides at once" if pace.ahead else ""
        return f"{at_once}, {len(records) - there - pace.ahead:,} at {pace.rate:g} a second"

    def _all(self, run: Run, queries: Sequence[str], properties: Mapping[str, object]) -> None:
        for number, statement in enumerate(queries, 1):
            self._tell(f"making the sample's queries: {number} of {len(queries)}")
            run(statement, properties)
        self._tell("")

    def _write(self, records: Records, pace: Pace) -> None:
        from ksqlpy.demo.topics import produce

        try:
            produce(self._connection, RIDES, pace.records(records, self._ending))
        except KsqlError as e:
            if not self._ending.is_set():
                self._tell(f"the rides end: {e.message}")
