"""The rows of a subscription: its query, which is opened again where the server was away."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ksqlpy.errors import KsqlError
from ksqlpy.session.inbox import Opened
from ksqlpy.session.pauses import Pauses
from ksqlpy.session.rows import Row
from ksqlpy.session.values import row_maker

__all__ = ["Source", "is_away"]

_AWAY = {"connection-lost", "server-unavailable", "server-slow", "server-stopping", "query-ended", "unknown-query"}
"""Errors of a query that is opened again."""

NAME = "ksqlpy.subscription"


class WaysOfRows(Protocol):
    """What a subscription needs of a transport."""

    closed: bool

    def run(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> list[dict[str, Any]]: ...
    def open(self, sql: str, properties: Mapping[str, object], variables: Mapping[str, str]) -> Opened: ...
    def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Sequence[bytes]) -> None: ...


class Source:
    """The rows of a named subscription, from the first one on that is not acknowledged."""

    def __init__(
        self,
        transport: WaysOfRows,
        sql: str,
        name: str,
        properties: Mapping[str, object],
        variables: Mapping[str, str],
    ) -> None:
        self._transport = transport
        self._sql = sql
        self._name = name
        self._properties = dict(properties)
        self._variables = dict(variables)
        self._woken = threading.Event()
        self._open()

    def _open(self) -> None:
        self._opened = opened = _opened_as(self._transport, self._name, self._sql, self._properties, self._variables)
        self._made = row_maker(opened.columns)
        self._acknowledged = 0
        self.listen(self._woken)

    def listen(self, woken: threading.Event) -> None:
        """Has it set when rows may have come."""
        self._woken = woken
        self._opened.tell = woken.set
        woken.set()

    def take(self) -> list[Row] | None:
        """The rows that have come, none where none have; None where no more come. Raises KsqlError."""
        self._woken.clear()
        taken = self._opened.take(0.0)
        return None if taken is None else [self._made(values) for values in taken]

    def acknowledge(self, rows: int, target: str | None, written: Sequence[bytes]) -> None:
        """So many more rows are done, and these are written. Raises KsqlError: then nothing of it is done."""
        self._transport.acknowledge(self._opened.query_id, self._acknowledged + rows, target, written)
        self._acknowledged += rows

    def again(self, stopping: threading.Event, pauses: Pauses) -> bool:
        """Opens the query again, as soon as that can be; False where it is not to go on. Raises KsqlError."""
        self.close()
        while pauses.wait(stopping) and not self._transport.closed:
            try:
                self._open()
                return True
            except KsqlError as e:
                if not is_away(e):
                    raise
        return False

    def close(self) -> None:
        """Ends the query."""
        self._opened.close()


def _opened_as(
    transport: WaysOfRows,
    name: str,
    sql: str,
    properties: Mapping[str, object],
    variables: Mapping[str, str],
) -> Opened:
    """A query under the name of a subscription.

    One that cannot be answered without Spark becomes a persistent query, whose result is read. Raises KsqlError.
    """
    named = {**properties, NAME: name}
    try:
        return transport.open(sql, named, variables)
    except KsqlError as e:
        if e.code != "subscription-needs-query":
            raise
    result = f"`SUBSCRIPTION_{name}`"
    _declare(transport, result, sql.rstrip().rstrip(";").rstrip(), properties, variables)
    # All of the result is wanted: where the query begins is where the subscription does.
    return transport.open(
        f"SELECT * FROM {result} EMIT CHANGES;", {**named, "auto.offset.reset": "earliest"}, variables
    )


def _declare(
    transport: WaysOfRows, result: str, select: str, properties: Mapping[str, object], variables: Mapping[str, str]
) -> None:
    """Makes the persistent query of a subscription; one that has another SELECT is replaced. Raises KsqlError."""

    def create(how: str, kind: str) -> None:
        transport.run(how.format(kind=kind) + f" {result} AS {select}\n;", properties, variables)

    try:
        [found] = transport.run(f"DESCRIBE {result};", properties, {})
    except KsqlError as e:
        if e.code != "unknown-source":
            raise
        how = "CREATE {kind} IF NOT EXISTS"
        try:
            create(how, "STREAM")
        except KsqlError as wrong:
            if wrong.code != "wrong-kind":
                raise
            create(how, "TABLE")
        return
    there = found["sourceDescription"]
    if not _plainly(str(there.get("statement"))).endswith(_plainly(f"{result} AS {select}")):
        create("CREATE OR REPLACE {kind}", str(there["type"]))


def _plainly(sql: str) -> str:
    """A statement without what says nothing."""
    return " ".join(sql.rstrip(" \n;").split())


def is_away(error: KsqlError) -> bool:
    return error.code in _AWAY or (error.error_code >= 50000 and error.code != "subscription-needs-query")
