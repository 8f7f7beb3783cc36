"""What checking and running a statement go by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ksqlpy.analysis import TopicWish
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.plan import Plan

if TYPE_CHECKING:
    from ksqlpy.runtime.engine import Engine

__all__ = ["Context", "Entity", "Sandbox", "Surroundings", "TopicFacts"]

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


@dataclass
class Sandbox:
    """What the statements of a request would have changed so far.

    ``topics``: those that they will make, with their partitions; ``plans``: of the queries that they will make.
    """

    engine: Surroundings
    catalog: Catalog
    overrides: dict[str, object]
    topics: dict[str, int] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        """The properties in force."""
        return self.engine.config.for_statement(self.overrides)

    def plan_of(self, query_id: str) -> Plan:
        """The plan of a query, also of one that an earlier statement of the request will make."""
        return self.plans[query_id] if query_id in self.plans else self.engine.plan_of(query_id)


@dataclass
class Context:
    """The engine, and the session: properties as SET changes them, variables as DEFINE does."""

    engine: Engine
    overrides: dict[str, object]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Config:
        """The properties in force."""
        return self.engine.config.for_statement(self.overrides)
