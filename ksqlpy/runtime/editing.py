"""What those who write statements are helped by: names to complete, a sandbox to check in, the graph of what there is.

It is asked at each key, so it asks no broker while it knows its topics, and runs nothing.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from ksqlpy.access import ASKS, BUILT_IN, EVERYTHING, OPEN, Principal, Right, Thing, allowed, role_name
from ksqlpy.analysis import TopicSpec
from ksqlpy.catalog import Catalog
from ksqlpy.completion.names import Names
from ksqlpy.completion.of_catalog import Sources, names_of
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem
from ksqlpy.plan import Plan
from ksqlpy.runtime.context import OpenPush, Sandbox
from ksqlpy.runtime.graph import graph
from ksqlpy.runtime.questions import Questions
from ksqlpy.runtime.statements.grant import granted
from ksqlpy.runtime.topic_requirements import check_requirement
from ksqlpy.topicnames import is_internal
from ksqlpy.udfs.definition import Definition

if TYPE_CHECKING:
    from ksqlpy.spark.query import RunningQuery
    from ksqlpy.udfs.pool import Workers

__all__ = ["Editing", "Host", "KnownTopics"]

FRESH = 5.0
"""Seconds for which topics are not asked for again, if nothing has changed the catalog."""

SOON, FIRST = 0.3, 2.0
"""Seconds for which brokers are waited for where topics are known, and where none are."""

_VIEWS = 100
"""Principals whose names are kept ready."""


class Host(Protocol):
    """What this needs of an engine."""

    @property
    def config(self) -> Config: ...
    @property
    def catalog(self) -> Catalog: ...
    @property
    def open_push_queries(self) -> Iterable[OpenPush]: ...
    def plan_of(self, query_id: str) -> Plan: ...
    def state(self, query_id: str) -> str: ...


class KnownTopics:
    """Topics as they were when the brokers were asked last, so that checking a text asks nobody."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self._known = known

    def check(self, spec: TopicSpec, promised: Mapping[str, int], *, declared: bool) -> int | None:
        """As :meth:`ksqlpy.runtime.topics.Topics.check`."""
        return check_requirement(spec, {**self._known, **promised}, declared=declared)

    def exists(self, topic: str) -> bool:
        """Whether there is such a topic."""
        return topic in self._known

    def partitions(self, topics: Iterable[str]) -> dict[str, int]:
        """The partitions of topics that must exist; raises AnalysisProblem ``missing-topic``."""
        wanted = list(topics)
        for topic in wanted:
            if topic not in self._known:
                raise AnalysisProblem("missing-topic", f"topic {topic} does not exist any more")
        return {topic: self._known[topic] for topic in wanted}


class _Unrun:
    """Stands for the workers of functions in Python: code that is only written is not run."""

    def load(self, definition: Definition) -> None:
        """Takes it as it is."""

    def call(self, definition: Definition, arguments: list[Any]) -> str:
        """No digest."""
        return ""


@dataclass(frozen=True)
class _Still:
    """The engine for a check, with topics that are known."""

    config: Config
    topics: KnownTopics
    open_push_queries: Iterable[OpenPush]
    plan_of: Callable[[str], Plan]
    python: Workers


class Editing:
    """The help of one engine; any thread may ask, for the principal of :data:`ksqlpy.access.ASKS`."""

    def __init__(
        self,
        host: Host,
        topics: Callable[[], Mapping[str, Sized]],
        running: Callable[[str], RunningQuery | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``topics``: with the replicas of each partition, as the brokers tell them; ``running``: queries by id."""
        self._host, self._running, self._clock = host, running, clock
        self._topics = Questions(lambda: {name: len(p) for name, p in topics().items()}, "topics", clock)
        self._of_topics: Catalog | None = None
        self._sources = Sources()
        self._views: dict[Principal | None, tuple[Catalog, Names]] = {}
        self._numbers = itertools.count(1)
        self._number, self._of = 0, Catalog()
        self._began = f"{time.time_ns() // 1_000_000:x}"
        self._lock = threading.Lock()

    # ------------------------------------------------------------ texts

    def names(self) -> Names:
        """What a statement of the principal may name."""
        principal, catalog = ASKS.get(), self._host.catalog
        view = catalog.seen_by(principal)
        known = self._views.get(principal)
        if known is None or known[0] is not view:
            if len(self._views) >= _VIEWS:
                self._views.clear()
            self._sources.keep(catalog)
            known = self._views[principal] = view, names_of(view, self._sources.of(view), roles=self._roles(view))
        names, columns = known[1], known[1].columns
        queries = {query_id: self._host.state(query_id) for query_id in view.queries}
        told = replace(names, topics=tuple(self._seen(view, self.partitions())), queries=queries)
        told.__dict__["columns"] = columns  # which is worked out once
        return told

    def sandbox(self, properties: Mapping[str, object]) -> Sandbox:
        """Where a text is checked: nothing that is done there has an effect, and nothing is run."""
        host, unrun = self._host, _Unrun()
        still = _Still(
            host.config,
            KnownTopics(self.partitions()),
            tuple(host.open_push_queries),
            host.plan_of,
            unrun,  # type: ignore[arg-type]  # all that a check asks of workers
        )
        return Sandbox(still, host.catalog, dict(properties), principal=ASKS.get())

    # ------------------------------------------------------------ what there is

    def graph(self) -> dict[str, Any]:
        """Nodes and edges of what the principal sees, and the version of it."""
        version, who = self.version(), ASKS.get()
        view = self._host.catalog.seen_by(who)
        return {"version": version, **graph(view, who, self.partitions(), self._host.state, self._failure)}

    def version(self) -> str:
        """Another one after each change of the catalog, and after each start."""
        with self._lock:
            if self._host.catalog is not self._of:
                self._of, self._number = self._host.catalog, next(self._numbers)
            return f"{self._began}-{self._number}"

    def sees(self) -> frozenset[str] | None:
        """The ids of the queries that the principal sees; None: all."""
        view = self._host.catalog.seen_by(ASKS.get())
        return None if view is self._host.catalog else frozenset(view.queries)

    def has_query(self, query_id: str) -> bool:
        """Whether the principal sees a persistent query of that id."""
        return query_id in self._host.catalog.seen_by(ASKS.get()).queries

    def may_operate(self, query_id: str) -> bool:
        """Whether the principal sees the query and may PAUSE it and the like."""
        who, catalog = ASKS.get(), self._host.catalog
        query = catalog.seen_by(who).queries.get(query_id)
        if query is None:
            return False
        return query.is_of(who) or catalog.allows(who, Right.OPERATE, Thing.source(query.sink))

    def sees_topics(self) -> frozenset[str] | None:
        """The topics of the sources that the principal sees; None: all."""
        view = self._host.catalog.seen_by(ASKS.get())
        return None if view is self._host.catalog else frozenset(s.topic for s in view.sources.values())

    def operates(self) -> bool:
        """Whether the principal may operate all."""
        return allowed(ASKS.get(), Right.OPERATE, EVERYTHING, self._host.catalog.grants)

    def whoami(self) -> dict[str, Any]:
        """Who asks, and what he may do."""
        principal, grants = ASKS.get() or OPEN, self._host.catalog.grants
        roles = sorted(map(role_name, principal.roles))
        given = granted((r for r in roles if r in BUILT_IN or r in grants.roles), grants)
        held = {right for _, rights, _ in given for right in rights}
        everything = {
            name: allowed(principal, right, EVERYTHING, grants)
            for name, right in (("operate", Right.OPERATE), ("admin", Right.ADMIN))
        }
        return {
            "name": principal.name,
            "login": principal.how,
            "roles": sorted(principal.roles),
            "grants": [{"role": role, "rights": rights, "on": on} for role, rights, on in given],
            "may": {"create": "CREATE" in held, "drop": "DROP" in held, **everything},
        }

    def may_on_all(self, *rights: Right) -> bool:
        """Whether the principal has rights on everything."""
        principal, grants = ASKS.get() or OPEN, self._host.catalog.grants
        return all(allowed(principal, right, EVERYTHING, grants) for right in rights)

    # ------------------------------------------------------------ parts

    def partitions(self) -> Mapping[str, int]:
        """The topics with their partitions, asked for again where the answer is old; none where brokers are away."""
        last, catalog = self._topics.last, self._host.catalog
        if last is not None and self._clock() - last.at < FRESH and catalog is self._of_topics:
            return last.told
        self._of_topics = catalog
        answer = self._topics.ask(FIRST if last is None else SOON)
        return {} if answer is None else answer.told

    def _failure(self, query_id: str) -> str | None:
        """Why a query does not run."""
        blocked = self._host.catalog.blocked.get(("query", query_id))
        running = self._running(query_id)
        return blocked or (running.error if running is not None else None)

    def _seen(self, view: Catalog, topics: Iterable[str]) -> list[str]:
        """As SHOW TOPICS has them."""
        known, principal = {s.topic for s in view.sources.values()}, ASKS.get()
        shown = (t for t in topics if not is_internal(t))
        return [t for t in shown if t in known or allowed(principal, None, Thing.topic(t), view.grants)]

    def _roles(self, view: Catalog) -> dict[str, bool]:
        """As SHOW ROLES has them."""
        principal, every = ASKS.get(), (*BUILT_IN, *sorted(view.grants.roles))
        if allowed(principal, Right.ADMIN, EVERYTHING, view.grants):
            return {role: role in BUILT_IN for role in every}
        own = set(map(role_name, principal.roles)) if principal is not None else set()
        return {role: role in BUILT_IN for role in every if role in own}
