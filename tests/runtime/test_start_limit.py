"""Queries that start at once: so many are planned at a time, the others wait, and none is kept for long."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.spark.query import spark_run
from ksqlpy.spark.start_limit import SIDE_BY_SIDE, StartLimit
from tests.support.waiting import count, until

CALLS = """
CREATE STREAM calls (line STRING KEY, held INT)
  WITH (KAFKA_TOPIC = 'calls', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""


def test_so_many_hold_a_slot_at_once() -> None:
    limit, never, inside = StartLimit(2), threading.Event(), 0
    seen: list[int] = []
    lock, both = threading.Lock(), threading.Barrier(2)

    def start() -> None:
        nonlocal inside
        with limit.slot(never):
            with lock:
                inside += 1
                seen.append(inside)
            both.wait(30)  # so two are inside at once
            with lock:
                inside -= 1

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(start) for _ in range(6)]:
            done.result(60)
    assert max(seen) == 2


def test_who_is_to_stop_does_not_wait() -> None:
    limit, stopping = StartLimit(1), threading.Event()
    stopping.set()
    with limit.slot(threading.Event()), limit.slot(stopping):
        pass
    with limit.slot(threading.Event()):  # the slot was given back once
        assert not limit._free.acquire(blocking=False)


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("limit")
    made = Engine(
        Config.of({"bootstrap.servers": broker.bootstrap, "ksqlpy.data.dir": str(folder), "ksqlpy.warm.up": "false"})
    )
    made.start()
    made.execute(CALLS)
    yield made
    made.stop()


@pytest.fixture
def taken(engine: Engine) -> Iterator[Callable[[], None]]:
    """All slots are taken; called, it gives them back."""
    with contextlib.ExitStack() as all_slots:
        for _ in range(SIDE_BY_SIDE):
            all_slots.enter_context(engine.queries.start_limit.slot(threading.Event()))
        yield all_slots.close


def free(engine: Engine) -> bool:
    """Whether no query holds a slot."""
    with contextlib.ExitStack() as all_slots:
        got = [engine.queries.start_limit._free.acquire(blocking=False) for _ in range(SIDE_BY_SIDE)]
        for _ in filter(None, got):
            all_slots.callback(engine.queries.start_limit._free.release)
        return all(got)


@pytest.mark.kafka
@pytest.mark.slow
def test_a_query_waits_for_a_slot(engine: Engine, taken: Callable[[], None]) -> None:
    engine.execute("CREATE STREAM long_calls WITH (KAFKA_TOPIC = 'long_calls') AS SELECT * FROM calls WHERE held > 60;")
    producer = Producer({"bootstrap.servers": engine.bootstrap, "log_level": 0})
    producer.produce("calls", key=b"red", value=b'{"HELD": 90}')
    assert producer.flush(20) == 0
    [query_id] = engine.catalog.queries
    query = engine.queries.get(query_id)
    assert query is not None
    assert not query.live.wait(1)
    assert engine.state(query_id) == "STARTING"
    [shown] = engine.execute("SHOW QUERIES;")[0]["queries"]
    assert (shown["state"], shown["statusCount"], shown["tries"]) == ("STARTING", {"RUNNING": 1}, 0)
    taken()
    assert until(lambda: count(engine, "long_calls") == 1)
    assert until(lambda: free(engine))


@pytest.mark.kafka
@pytest.mark.slow
def test_one_that_waits_for_a_slot_can_be_ended(engine: Engine, taken: Callable[[], None]) -> None:
    engine.execute("CREATE STREAM ended AS SELECT * FROM calls;")
    [query_id] = [q.id for q in engine.catalog.queries.values() if q.sink == "ENDED"]
    query = engine.queries.get(query_id)
    assert query is not None
    engine.execute(f"TERMINATE {query_id};")
    assert query.state == "STOPPED"
    assert not query._thread.is_alive()
    assert not query.live.is_set()


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["real-time", "micro-batch"])
def test_one_without_records_gives_its_slot_back(engine: Engine, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_run, "PLANNING", 600.0)  # so that it is not its time that is over
    name = mode.replace("-", "_")
    engine.execute(
        f"CREATE STREAM {name} AS SELECT * FROM calls EMIT CHANGES;",
        {"ksqlpy.query.mode": mode, "auto.offset.reset": "latest"},
    )
    [query_id] = [q.id for q in engine.catalog.queries.values() if q.sink == name.upper()]
    query = engine.queries.get(query_id)
    assert query is not None
    assert query.live.wait(60)
    assert until(lambda: free(engine))
    assert until(lambda: engine.state(query_id) == "RUNNING")
