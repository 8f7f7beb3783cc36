"""What checking and running a statement go by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.plan import Plan

if TYPE_CHECKING:
    from ksqlpy.runtime.engine import Engine

__all__ = ["Context", "Entity", "Sandbox"]

Entity = dict[str, Any]


@dataclass
class Sandbox:
    """What the statements of a request would have changed so far.

    ``topics``: those that they will make, with their partitions; ``plans``: of the queries that they will make.
    """

    engine: Engine
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
