"""What becomes of queries when something changes beneath them: a second engine, topics, checkpoints, keys, slots."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import EngineProblem
from ksqlpy.runtime import Engine
from ksqlpy.spark.once import Offsets
from ksqlpy.spark.query import RunningQuery
from ksqlpy.spark.topics import Topics
from tests.runtime.lifecycle import EARLIEST, all_live, configured, query_ids, read, send
from tests.support.waiting import count as written
from tests.support.waiting import until


@pytest.fixture
def config(broker: EmbeddedKafka, tmp_path: Path, request: pytest.FixtureRequest) -> Config:
    return configured(broker, tmp_path, request.node.name)


@pytest.fixture
def engine(spark: SparkSession, config: Config) -> Iterator[Engine]:
    made = Engine(config)
    made.start()
    yield made
    made.stop()


def test_a_second_engine_is_refused(spark: SparkSession, engine: Engine, config: Config, tmp_path: Path) -> None:
    """Wherever it would come in the alphabet."""

    def refused(identity: str) -> EngineProblem:
        folder = tmp_path / identity
        folder.mkdir()
        (folder / "engine.id").write_text(identity)
        other = Engine(Config({**config.values, "ksqlpy.data.dir": str(folder)}))
        with pytest.raises(EngineProblem) as found:
            other.start()
        return found.value

    with ThreadPoolExecutor() as both:
        for error in both.map(refused, ("0", "z")):
            assert error.code == "service-taken"
            assert "ksql.service.id" in (error.hint or "")
    assert engine.execute("SHOW QUERIES;")[0]["queries"] == []


def committed(running: RunningQuery) -> Offsets:
    """How far the query had read its topics at its last commit."""
    last = running.checkpoint.last_commit
    return {} if last is None else running.checkpoint.offsets(last)


STREAM = "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '{t}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
FURTHER = pytest.mark.extended("queries that are paused and started again and again")


@FURTHER
def test_a_topic_recreated_stops_the_query_with_its_reason(engine: Engine) -> None:
    engine.execute(
        STREAM.format(t="anew") + "CREATE TABLE anew_n AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;", EARLIEST
    )
    [query] = query_ids(engine)
    send(engine, "anew", [("a", {"V": 1}, 0)])
    assert len(read(engine, "ANEW_N", 1)) == 1
    engine.execute(f"PAUSE {query};")
    engine.kafka.delete_topics(["anew"])
    assert until(lambda: "anew" not in engine.kafka.topics())
    engine.kafka.create_topic("anew", 1, None, {})
    send(engine, "anew", [("a", {"V": 2}, 0)])
    engine.execute(f"RESUME {query};")
    assert until(lambda: engine.state(query) == "RETRYING")
    [shown] = engine.execute("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
    assert shown["queryErrors"][-1]["type"] == "USER"
    assert "recreated" in shown["queryErrors"][-1]["errorMessage"]
    assert written(engine, "ANEW_N") == 1


def test_what_retention_took_is_said_and_the_query_goes_on(engine: Engine) -> None:
    engine.execute(STREAM.format(t="short") + "CREATE STREAM short_v AS SELECT k, v FROM s;", EARLIEST)
    [query] = query_ids(engine)
    send(engine, "short", [("a", {"V": v}, 0) for v in range(5)])
    assert len(read(engine, "SHORT_V", 5)) == 5
    running = engine.queries.get(query)
    assert running is not None and until(lambda: committed(running) == {"short": {"0": 5}})
    engine.execute(f"PAUSE {query};")
    send(engine, "short", [("a", {"V": v}, 0) for v in range(5, 10)])
    admin = AdminClient({"bootstrap.servers": engine.bootstrap})
    deleted = admin.delete_records([TopicPartition("short", 0, 8)])
    assert [d.result(timeout=20).low_watermark for d in deleted.values()] == [8]
    engine.execute(f"RESUME {query};")
    assert [v["V"] for _, v in read(engine, "SHORT_V", 7)] == [0, 1, 2, 3, 4, 8, 9]
    assert until(lambda: engine.state(query) == "RUNNING")
    [shown] = engine.execute("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
    assert [e["errorMessage"] for e in shown["queryErrors"]] == [
        "3 records of topic short were deleted by its retention before they were read (hint: keep records for longer"
        " (retention.ms, retention.bytes of the topic))"
    ]


@FURTHER
@pytest.mark.parametrize("torn", ["commits", "offsets"])
def test_a_torn_file_of_the_checkpoint_is_mended(engine: Engine, torn: str) -> None:
    topic = f"torn_{torn}"
    engine.execute(
        STREAM.format(t=topic) + f"CREATE TABLE {topic}_n AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;",
        {**EARLIEST, "commit.interval.ms": "1000"},
    )
    [query] = query_ids(engine)
    running = engine.queries.get(query)
    assert running is not None
    sent = 0
    while (running.checkpoint.last_commit or 0) < 2:
        send(engine, topic, [("a", {"V": sent}, 0)])
        sent += 1
        time.sleep(0.2)
    engine.execute(f"PAUSE {query};")
    folder = Path(running.checkpoint.spark) / torn
    newest = max((f for f in folder.iterdir() if f.name.isdigit()), key=lambda f: int(f.name))
    newest.write_text("v1\n{")
    (folder / f".{newest.name}.crc").unlink(missing_ok=True)
    engine.execute(f"RESUME {query};")
    send(engine, topic, [("a", {"V": sent}, 0)])
    found = [v["N"] for _, v in read(engine, f"TORN_{torn.upper()}_N", sent + 1)]
    assert found == list(range(1, sent + 2))


SLOW = "a*a*a*a*a*b"
"""A pattern that takes 32 times as long for twice as many letters, and does not mind being interrupted."""


def takes_seconds(spark: SparkSession) -> str:
    """A text at which :data:`SLOW` takes two seconds or more here."""
    for letters in range(50, 2000, 10):
        slow, begin = "a" * letters, time.monotonic()
        spark.createDataFrame([(slow,)], "s string").where(f"s rlike '{SLOW}'").collect()
        if time.monotonic() - begin > 2:
            return slow
    raise AssertionError("the pattern is not slow here")


@FURTHER
def test_a_query_starts_again_when_its_tasks_have_ended(engine: Engine) -> None:
    """Spark only asks tasks to stop: what one was just reckoning it writes afterwards."""
    engine.execute(
        "CREATE STREAM words (id STRING KEY, w STRING)"
        " WITH (KAFKA_TOPIC = 'words', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        f"CREATE STREAM found AS SELECT id, REGEXP_EXTRACT('{SLOW}', w) AS f FROM words;",
        EARLIEST,
    )
    assert until(lambda: all_live(engine))
    send(engine, "words", [("quick", {"W": "a"}, 0)])
    assert len(read(engine, "FOUND", 1)) == 1
    send(engine, "words", [("slow", {"W": takes_seconds(engine.session)}, 0)])
    time.sleep(0.5)  # it is at it
    assert written(engine, "FOUND") == 1
    engine.execute("PAUSE ALL;")
    engine.execute("RESUME ALL;")
    send(engine, "words", [("last", {"W": "a"}, 0)])
    assert [k for k, _ in read(engine, "FOUND", 3)] == [b"quick", b"slow", b"last"]


@FURTHER
def test_only_a_backlog_is_read_in_event_time_order_again(engine: Engine) -> None:
    """A live batch whose commit is missing is done again in the order in which its records came."""
    table = "(id STRING PRIMARY KEY, n INT, team STRING) WITH (VALUE_FORMAT = 'JSON', PARTITIONS = 2, KAFKA_TOPIC ="
    engine.execute(
        f"CREATE TABLE l {table} 'ob_l'); CREATE TABLE r {table} 'ob_r');"
        "CREATE TABLE teams AS SELECT l.team, COLLECT_LIST(l.n * 10 + r.n) AS n"
        " FROM l JOIN r ON l.id = r.id GROUP BY l.team;",
        EARLIEST,
    )
    assert until(lambda: all_live(engine))
    [query] = query_ids(engine)
    running = engine.queries.get(query)
    assert running is not None
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 0})
    now = int(time.time() * 1000)

    def put(topic: str, n: int, age: int) -> None:
        producer.produce(topic, json.dumps({"N": n, "TEAM": "red"}), "a", timestamp=now + n - age)
        assert producer.flush(20) == 0

    def put_until(topic: str, n: int, age: int, results: int) -> None:
        put(topic, n, age)
        assert until(lambda: written(engine, "TEAMS") >= results)

    put("ob_l", 1, 0)
    time.sleep(0.5)  # it has no result to wait for
    for n in range(1, 4):
        put_until("ob_r", n, 60_000, 2 * n - 1)  # what comes later is older
        put_until("ob_l", n + 1, 0, 2 * n)
    assert until(lambda: running.checkpoint.last_commit is not None)
    engine.execute("PAUSE ALL;")
    folder = Path(running.checkpoint.spark)
    # A slow machine may have made further batches: what is left is as if the first had not been committed.
    later = [f for part in ("spark/offsets", "sink/*") for f in folder.parent.glob(f"{part}/[1-9]*")]
    for file in [*folder.glob("commits/*"), *later]:
        file.unlink()
    engine.execute("RESUME ALL;")
    assert until(lambda: all_live(engine))
    put("ob_r", 4, 0)
    assert [v["N"] for _, v in read(engine, "TEAMS", 7)] == [[11], [21], [22], [32], [33], [43], [44]]


def test_another_plan_on_a_checkpoint_is_refused(engine: Engine) -> None:
    engine.execute(STREAM.format(t="other") + "CREATE TABLE other_n AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;")
    [query] = query_ids(engine)
    running = engine.queries.get(query)
    assert running is not None and until(lambda: running.live.is_set())
    with pytest.raises(EngineProblem, match="another plan") as refused:
        running.checkpoint.claim("another", 1, Topics())
    assert refused.value.code == "checkpoint-mismatch"
    with pytest.raises(EngineProblem, match="1 shuffle partitions"):
        running.checkpoint.claim(running.spec.fingerprint, 7, Topics())


FORGETFUL = {
    "stream-table join": "CREATE STREAM {o} AS SELECT s.k AS k, v, w FROM s LEFT JOIN t ON s.k = t.k;",
    "tables joined": "CREATE TABLE {o} AS SELECT ROWKEY AS k, t.w AS w, u.w AS x FROM t FULL JOIN u ON t.k = u.k;",
    "WHERE on a table": "CREATE TABLE {o} AS SELECT k, w FROM t WHERE w > 0;",
    "GROUP BY of a table": "CREATE TABLE {o} AS SELECT w, COUNT(*) AS n FROM t GROUP BY w;",
}


@FURTHER
def test_deleted_keys_are_forgotten(engine: Engine) -> None:
    """Whatever is made of a table, its deleted keys are in no state after the next commit, and the living are."""
    engine.execute(
        """
        CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'churn_s', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
        CREATE TABLE t (k STRING PRIMARY KEY, w INT)
          WITH (KAFKA_TOPIC = 'churn_t', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
        CREATE TABLE u (k STRING PRIMARY KEY, w INT)
          WITH (KAFKA_TOPIC = 'churn_u', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
        """
    )
    made = {}
    for i, (shape, statement) in enumerate(FORGETFUL.items()):
        [entity] = engine.execute(statement.format(o=f"churn_{i}"), EARLIEST)
        made[shape] = entity["commandStatus"]["queryId"]
    running = {shape: engine.queries.get(query) for shape, query in made.items()}
    assert until(lambda: all(r is not None and r.live.is_set() for r in running.values()))
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for i in range(1000):
        producer.produce("churn_t", key=b"dead%d" % i, value=b'{"W": %d}' % (i % 3), partition=i % 2)
        producer.produce("churn_t", key=b"dead%d" % i, value=None, partition=i % 2)
        producer.produce("churn_s", key=b"nobody's%d" % i, value=b'{"V": 1}', partition=i % 2)
    for topic in ("churn_t", "churn_u"):
        producer.produce(topic, key=b"alive", value=b'{"W": 7}', partition=0)
    assert producer.flush(20) == 0
    # Of the join of tables 1,000 dead keys come and go, and the living one comes twice: from each table.
    counts = {"CHURN_0": 1000, "CHURN_1": 2002, "CHURN_3": 2001}
    assert until(lambda: {sink: written(engine, sink) for sink in counts} == counts)
    keys = {shape: _state(engine, query) for shape, query in made.items()}
    assert keys == {
        "stream-table join": ["alive"],
        "tables joined": ["alive"],
        "WHERE on a table": ["alive"] * 2,
        "GROUP BY of a table": ["0", "1", "2", "7", "alive"],
    }
    # They start over like keys that never were, and who stayed is known.
    send(engine, "churn_s", [("alive", {"V": 10}, 1), ("dead3", {"V": 20}, 0)])
    assert {v["V"]: v["W"] for _, v in read(engine, "CHURN_0", 1002)} == {1: None, 10: 7, 20: None}
    send(engine, "churn_t", [("dead3", {"W": 5}, 1)])
    assert until(lambda: written(engine, "CHURN_1") > 0)
    assert until(lambda: (b"dead3", {"W": 5}) in read(engine, "CHURN_2", 1))


def _state(engine: Engine, query: str) -> list[str]:
    """The keys that are in the state of a query after its next commit, of all its steps."""
    running = engine.queries.get(query)
    assert running is not None
    last = running.checkpoint.last_commit
    assert until(lambda: running.checkpoint.last_commit not in (None, last))
    folder = Path(running.checkpoint.folder) / "spark"
    found = []
    for operator in sorted(int(p.name) for p in (folder / "state").iterdir() if p.name.isdigit()):
        rows = engine.session.read.format("statestore").load(str(folder), operatorId=operator)
        found += [str(r["key"][0]) for r in rows.select("key").collect() if r["key"][0] is not None]
    return sorted(found)


def test_a_query_without_room_says_so_and_starts_when_there_is(engine: Engine) -> None:
    """Its topic has got more partitions than there are slots: no silent starving."""
    engine.execute(STREAM.format(t="roomy") + "CREATE STREAM roomy_o AS SELECT k, v FROM s;", EARLIEST)
    [query] = query_ids(engine)
    assert until(lambda: all_live(engine))
    engine.execute(f"PAUSE {query};")
    capacity, engine.queries.task_slots.fixed = engine.queries.task_slots.fixed, 1
    admin = AdminClient({"bootstrap.servers": engine.bootstrap})
    for done in admin.create_partitions([NewPartitions("roomy", 3)]).values():
        done.result(timeout=20)
    with pytest.raises(EngineProblem, match="needs 3 task slots, 1 of 1 are free"):
        engine.execute(f"RESUME {query};")
    assert engine.state(query) == "PAUSED"
    engine.queries.task_slots.fixed = 3
    engine.execute(f"RESUME {query};")
    send(engine, "roomy", [("a", {"V": p}, p) for p in range(3)])
    assert sorted(v["V"] for _, v in read(engine, "ROOMY_O", 3)) == [0, 1, 2]
    for done in admin.create_partitions([NewPartitions("roomy", 5)]).values():
        done.result(timeout=20)
    assert until(lambda: engine.state(query) == "ERROR")
    [shown] = engine.execute("SHOW QUERIES;")[0]["queries"]
    assert "needs 5 task slots, 3 of 3 are free" in shown["queryErrors"][-1]["errorMessage"]
    engine.queries.task_slots.fixed = capacity
    assert until(lambda: all_live(engine))
    send(engine, "roomy", [("a", {"V": p}, p) for p in range(3, 5)])
    assert sorted(v["V"] for _, v in read(engine, "ROOMY_O", 5)) == [0, 1, 2, 3, 4]
