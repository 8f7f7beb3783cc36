"""The engine without Kafka and Spark, as clients see a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksqlpy.access import Principal
from ksqlpy.analysis import CreateAs, Declare
from ksqlpy.catalog import Source
from ksqlpy.errors import EngineProblem
from ksqlpy.plan import Plan
from ksqlpy.testing.memory import MemoryEngine

Ran = tuple[int, str, str]
"""What a command has left: exit code, standard output, standard error."""

EARLIEST = {"auto.offset.reset": "earliest"}


class BareEngine(MemoryEngine):
    """Runs no query; a source whose name is in ``failing`` cannot be made."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # what needs a session is not run here
        self.brokers.cluster_id = "memory"
        self.failing: set[str] = set()
        self._create, self._declare = self.catalog_service.create, self.catalog_service.declare
        self.catalog_service.create = self._made  # type: ignore[method-assign]  # a seam of this test
        self.catalog_service.declare = self._declared  # type: ignore[method-assign]  # the same

    def _made(
        self, made: CreateAs, plan: Plan, properties: Mapping[str, object], principal: Principal | None
    ) -> tuple[int, str]:
        self._look(made.source)
        return self._create(made, plan, properties, principal)

    def _declared(self, made: Declare) -> int:
        self._look(made.source)
        return self._declare(made)

    def _look(self, source: Source) -> None:
        if source.name in self.failing:
            raise EngineProblem("no-room", f"there is no room for {source.name}")


class EngineServer:
    """A client of such an engine; ``done``: the requests that it has done."""

    def __init__(self) -> None:
        self.engine = BareEngine()
        self.done: list[str] = []

    def statements(
        self, sql: str, properties: Mapping[str, object] | None = None, variables: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        entities = self.engine.execute(sql, {**EARLIEST, **(properties or {})}, variables)
        self.done.append(sql)
        return entities
