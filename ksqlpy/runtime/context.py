"""What checking and running a statement go by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ksqlpy.analysis import Samples, TopicWish
from ksqlpy.catalog import Catalog, Source
from ksqlpy.config import Config
from ksqlpy.plan import Plan
from ksqlpy.types import SqlType

if TYPE_CHECKING:  # who only checks statements needs neither Kafka's clients nor Spark, which are slow to import
    from ksqlpy.runtime.brokers import Brokers
    from ksqlpy.runtime.catalog_service import CatalogService
    from ksqlpy.runtime.reads import Reads
    from ksqlpy.runtime.supervisor import Supervisor
    from ksqlpy.runtime.writing import Writing
    from ksqlpy.spark.standing import Standing

__all__ = ["Command", "Context", "Entity", "Sandbox", "Services", "Surroundings", "TopicFacts"]

Entity = dict[str, Any]


class TopicFacts(Protocol):
    """What a check asks of the topics; see :class:`ksqlpy.runtime.topics.Topics`."""

    def check(self, wish: TopicWish, promised: Mapping[str, int], *, declared: bool) -> int | None:
        """Whether the topic is there or can be made."""
        ...

    def partitions(self, topics: Iterable[str]) -> dict[str, int]:
        """The partitions of topics that must exist."""
        ...


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
    def open_push_queries(self) -> tuple[str, ...]:
        """Ids of the push queries that are open."""
        ...

    def plan_of(self, query_id: str) -> Plan:
        """The plan of a persistent query."""
        ...


@dataclass(frozen=True)
class Command:
    """What the check of a statement has found, so that who runs it need not analyse and plan it again.

    ``made``: the analysed statement; ``plan``: of its query; ``sources``, ``types``: by which it was analysed.
    """

    made: Any
    plan: Plan | None
    sources: tuple[Source, ...]
    types: Mapping[str, SqlType]

    def holds_in(self, catalog: Catalog) -> bool:
        """Whether the statement still means that.

        It does not where an earlier one of the request made a source that it reads: an id is known only then.
        """
        return catalog.types == self.types and all(catalog.sources.get(s.name) == s for s in self.sources)


@dataclass
class Sandbox:
    """What the statements of a request would have changed so far.

    ``topics``: those that they will make, with their partitions; ``plans``: of the queries that they will make.
    ``samples``: records that are there, None where there is no Kafka.
    """

    engine: Surroundings
    catalog: Catalog
    overrides: dict[str, object]
    topics: dict[str, int] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    samples: Samples | None = None

    @property
    def server(self) -> Config:
        """The properties of the server."""
        return self.engine.config

    @property
    def config(self) -> Config:
        """The properties in force."""
        return self.server.for_statement(self.overrides)

    def plan_of(self, query_id: str) -> Plan:
        """The plan of a query, also of one that an earlier statement of the request will make."""
        return self.plans[query_id] if query_id in self.plans else self.engine.plan_of(query_id)


@dataclass(frozen=True)
class Services:
    """The parts of an engine: who decides what exists, who runs queries, who reads results, and the brokers of all.

    ``began_ms``: when the engine was made, in ms since 1970.
    """

    catalog_service: CatalogService
    supervisor: Supervisor
    reads: Reads
    brokers: Brokers
    began_ms: int


@dataclass
class Context:
    """The parts of the engine, and the session: properties as SET changes them, variables as DEFINE does."""

    services: Services
    overrides: dict[str, object]
    variables: dict[str, str] = field(default_factory=dict)
    seen: Catalog | None = None
    """What existed when a request began that changes nothing, and that others' changes do not meet."""
    samples: Samples | None = None
    """The records by which its statements were checked."""
    writing: Writing = field(kw_only=True)
    """The records of its INSERTs that are on their way."""
    command: Command | None = None
    """What the check of the statement that is run has found."""

    @property
    def server(self) -> Config:
        """The properties of the server."""
        return self.brokers.config

    @property
    def config(self) -> Config:
        """The properties in force."""
        return self.server.for_statement(self.overrides)

    @property
    def catalog(self) -> Catalog:
        """What exists."""
        return self.seen or self.catalog_service.catalog

    @property
    def checked(self) -> Command | None:
        """What the check of the statement has found, if it still holds."""
        return self.command if self.command is not None and self.command.holds_in(self.catalog) else None

    def standing(self, query_id: str) -> Standing:
        """How a query stands."""
        return self.supervisor.standing(query_id, self.catalog)

    @property
    def catalog_service(self) -> CatalogService:
        """Who changes the catalog."""
        return self.services.catalog_service

    @property
    def supervisor(self) -> Supervisor:
        """Who runs queries."""
        return self.services.supervisor

    @property
    def reads(self) -> Reads:
        """Who reads results."""
        return self.services.reads

    @property
    def brokers(self) -> Brokers:
        """Kafka, its topics, the command log."""
        return self.services.brokers
