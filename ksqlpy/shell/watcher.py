"""Asks the server in a thread, never in the way of the keys: is it there, what is there to name, what do queries do."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ksqlpy.completion.names import Names, functions
from ksqlpy.errors import EnvironmentProblem, KsqlError
from ksqlpy.shell.listed import listed, read_source

if TYPE_CHECKING:
    from ksqlpy.client import Client, Connection

__all__ = ["Watcher"]

PERIOD = 2.0
"""Seconds between two looks at the server."""

LISTED_FOR = 10.0
"""Seconds for which a listing is good, if nobody has changed something."""

PATIENCE = 10.0
"""Seconds in which an answer must begin."""

FAILED = ("ERROR", "RETRYING")
"""States of queries that have failed, the worse first."""

BATCH = 50
"""Sources that are asked about in one request."""


class Watcher:
    """``state``: connecting, ready, starting, slow, away, no access; ``queries``: that run; ``failed``: how many have
    failed, by their state; ``backlog``: of new ones.

    ``loaded``: whether the language is. ``changed`` is called, in the thread, whenever one of them has.
    """

    def __init__(self, server: str | Connection, changed: Callable[[], None] = lambda: None) -> None:
        self.server = server
        self.changed = changed
        self.loaded = False
        self.state = "connecting"
        self.names = Names()
        self.queries = 0
        self.failed: dict[str, int] = {}
        self.backlog: dict[str, str] = {}
        self._stale: set[str] = set()
        self._listed_at = -LISTED_FOR
        self._woken = threading.Event()
        self._stopped = False
        self._round = 0
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    @property
    def url(self) -> str:
        """The server as people may see it."""
        if isinstance(self.server, str):
            return self.server
        return self.server.address

    def start(self) -> None:
        """Begins to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after its present request; nobody waits for it."""
        self._stopped = True
        self._woken.set()

    def refresh(self, query_id: str | None = None, source: str = "", *, anew: bool = False) -> None:
        """Looks again at once.

        ``query_id``: a new query to follow; ``source``: a source that has changed, so its columns too; ``anew``: those
        of all.
        """
        if query_id is not None:
            self.backlog[query_id] = "starting"
        self._stale |= {*self.names.sources} if anew else {source}
        self._listed_at = -LISTED_FOR
        self._woken.set()

    def move(self, server: str | Connection) -> None:
        """Watches another server from now on."""
        self.server, self.state, self.names, self.queries = server, "connecting", self._local(), 0
        self.failed = {}
        self._round += 1
        self.backlog.clear()
        self.refresh()

    def _local(self) -> Names:
        from ksqlpy.config import PROPERTIES
        from ksqlpy.shell.help import clauses, topics
        from ksqlpy.shell.special import arguments, commands

        settable = {p.name: p.help for p in PROPERTIES.values() if p.session}
        return Names(
            functions=functions(),
            properties=settable,
            statements=[*topics(), *clauses()],
            commands=commands(),
            arguments=arguments(),
        )

    # ------------------------------------------------------------ in the thread

    def _watch(self) -> None:
        self.names = self._local()
        import ksqlpy.completion.complete  # the first key finds it loaded
        import ksqlpy.sql.highlight  # noqa: F401

        self.loaded = True
        self.changed()
        while not self._stopped:
            self._follow_server(self._round)

    def _follow_server(self, round: int) -> None:
        from ksqlpy.client import Client

        try:
            client = Client(self.server, PATIENCE)
        except KsqlError:
            self._say("away")
            self._sleep(PERIOD)
            return
        try:
            while not self._stopped and self._round == round:
                self._look(client, round)
                self._sleep(PERIOD / 4 if self.backlog else PERIOD)
        finally:
            client.close()

    def _sleep(self, seconds: float) -> None:
        self._woken.wait(seconds)
        self._woken.clear()

    def _say(self, state: str) -> None:
        if state != self.state:
            if state == "ready":  # it may be another one than before, with other sources
                self._listed_at = -LISTED_FOR
                self._stale |= {*self.names.sources}
            self.state = state
            self.changed()

    def _look(self, client: Client, round: int) -> None:
        try:
            ours = "ksqlpyVersion" in client.info()
            if self._round != round:
                return
            self._say("ready")
            if time.monotonic() - self._listed_at >= LISTED_FOR:
                self._listed_at = time.monotonic()
                self._list(client, round, roles=ours)
            self._follow_queries(client)
        except KsqlError as e:
            if self._round == round:
                self._say(_state(e))

    def _list(self, client: Client, round: int, *, roles: bool) -> None:
        """``roles``: whether the server has them, and functions in Python; ksqlDB's would log what it cannot read."""
        entities = []
        for kind in ("STREAMS", "TABLES", "QUERIES", "TOPICS", "TYPES", *(("ROLES", "FUNCTIONS") if roles else ())):
            entities += self._ask(client, f"SHOW {kind};")
        if self._round != round:
            return
        self.names = listed(self.names, entities)
        states = Counter(str(q.get("state")) for e in entities for q in e.get("queries") or ())
        self.queries = states["RUNNING"]
        self.failed = {state: states[state] for state in FAILED if states[state]}
        self.changed()
        # Until they are asked about again the old columns serve.
        stale, self._stale = self._stale, set()
        unknown = [n for n, s in self.names.sources.items() if s.columns is None or n in stale]
        for at in range(0, len(unknown), BATCH):
            for entity in self._described(client, unknown[at : at + BATCH]):
                source = read_source(entity)
                if source is not None and self._round == round:
                    self.names = self.names.with_source(source)
        self.names.columns  # noqa: B018  # worked out here, so that no key waits for it

    def _described(self, client: Client, names: list[str]) -> Iterator[Mapping[str, Any]]:
        quoted = ["`" + n.replace("`", "``") + "`" for n in names]
        try:
            yield from client.statements("\n".join(f"DESCRIBE {n};" for n in quoted))
        except KsqlError as e:
            yield from e.entities  # one of them has gone; the next look lists the others

    def _ask(self, client: Client, sql: str) -> list[dict[str, Any]]:
        try:
            return client.statements(sql)
        except KsqlError as e:
            if isinstance(e, EnvironmentProblem):
                raise
            return []  # another server, without this statement

    def _follow_queries(self, client: Client) -> None:
        """What new queries still have to read; one that has caught up, or cannot be asked about, is left alone."""
        before = dict(self.backlog)
        for query_id in before:
            text = ""
            for entity in self._ask(client, f"EXPLAIN `{query_id}`;"):
                text = _backlog(entity.get("queryDescription") or {})
            if text:
                self.backlog[query_id] = text
            else:
                self.backlog.pop(query_id, None)
                self._listed_at = -LISTED_FOR
        if self.backlog != before:
            self.changed()


def _state(error: KsqlError) -> str:
    """What an error of the server says of it."""
    states = {"server-slow": "slow", "no-access": "no access"}
    if error.error_code == 50302:
        return "starting"
    # Of other answers a server may have its reasons; of no answer it has none.
    away = isinstance(error, EnvironmentProblem) or error.error_code > 50302
    return states.get(error.code, "away" if away else "ready")


def _backlog(description: Mapping[str, Any]) -> str:
    """How far a query is; empty once it has read all there was, and when it has failed."""
    figures = description.get("figures") or {}
    read, lag = figures.get("rowsIn"), figures.get("lag")
    if description.get("state") == "STARTING" or (figures and not figures.get("live") and not lag):
        return "starting" if description.get("state") in ("STARTING", "RECOVERING", "RUNNING") else ""
    if description.get("state") != "RUNNING" or not lag or not isinstance(read, int):
        return ""
    return f"{read:,} of {read + lag:,} rows, {100 * read // (read + lag)} %"
