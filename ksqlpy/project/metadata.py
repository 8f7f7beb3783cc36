"""What a server knows of migrations: a stream of events and a table of the last one of each version.

They are those of ``ksql-migrations``: an event has the key ``CURRENT`` or the number of its version, and says version,
name, state (RUNNING, MIGRATED, ERROR), checksum, times in ms, the version before, and the reason of an error.

The state is read from the stream, with a query that needs no pull queries and ends by itself: first an event with the
key ``KSQLPY_READ`` and a random checksum is inserted, then a push query reads the stream from its beginning until that
event comes. The stream has one partition, so by then everything ahead of it was seen.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Generator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError
from ksqlpy.project.migrations import Project
from ksqlpy.project.state import Server, quoted

__all__ = ["CURRENT", "NONE", "Event", "Metadata", "QueryServer"]

CURRENT = "CURRENT"
"""The key of the event that was last of all."""

NONE = "<none>"
"""The version before the first one."""

_MARK = "KSQLPY_READ"
PATIENCE_SECONDS = 60.0
"""So long may reading the events take."""


class QueryServer(Server, Protocol):
    """A server that runs queries too."""

    def push(
        self, sql: str, properties: Mapping[str, object] | None = None, variables: Mapping[str, str] | None = None
    ) -> Generator[Any, None, None]:
        """Runs a query; gives its header, then its rows."""
        ...

    def close_query(self, query_id: str) -> bool:
        """Ends a query."""
        ...


@dataclass(frozen=True)
class Event:
    """A row of the stream, without its key; ``started_on``, ``completed_on``: ms since 1970 as text, or empty."""

    version: str
    name: str
    state: str
    checksum: str
    started_on: str = ""
    completed_on: str = ""
    previous: str = NONE
    error_reason: str = "N/A"


_COLUMNS = [f.name.upper() for f in fields(Event)]


class Metadata:
    """The events of a project on its server. All methods raise KsqlError."""

    def __init__(self, server: QueryServer, project: Project) -> None:
        self._server = server
        self._project = project

    def initialize(self) -> None:
        """Makes stream and table."""
        p = self._project
        columns = ", ".join(f"{c} STRING" for c in _COLUMNS)
        latest = ", ".join(f"LATEST_BY_OFFSET({c}) AS {c}" for c in _COLUMNS)
        self._server.statements(
            f"CREATE STREAM {quoted(p.stream)} (VERSION_KEY STRING KEY, {columns}) WITH (KAFKA_TOPIC ="
            f" {_literal(p.stream_topic)}, VALUE_FORMAT = 'JSON', PARTITIONS = 1, REPLICAS = {p.replicas});"
        )
        # Its query must not miss what is inserted before it runs.
        self._server.statements(
            f"CREATE TABLE {quoted(p.table)} WITH (KAFKA_TOPIC = {_literal(p.table_topic)}) AS"
            f" SELECT VERSION_KEY, {latest} FROM {quoted(p.stream)} GROUP BY VERSION_KEY;",
            {"auto.offset.reset": "earliest"},
        )

    def destroy(self) -> None:
        """Drops both, with their topics."""
        self._need()
        p = self._project
        self._server.statements(f"DROP TABLE IF EXISTS {quoted(p.table)} DELETE TOPIC;")
        self._server.statements(f"DROP STREAM IF EXISTS {quoted(p.stream)} DELETE TOPIC;")

    def _need(self) -> None:
        [listed] = self._server.statements("SHOW STREAMS;")
        if not any(s["name"] == self._project.stream for s in listed["streams"]):
            raise ConfigProblem(
                "no-metadata",
                f"{self._project.url} has no stream {self._project.stream}",
                hint="ksqlpy migrate initialize-metadata makes it",
            )

    def write(self, event: Event) -> None:
        """Notes an event, for its version and as the last one."""
        for key in (event.version, CURRENT):
            self._insert(key, event)

    def _insert(self, key: str, event: Event) -> None:
        values = ", ".join(_literal(str(getattr(event, c.lower()))) for c in _COLUMNS)
        self._server.statements(
            f"INSERT INTO {quoted(self._project.stream)} (VERSION_KEY, {', '.join(_COLUMNS)})"
            f" VALUES ({_literal(key)}, {values});"
        )

    def read(self) -> dict[str, Event]:
        """The last event of each version, and under ``CURRENT`` the last of all."""
        self._need()
        token = secrets.token_hex(16)
        self._insert(_MARK, Event("", "", "", token))
        select = f"SELECT VERSION_KEY, {', '.join(_COLUMNS)} FROM {quoted(self._project.stream)} EMIT CHANGES;"
        found: dict[str, Event] = {}
        with contextlib.closing(self._server.push(select, {"auto.offset.reset": "earliest"})) as items:
            query_id = str(next(items)["queryId"])
            clock = threading.Timer(PATIENCE_SECONDS, self._give_up, (query_id,))
            clock.start()
            try:
                for key, *values in items:
                    event = Event(*("" if v is None else str(v) for v in values))
                    if key != _MARK:
                        found[key] = event
                    elif event.checksum == token:
                        return found
            finally:
                clock.cancel()
                self._give_up(query_id)
        raise EngineProblem(
            "metadata-unread",
            f"the events of {self._project.stream} were not read within {PATIENCE_SECONDS:.0f} s",
            hint="see the server's log",
        )

    def _give_up(self, query_id: str) -> None:
        with contextlib.suppress(KsqlError):
            self._server.close_query(query_id)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
