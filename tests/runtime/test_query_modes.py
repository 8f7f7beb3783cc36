"""Micro-batches beside real time, and late records: each result, and each late record, comes once, whatever ends.

Also a backlog, which one sorted micro-batch reads.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.analysis import CreateAs, analyze_create
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import AnalysisProblem
from ksqlpy.plan import build_plan, mode_of, plan_json, plan_text
from ksqlpy.plan.operators import Filter
from ksqlpy.runtime import Engine
from ksqlpy.sql import parse
from tests.support.waiting import count
from tests.support.waiting import until as wait_until

until = partial(wait_until, seconds=180)

RIDES = "CREATE STREAM rides (id INT KEY, km INT) WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 2);"
FAR = "CREATE STREAM far AS SELECT * FROM rides WHERE km > 9;"


# ---------------------------------------------------------------- the choice


def plan_of(sql: str) -> object:
    catalog, config = Catalog(), Config.of({})
    for parsed in parse(RIDES + sql):
        made = analyze_create(parsed, catalog, config)
        catalog = catalog.with_source(made.source)
    assert isinstance(made, CreateAs)
    return build_plan(made.query)


def asked(value: str) -> Config:
    return Config.of({"ksqlpy.query.mode": value, "ksqlpy.batch.interval": 250})


def test_every_step_runs_in_real_time_unless_batches_are_asked_for() -> None:
    plan = plan_of(FAR)
    for value in ("auto", "real-time"):
        chosen = mode_of(plan, asked(value))
        assert (chosen.batch_ms, chosen.reasons) == (None, ())
        assert plan_json(plan, chosen)["notRealTime"] == []
    chosen = mode_of(plan, asked("micro-batch"))
    assert chosen.batch_ms == 250
    assert "mode: micro-batch, every 250 ms: ksqlpy.query.mode asks for it\n" in plan_text(plan, chosen)
    assert plan_json(plan, chosen)["notRealTime"] == ["ksqlpy.query.mode asks for it"]


def test_a_step_that_is_not_native_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "needs_batches", "it rains")
    plan = plan_of(FAR)
    assert mode_of(plan, asked("auto")).text == "micro-batch, every 250 ms: it rains"
    with pytest.raises(AnalysisProblem, match="this query cannot run in real time: it rains"):
        mode_of(plan, asked("real-time"))


# ---------------------------------------------------------------- with a broker

QUERIES = """
SET 'auto.offset.reset' = 'earliest';
SET 'ksqlpy.query.mode' = 'micro-batch';
SET 'ksqlpy.batch.interval' = '200';
SET 'ksql.late.records.topic' = 'late_in_batches';
CREATE TABLE per_km WITH (QUERY_ID = 'per_km') AS SELECT km, COUNT(*) AS n FROM rides GROUP BY km;
CREATE TABLE batches WITH (QUERY_ID = 'batches') AS
  SELECT km, COUNT(*) AS n FROM rides WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY km;
SET 'ksqlpy.query.mode' = 'auto';
SET 'ksql.late.records.topic' = 'late_in_real_time';
CREATE TABLE rows WITH (QUERY_ID = 'rows') AS
  SELECT km, COUNT(*) AS n FROM rides WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY km;
"""
LATE = ("late_in_batches", "late_in_real_time")


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("modes")
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.data.dir": str(folder),
                "ksqlpy.warm.up": "false",
                "commit.interval.ms": 3000,
            }
        )
    )
    made.start()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def clean(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "engine" in request.fixturenames:
        engine: Engine = request.getfixturevalue("engine")
        engine.execute("TERMINATE ALL;")
        for source in list(engine.catalog.sources.values())[::-1]:
            engine.execute(f"DROP {source.kind} `{source.name}` DELETE TOPIC;")


def is_late(number: int) -> bool:
    return number % 5 == 4


def send(engine: Engine, first: int, last: int) -> None:
    """Rides, one a second, in two partitions; every fifth comes 100 s too late."""
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
    for n in range(first, last):
        at = 10_000_000 + n * 1000 - (100_000 if is_late(n) else 0)
        key, value = n.to_bytes(4, "big"), json.dumps({"KM": n % 3})
        producer.produce("rides", key=key, value=value, partition=n % 2, timestamp=at)
    assert producer.flush(20) == 0


def read(engine: Engine, topic: str) -> list[tuple[bytes, bytes, dict[str, bytes]]]:
    ends = engine.kafka.offsets(engine.kafka.partitions([topic]), latest=True)[topic]
    reader = engine.kafka.reader()
    reader.assign([TopicPartition(topic, int(p), 0) for p in ends])
    found = []
    while len(found) < sum(ends.values()):
        message = reader.poll(10)
        assert message is not None and message.error() is None
        found.append((message.key() or b"", message.value() or b"", dict(message.headers() or ())))
    reader.close()
    return found


def forget_last_commit(engine: Engine, query_id: str) -> None:
    """Leaves what a kill leaves between the results of a batch and its commit."""
    folder = Path(engine.queries.checkpoints.folder(query_id)) / "spark"
    last = max(int(f.name) for f in (folder / "commits").iterdir() if f.name.isdigit())
    for name in (f"commits/{last}", f"commits/.{last}.crc", f"offsets/{last + 1}", f"offsets/.{last + 1}.crc"):
        (folder / name).unlink(missing_ok=True)


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
def test_results_and_late_records_come_once(engine: Engine) -> None:
    engine.execute(RIDES + QUERIES)
    queries = [engine.queries.get(q) for q in engine.catalog.queries]
    assert until(lambda: all(q is not None and q.live.is_set() for q in queries))
    wanted = {"PER_KM": 40, "BATCHES": 32, "ROWS": 32, **dict.fromkeys(LATE, 8)}

    def all_there(rounds: int) -> bool:
        return until(lambda: all(count(engine, t) >= n * rounds for t, n in wanted.items()))

    send(engine, 0, 40)
    assert all_there(1)
    described = {
        d["queryId"]: d for d in engine.execute("DESCRIBE rides EXTENDED;")[0]["sourceDescription"]["queryFigures"]
    }
    assert [described[q]["mode"] for q in ("PER_KM", "BATCHES", "ROWS")] == ["micro-batch", "micro-batch", "real-time"]
    assert [described[q]["lateRows"] for q in ("BATCHES", "ROWS")] == [8, 8]
    assert [described[q]["rowsOut"] for q in ("BATCHES", "ROWS")] == [32, 32]
    for q in ("PER_KM", "BATCHES", "ROWS"):
        took = described[q]["latency"]
        assert 0 <= took["p50"] <= took["p99"] <= took["max"], took
    statistics = engine.execute("DESCRIBE batches EXTENDED;")[0]["sourceDescription"]["statistics"]
    assert "late rows 8, " in statistics and "latency - (event times are over a day old)" in statistics
    assert [described[q]["lateTopic"] for q in ("PER_KM", "BATCHES", "ROWS")] == [None, *LATE]
    figures = {q: engine.execute(f"EXPLAIN {q};")[0]["queryDescription"]["figures"] for q in ("PER_KM", "ROWS")}
    assert [f["rowsOut"] for f in figures.values()] == [40, 32]
    explained = engine.execute("EXPLAIN BATCHES;")[0]["queryDescription"]["topology"]
    assert "late records to topic late_in_batches]" in explained and "mode: micro-batch, every 200 ms" in explained
    for step in (1, 2):
        engine.execute("PAUSE ALL;")
        if step == 2:
            forget_last_commit(engine, "PER_KM")
            forget_last_commit(engine, "BATCHES")
        send(engine, step * 40, step * 40 + 20)
        engine.execute("RESUME ALL;")
        send(engine, step * 40 + 20, step * 40 + 40)
        assert all_there(step + 1)
    time.sleep(1)  # for what would come twice
    assert {t: count(engine, t) for t in wanted} == {t: n * 3 for t, n in wanted.items()}
    for topic in ("PER_KM", "BATCHES", "ROWS"):
        by_key = defaultdict(list)
        for key, value, _ in read(engine, topic):
            by_key[key].append(json.loads(value)["N"])
        assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_key.values())
    for topic in LATE:
        found = {int.from_bytes(key, "big"): (value, headers) for key, value, headers in read(engine, topic)}
        assert sorted(found) == [n for n in range(120) if is_late(n)]
        for n, (value, headers) in found.items():
            assert json.loads(value) == {"KM": n % 3}
            assert headers["ksqlpy.source.offset"] == str(n // 2).encode()
            assert headers["ksqlpy.reason"].startswith(b"event time ")


BACKLOG = """
CREATE TABLE lands (city STRING PRIMARY KEY, land STRING)
  WITH (KAFKA_TOPIC = 'lands', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM trips (city STRING KEY, n INT) WITH (KAFKA_TOPIC = 'trips', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""
PLACED = """
SET 'auto.offset.reset' = 'earliest';
SET 'ksql.late.records.topic' = 'late_trips';
CREATE STREAM placed AS SELECT t.city AS city, n, land FROM trips t JOIN lands l ON t.city = l.city;
CREATE TABLE counted AS SELECT city, COUNT(*) AS n FROM trips
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY city;
"""


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
def test_a_backlog_leaves_the_records_of_a_partition_in_their_order(engine: Engine) -> None:
    """Between partitions time decides; within one, what came later counts, and may be late, whatever its time says."""
    engine.execute(BACKLOG)
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
    for topic, city, at, value in (
        ("lands", "Oslo", 50_000, {"LAND": "Norway"}),
        ("lands", "Oslo", 10_000, {"LAND": "Norge"}),
        ("lands", "Oslo", 90_000, {"LAND": "later"}),
        ("trips", "Oslo", 60_000, {"N": 1}),
        ("trips", "Oslo", 40_000, {"N": 2}),
        ("trips", "Oslo", 61_000, {"N": 3}),
        ("trips", "Oslo", 95_000, {"N": 4}),
    ):
        producer.produce(topic, key=city, value=json.dumps(value), partition=0, timestamp=at)
    producer.produce("trips", key="Rome", value=json.dumps({"N": 5}), partition=1, timestamp=20_000)
    assert producer.flush(20) == 0
    engine.execute(PLACED)
    assert until(lambda: count(engine, "PLACED") >= 4 and count(engine, "COUNTED") >= 4)
    placed = [(v["N"], v["LAND"]) for _, value, _ in read(engine, "PLACED") if (v := json.loads(value))]
    assert placed == [(1, "Norge"), (2, "Norge"), (3, "Norge"), (4, "later")]
    counted = sorted((key, json.loads(value)["N"]) for key, value, _ in read(engine, "COUNTED"))
    windows = [(b"Oslo", 60_000, 1), (b"Oslo", 60_000, 2), (b"Oslo", 90_000, 1), (b"Rome", 20_000, 1)]
    assert counted == [(city + start.to_bytes(8, "big"), n) for city, start, n in windows]
    assert [json.loads(value) for _, value, _ in read(engine, "late_trips")] == [{"N": 2}]
