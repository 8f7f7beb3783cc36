"""Handles of persistent queries: how they stand, and what is done with them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from ksqlpy.errors import ConfigProblem, EngineProblem
from ksqlpy.session.answers import Answer
from ksqlpy.session.result import Result

__all__ = ["Asked", "Query"]

_LOOK = 0.1
"""Seconds between two looks at a query."""

_LONGEST = 600.0
"""Seconds that a query is waited for at most: see ``ksqlpy.pull.wait.ms``."""


class Asked(Protocol):
    """What a handle needs of its session."""

    def sql(self, text: str, /, **variables: object) -> list[Answer]: ...
    def query(self, text: str, /, *, properties: Mapping[str, object] | None = None, **values: object) -> Result: ...


class Query:
    """A persistent query. All may be called from any thread, and raise KsqlError."""

    def __init__(self, session: Asked, query_id: str) -> None:
        self.id = query_id
        self._session = session
        self._first = self._described()

    @property
    def sql(self) -> str:
        """The statement that made it."""
        return str(self._first["statementText"])

    @property
    def sink(self) -> str:
        """The stream or table that it writes."""
        return str(next(iter(self._first["sinks"]), ""))

    @property
    def sources(self) -> list[str]:
        """The streams and tables that it reads."""
        return [str(s) for s in self._first["sources"]]

    @property
    def state(self) -> str:
        """How it stands now: RUNNING, PAUSED, RETRYING, ERROR, …"""
        return str(self._described()["state"])

    def figures(self) -> dict[str, Any]:
        """What is measured of it, as EXPLAIN and DESCRIBE … EXTENDED show it."""
        return dict(self._described().get("figures") or {})

    def pause(self) -> None:
        """Stops it; its state stays."""
        self._session.sql(f"PAUSE {self._name};")

    def resume(self) -> None:
        """Lets it go on where it was paused."""
        self._session.sql(f"RESUME {self._name};")

    def rewind(self, to: datetime | None = None) -> None:
        """Has it drop its state and read its sources again, and write the results again behind those that are there.

        ``to``: streams are read from the first record of this time, without a zone in UTC; None: from their beginning,
        as tables always are. Raises EngineProblem ``nothing-to-rewind`` where no record that it has read is so young.
        """
        utc = None if to is None else (to.astimezone(UTC) if to.tzinfo else to).isoformat(timespec="milliseconds")
        place = "BEGINNING" if utc is None else f"'{utc.removesuffix('+00:00')}'"
        self._session.sql(f"REWIND {self._name} TO {place};")

    def terminate(self) -> None:
        """Ends it for good; its sink stays."""
        self._session.sql(f"TERMINATE {self._name};")

    def wait(self, *, caught_up: bool = True, timeout: float = 60.0) -> None:
        """Waits until it has worked on all that its inputs have now, and its results are in their topic.

        Without ``caught_up``: until it runs. ``timeout``: seconds, 600 at most. Raises EngineProblem ``inputs-ahead``
        where that is not so in time, or where the query has failed or is paused.
        """
        if not 0 <= timeout <= _LONGEST:
            raise ConfigProblem("bad-wait", f"a query is waited for 0 to {_LONGEST:g} seconds, not {timeout:g}")
        until = time.monotonic() + timeout
        self._wait_for_start(until)
        if caught_up:
            left = max(1, int((until - time.monotonic()) * 1000))
            with self._session.query(f"SELECT * FROM {self._quoted_sink} LIMIT 0;", properties={_WAIT: left}) as none:
                none.fetchall()

    def _wait_for_start(self, until: float) -> None:
        while True:
            found = self._described()
            figures, state = found.get("figures") or {}, found["state"]
            if figures.get("live") or (state == "RUNNING" and "live" not in figures):
                return
            if state in ("PAUSED", "ERROR"):
                why = f": {figures['error']}" if figures.get("error") else ""
                raise EngineProblem("inputs-ahead", f"query {self.id} is {state}{why}", hint="see session.queries()")
            if time.monotonic() > until:
                hint = "raise timeout, or look at its state and figures()"
                raise EngineProblem("inputs-ahead", f"query {self.id} does not run yet, it is {state}", hint=hint)
            time.sleep(_LOOK)

    @property
    def _name(self) -> str:
        return f"`{self.id}`"

    @property
    def _quoted_sink(self) -> str:
        return "`" + self.sink.replace("`", "``") + "`"

    def _described(self) -> Mapping[str, Any]:
        [answer] = self._session.sql(f"EXPLAIN {self._name};")
        found: Mapping[str, Any] = answer["queryDescription"]
        return found

    def __repr__(self) -> str:
        return f"<ksqlpy.Query {self.id}>"


_WAIT = "ksqlpy.pull.wait.ms"
