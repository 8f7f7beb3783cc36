"""Inputs of a statement's check and run: the sandbox, the context, the services."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ksqlpy.analysis import Samples, TopicSpec
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.plan import Plan

if TYPE_CHECKING:  # who only checks statements needs neither Kafka's clients nor Spark, which are slow to import
    from ksqlpy.runtime.brokers import Brokers
    from ksqlpy.runtime.catalog_service import CatalogService
    from ksqlpy.runtime.reads import Reads
    from ksqlpy.runtime.supervisor import Supervisor
    from ksqlpy.runtime.writing import Writing
    from ksqlpy.spark.query_status import QueryStatus

__all__ = ["Context", "Sandbox", "Surroundings", "TopicFacts"]


class TopicFacts(Protocol):
    """What a check asks of the topics; see :class:`ksqlpy.runtime.topics.Topics`."""

    def check(self, spec: TopicSpec, promised: Mapping[str, int], *, declared: bool) -> int | None:
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

    @property
    def config(self) -> Config:
        """The properties in force."""
        return self.brokers.config.for_statement(self.overrides)

    @property
    def catalog(self) -> Catalog:
        """What exists."""
        return self.seen or self.catalog_service.catalog

    def status(self, query_id: str) -> QueryStatus:
        """How a query stands."""
        return self.supervisor.status(query_id, self.catalog)
