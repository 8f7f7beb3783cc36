"""The taxi rides as a sample for a server that runs: streams and queries made, topics filled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ksqlpy.client import Client, Connection
from ksqlpy.connection import KafkaConnection
from ksqlpy.demo.data import ZONES_AT, find_files, read_rides, read_statements, read_zones
from ksqlpy.errors import KsqlError

__all__ = ["Taxi"]

Tell = Callable[[str], None]
Records = Iterable[tuple[bytes, bytes]]


class Taxi:
    """The sample of ``examples/taxi`` on a server; a context manager, which ends the writing of rides.

    ``paced``: the records, each when it is due; as they are, all rides are written at once.
    """

    def __init__(
        self,
        server: str | Connection,
        connection: KafkaConnection,
        paced: Callable[[Records], Records] | None,
        tell: Tell,
    ) -> None:
        self._server = server
        self._connection = connection
        self._paced = paced
        self._tell = tell
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout=15)

    def make(self, folder: Path | None = None) -> str:
        """Makes what is not there yet, and says what there is. With a pace the rides come in the background.

        ``folder``: with the files. Raises KsqlError.
        """
        from ksqlpy.demo.topics import produce

        files = find_files(folder)
        properties, sources, queries = read_statements(files.sql)
        with Client(self._server) as client:
            names = [s["name"] for e in client.statements("SHOW STREAMS;") for s in e["streams"]]
            if "RIDES" in names:
                return "sample taxi: is there already"
            for statement in sources:
                client.statements(statement, properties)
            zones, rides = read_zones(files.zones), read_rides(files.rides)
            produce(self._connection, "taxi_zones", (z.record for z in zones), time=ZONES_AT)
            self._all(client, queries, properties)
        records = [r.record for r in rides]
        what = f"sample taxi: {len(zones)} zones, {len(queries)} queries"
        if self._paced is None:
            produce(self._connection, "taxi_rides", records)
            return f"{what}, {len(records):,} rides"
        self._thread = threading.Thread(target=self._write, args=(records, self._paced), name="rides", daemon=True)
        self._thread.start()
        return f"{what}, {len(records):,} rides on their way"

    def _all(self, client: Client, queries: Sequence[str], properties: dict[str, object]) -> None:
        for number, statement in enumerate(queries, 1):
            self._tell(f"making the sample's queries: {number} of {len(queries)}")
            client.statements(statement, properties)
        self._tell("")

    def _write(self, records: Records, paced: Callable[[Records], Records]) -> None:
        from ksqlpy.demo.topics import produce

        try:
            produce(self._connection, "taxi_rides", self._until_end(paced(records)))
        except KsqlError as e:
            if not self._ending.is_set():
                self._tell(f"the rides end: {e.message}")

    def _until_end(self, records: Records) -> Iterator[tuple[bytes, bytes]]:
        for record in records:
            if self._ending.is_set():
                return
            yield record
