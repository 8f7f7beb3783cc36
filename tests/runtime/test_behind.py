"""How far queries are, for pull queries: asked in a thread, and never waited for for long; no broker, no Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.catalog import Catalog
from ksqlpy.runtime import behind
from ksqlpy.runtime.behind import Behind
from ksqlpy.testing.memory import MemoryEngine
from tests.support.waiting import until

STATEMENTS = """
CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE plain (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 'plain', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM t AS SELECT * FROM s;
CREATE TABLE n AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;
"""


class World:
    """What queries have still to read, by the names of their sinks, and whether brokers answer."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        engine = MemoryEngine(None, number_queries=True)  # type: ignore[arg-type]  # no session: nothing is run
        engine.execute(STATEMENTS)
        self.catalog: Catalog = engine.catalog
        self.left: dict[str, int | None] = {"T": 0, "N": 0}
        self.answers = threading.Event()
        self.answers.set()
        self.asked = 0
        patch.setattr(behind, "_left_to_read", lambda queries, query, begins, ends: self.left[query.sink])
        supervisor: Any = SimpleNamespace(queries=None, specs=SimpleNamespace(committed=lambda query: True))
        kafka: Any = SimpleNamespace(partitions=self.partitions, offsets=lambda partitions, *, latest, committed: {})
        self.behind = Behind(supervisor, lambda: kafka)

    def partitions(self, topics: Mapping[str, object]) -> dict[str, int]:
        self.asked += 1
        self.answers.wait()
        return {}

    def id(self, sink: str) -> str:
        return next(q.id for q in self.catalog.queries.values() if q.sink == sink)

    def now(self, *names: str) -> dict[str, int | None]:
        return dict(self.behind.now([self.catalog.sources[n] for n in names], self.catalog))

    def known(self, name: str) -> dict[str, int | None] | None:
        found = self.behind.known(self.catalog.sources[name], self.catalog)
        return None if found is None else dict(found)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(behind, "RECENT", 0.0)  # each question is asked
    made = World(monkeypatch)
    yield made
    made.answers.set()


def test_all_queries_behind_a_source_count(world: World) -> None:
    assert world.now("N") == {}
    world.left = {"T": 5, "N": None}
    assert world.now("N") == {world.id("T"): 5, world.id("N"): None}
    assert world.now("T") == world.now("T", "PLAIN") == {world.id("T"): 5}
    asked = world.asked
    assert world.now("S") == world.now("PLAIN") == {}
    assert world.asked == asked  # there is nobody to ask about


def test_lookups_take_what_is_known(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert world.known("PLAIN") == {}
    assert world.known("N") is None
    world.left["T"] = 5
    assert world.now("N") == world.known("N") == {world.id("T"): 5}
    world.left["T"] = 0
    assert world.known("N") == {world.id("T"): 5}
    monkeypatch.setattr(behind, "KEPT", 0.0)
    assert until(lambda: world.known("N") == {}, every=0.01)  # they are asked for meanwhile
    monkeypatch.setattr(behind, "OLD", 0.0)
    assert until(lambda: world.known("N") is None, every=0.01)


def test_brokers_that_do_not_answer_keep_nobody_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behind, "PATIENCE", 0.05)
    world.left["T"] = 5
    world.answers.clear()
    assert world.now("N") == {}
    assert world.now("N") == {}
    assert (world.known("N"), world.asked) == ({}, 1)  # one question is open
    world.answers.set()
    assert until(lambda: world.known("N") == {world.id("T"): 5}, every=0.01)


def test_what_fails_is_not_told(world: World) -> None:
    world.left = {}  # a KeyError for each query
    assert world.now("N") == {}
    world.left = {"T": 1, "N": 0}
    assert world.now("N") == {world.id("T"): 1}


def test_a_table_whose_query_has_ended(world: World) -> None:
    world.catalog = world.catalog.without_query(world.id("N"))
    assert world.known("N") == {} and world.now("N") == {}
