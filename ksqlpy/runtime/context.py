"""Inputs of a statement's check and run: the sandbox, the context, the services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ksqlpy.access import Need, Principal, Right, Thing, allowed, require
from ksqlpy.analysis import Samples, TopicSpec
from ksqlpy.catalog import Catalog, Owner
from ksqlpy.config import Config
from ksqlpy.plan import Plan
from ksqlpy.sql import Parsed, span_of
from ksqlpy.tracing import span

if TYPE_CHECKING:  # who only checks statements needs neither Kafka's clients nor Spark, which are slow to import
    from ksqlpy.runtime.brokers import Brokers
    from ksqlpy.runtime.catalog_service import CatalogService
    from ksqlpy.runtime.plainpush import PlainPush
    from ksqlpy.runtime.push import PushQuery
    from ksqlpy.runtime.reads import Reads
    from ksqlpy.runtime.supervisor import Supervisor
    from ksqlpy.runtime.writing import Writing
    from ksqlpy.spark.query_status import QueryStatus
    from ksqlpy.udfs.pool import Workers

__all__ = ["Context", "OpenPush", "Sandbox", "Surroundings", "TopicFacts"]


class TopicFacts(Protocol):
    """What a check asks of the topics; see :class:`ksqlpy.runtime.topics.Topics`."""

    def check(self, spec: TopicSpec, promised: Mapping[str, int], *, declared: bool) -> int | None:
        """Whether the topic is there or can be made."""
        ...

    def partitions(self, topics: Iterable[str]) -> dict[str, int]:
        """The partitions of topics that must exist."""
        ...

    def exists(self, topic: str) -> bool:
        """Whether there is such a topic."""
        ...


@dataclass(frozen=True)
class OpenPush:
    """A push query that is open, as far as others may ask for it; ``sources``: what it reads."""

    id: str
    owner: Owner | None
    sources: tuple[str, ...]

    def is_of(self, principal: Principal | None) -> bool:
        """Whether this principal has asked it."""
        return Owner.is_same(self.owner, Owner.of(principal))


class Surroundings(Protocol):
    """What a check asks of the engine. Extension point: another one checks statements without Kafka."""

    @property
    def config(self) -> Config:
        """The properties of the server."""
        ...

    @property
    def topics(self) -> TopicFacts:
        """The topics of the brokers."""
        ...

    @property
    def open_push_queries(self) -> Iterable[OpenPush]:
        """The push queries that are open."""
        ...

    @property
    def python(self) -> Workers:
        """What runs functions in Python."""
        ...

    def plan_of(self, query_id: str) -> Plan:
        """The plan of a persistent query."""
        ...


@dataclass
class Sandbox:
    """What the statements of a request would have changed so far.

    ``topics``: those that they will make, with their partitions; ``plans``: of the queries that they will make.
    ``samples``: records that are there, None where there is no Kafka. ``principal``: who asks, None where there is no
    login. ``asked``: is told of the rights that statements need.
    """

    engine: Surroundings
    catalog: Catalog
    overrides: dict[str, object]
    topics: dict[str, int] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    samples: Samples | None = None
    principal: Principal | None = None
    asked: Callable[[Parsed, Iterable[Need]], None] | None = None

    @property
    def visible(self) -> Catalog:
        """What exists, without what the principal may not see; statements look names up in it."""
        return self.catalog.seen_by(self.principal)

    @property
    def pushes(self) -> dict[str, OpenPush]:
        """The open push queries that the principal may see, by id."""
        view = self.visible
        return {p.id: p for p in self.engine.open_push_queries if view.shows(p.owner, p.sources)}

    def ask(self, needs: Iterable[Need], parsed: Parsed) -> None:
        """Refuses the statement if the principal lacks one of these rights; raises StatementError ``missing-right``."""
        place, needs = span_of(parsed.node, parsed.sql), list(needs)
        if self.asked is not None:
            self.asked(parsed, needs)
        with span("access check"):
            for need in needs:
                require(self.principal, need, self.catalog.grants, span=place, sql=parsed.sql)

    def sees_topic(self, topic: str) -> bool:
        """Whether the principal has any right on a topic."""
        return allowed(self.principal, None, Thing.topic(topic), self.catalog.grants)

    @property
    def config(self) -> Config:
        """The properties in force."""
        return self.engine.config.for_statement(self.overrides)

    def plan_of(self, query_id: str) -> Plan:
        """The plan of a query, also of one that an earlier statement of the request will make."""
        return self.plans[query_id] if query_id in self.plans else self.engine.plan_of(query_id)


@dataclass
class Context:
    """The parts of the engine, and the session of a request: properties as SET changes them, variables as DEFINE does.

    ``seen``: what existed when a request began that changes nothing, and that others' changes do not meet; ``writing``:
    the records of its INSERTs that are on their way; ``began_ms``: when the engine was made, in ms since 1970.
    ``principal``: who asks, None where there is no login.
    """

    catalog_service: CatalogService
    supervisor: Supervisor
    reads: Reads
    brokers: Brokers
    began_ms: int
    writing: Writing
    overrides: dict[str, object]
    variables: dict[str, str]
    seen: Catalog | None = None
    principal: Principal | None = None

    @property
    def config(self) -> Config:
        """The properties in force."""
        return self.brokers.config.for_statement(self.overrides)

    @property
    def catalog(self) -> Catalog:
        """What exists."""
        return self.seen or self.catalog_service.catalog

    @property
    def visible(self) -> Catalog:
        """What exists, without what the principal may not see; answers show only that."""
        return self.catalog.seen_by(self.principal)

    @property
    def pushes(self) -> list[PushQuery | PlainPush]:
        """The open push queries that the principal may see."""
        view = self.visible
        return [p for p in self.reads.open if view.shows(Owner.of(p.asked.principal), p.asked.sources)]

    def may(self, right: Right | None, thing: Thing) -> bool:
        """Whether the principal has a right; None: any, by which the thing is seen."""
        return allowed(self.principal, right, thing, self.catalog.grants)

    def status(self, query_id: str) -> QueryStatus:
        """How a query stands."""
        return self.supervisor.status(query_id, self.catalog)
