"""The engine without Kafka and Spark, as clients see a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksqlpy.analysis import CreateAs, Declare
from ksqlpy.errors import EngineProblem
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
        self._create = self.definitions.create
        self.definitions.create = self._made  # type: ignore[method-assign]

    def _made(self, made: Declare | CreateAs, properties: Mapping[str, object]) -> tuple[int, str | None]:
        if made.source.name in self.failing:
            raise EngineProblem("no-room", f"there is no room for {made.source.name}")
        return self._create(made, properties)


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
