"""An engine with the real catalog, statements and errors, whose queries are played: no Kafka, no Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from ksqlpy.catalog import Column
from ksqlpy.errors import EngineProblem, KsqlError, Span
from ksqlpy.testing.memory import MemoryEngine
from ksqlpy.types import BIGINT, STRING, DecimalType
from tests.support.fake_engine import FakeEngine, FakePush

RIDES = (Column("ID", BIGINT, True), Column("CITY", STRING), Column("FARE", DecimalType(10, 2)))

CAUGHT_UP = {"state": "RUNNING", "live": True, "lag": 0, "rowsIn": 10_000}

START = """
CREATE STREAM rides (id BIGINT KEY, city STRING, fare DECIMAL(10, 2))
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE zones (id INT PRIMARY KEY, name STRING, place STRUCT<lat DOUBLE, lon DOUBLE>)
  WITH (KAFKA_TOPIC = 'zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""


class PlayedPush(FakePush):
    """Gives the rows that were put there; then ends, or waits for more if it is ``live``."""

    def __init__(
        self, engine: FakeEngine, id: str, columns: tuple[Column, ...], rows: list[list[Any]], live: bool
    ) -> None:
        super().__init__(engine, id, None)
        self.columns = columns
        self._rows = rows
        self._live = live

    def rows(self) -> Iterator[list[Any] | None]:
        yield from self._rows
        if self._live:
            yield from super().rows()
        self.limit_reached = True


class CatalogEngine(FakeEngine):
    """``played``: columns and rows by source; ``live``: whether push queries go on; ``slow``: whether pull queries do;
    ``figures``: of EXPLAIN; ``states``: of queries that do not run."""

    def __init__(self, start: str = START) -> None:
        super().__init__()
        self.memory = MemoryEngine(None, number_queries=True)  # type: ignore[arg-type]  # nothing is run
        self.memory.execute(start)
        self.played: dict[str, tuple[tuple[Column, ...], list[list[Any]]]] = {"rides": (RIDES, [])}
        self.live, self.slow = True, False
        self.figures: dict[str, Any] = CAUGHT_UP
        self.states: dict[str, str] = {}
        self.starting = False
        self.lock = threading.Lock()

    def execute(
        self, sql: str, properties: Mapping[str, object] = {}, variables: Mapping[str, str] = {}
    ) -> list[dict[str, Any]]:
        self._check()
        with self.lock:
            self.calls.append((sql, dict(properties)))
            if sql.startswith("EXPLAIN `"):
                return [{"@type": "queryDescription", "queryDescription": self._explained(sql.split("`")[1])}]
            entities = self.memory.execute(sql, properties, variables)
            for query in (q for e in entities for q in e.get("queries") or ()):
                query["state"] = self.states.get(query["id"], query["state"])
            return entities

    def _check(self) -> None:
        if self.starting:
            raise EngineProblem("server-starting", "the server is starting", hint="try again soon", error_code=50302)

    def _explained(self, query_id: str) -> dict[str, Any]:
        return {"id": query_id, "state": self.figures["state"], "fields": [], "figures": self.figures}

    def look_up(self, sql: str, properties: Mapping[str, object] = {}) -> None:
        return None

    def query(
        self,
        sql: str,
        properties: Mapping[str, object] = {},
        variables: Mapping[str, str] = {},
        token: str | None = None,
    ) -> FakePush:
        self._check()
        self.calls.append((sql, dict(properties)))
        try:
            self.memory.execute(f"EXPLAIN {sql}", properties, variables)
        except KsqlError as e:
            if e.span is not None:
                e.span, e.sql = Span(e.span.start - 8, e.span.end - 8), sql
            raise
        words = sql.rstrip(";").lower().split()
        columns, rows = self.played[words[words.index("from") + 1]]
        limited = "limit" in words
        rows = rows[: int(words[words.index("limit") + 1])] if limited else rows
        self.count += 1
        live = self.live and ("emit" in words or self.slow) and not limited
        push = PlayedPush(self, f"transient_RIDES_{self.count}", columns, rows, live)
        self.pushes[push.id] = push
        return push

    def info(self) -> dict[str, Any]:
        self._check()
        return super().info()
