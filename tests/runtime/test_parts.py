"""The engine's parts do not wait for each other: a slow INSERT holds up no definition, a slow definition no reader."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ksqlpy.runtime.catalog_service import CatalogLock
from ksqlpy.testing.memory import MemoryEngine
from tests.support.waiting import until

RIDES = "CREATE STREAM rides (id INT KEY, km INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"

LARGE = {"Engine", "CatalogService"}
"""Classes with more than 20 methods that are known; none may be added."""


class SlowProducer:
    """Stands for brokers that take records, and confirm none before they are let go."""

    def __init__(self) -> None:
        self.taken: list[Callable[[object, object], None]] = []
        self.go = threading.Event()

    def produce(self, topic: str, *, on_delivery: Callable[[object, object], None], **record: Any) -> None:
        self.taken.append(on_delivery)

    def poll(self, timeout: float) -> int:
        if self.go.wait(timeout):
            while self.taken:
                self.taken.pop()(None, None)
        return 0


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def test_definitions_do_not_wait_for_inserts(spark: SparkSession, threads: ThreadPoolExecutor) -> None:
    engine, producer = MemoryEngine(spark), SlowProducer()
    engine.execute(RIDES)
    engine.brokers.producer = producer  # type: ignore[assignment]
    inserts: list[Future[Any]] = [
        threads.submit(engine.execute, f"INSERT INTO rides (id, km) VALUES ({i}, {i});") for i in range(5)
    ]
    assert until(lambda: len(producer.taken) == 5)
    engine.execute("CREATE STREAM long AS SELECT * FROM rides WHERE km > 9;")
    engine.execute("DROP STREAM long;")
    assert not any(i.done() for i in inserts)
    producer.go.set()
    assert [i.result() for i in inserts] == [[]] * 5


def test_readers_do_not_wait_for_definitions(
    spark: SparkSession, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = MemoryEngine(spark)
    engine.execute(RIDES)
    begun, go = threading.Event(), threading.Event()
    create = engine.broker.create_topic

    def slow(*given: Any) -> None:
        begun.set()
        assert go.wait(60)
        create(*given)

    monkeypatch.setattr(engine.broker, "create_topic", slow)
    made = threads.submit(engine.execute, "CREATE STREAM long AS SELECT * FROM rides WHERE km > 9;")
    assert begun.wait(60)
    engine.execute("INSERT INTO rides (id, km) VALUES (1, 2);")
    [shown] = engine.execute("SHOW STREAMS;")
    assert [s["name"] for s in shown["streams"]] == ["RIDES"]
    waits = threads.submit(engine.execute, "CREATE STREAM far AS SELECT * FROM rides WHERE km > 99;")
    assert not waits.done() and not made.done()
    go.set()
    made.result()
    waits.result()
    assert list(engine.catalog.sources) == ["RIDES", "LONG", "FAR"]


def test_a_turn_is_of_one_thread_and_can_be_given_up(threads: ThreadPoolExecutor) -> None:
    lock, order = CatalogLock(), list[str]()

    def other() -> None:
        with lock:
            order.append("other")

    with lock, lock:
        waits = threads.submit(other)
        order.append("mine")
        with lock.given_up():
            waits.result(60)
            order.append("given up")
        again = threads.submit(other)
        order.append("mine again")
        assert not again.done()
    again.result(60)
    with lock.given_up():  # by one who does not have it
        order.append("none")
    assert order == ["mine", "other", "given up", "mine again", "other", "none"]


def test_no_class_does_everything() -> None:
    root = Path(__file__).parents[2] / "ksqlpy"
    trees = [
        ast.parse(f.read_text(encoding="utf-8")) for p in ("runtime", "spark/query") for f in (root / p).rglob("*.py")
    ]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert {"RunningQuery", "Supervisor", "Queries"} <= {c.name for c in classes}
    assert {c.name for c in classes if sum(isinstance(m, ast.FunctionDef) for m in c.body) > 20} <= LARGE
