"""The engine as a whole, on a real broker: restart, refusals that leave nothing behind, dead letters, push queries."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import AnalysisProblem, ConfigProblem, EngineProblem, EnvironmentProblem, KsqlError, SyntaxProblem
from ksqlpy.runtime import Engine
from ksqlpy.runtime.commandlog import CommandLog
from tests.support.waiting import messages
from tests.support.waiting import until as wait_until

until = partial(wait_until, seconds=60)

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
RIDES = "CREATE STREAM rides (id INT KEY, total INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("engine")),
                "ksqlpy.warm.up": "false",
                "commit.interval.ms": 2000,
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
        while engine.catalog.sources:
            for source in list(engine.catalog.sources.values()):
                engine.execute(f"DROP {source.kind} `{source.name}` DELETE TOPIC;")


def records(engine: Engine, topic: str, count: int, deadline: float = 60) -> list[tuple[bytes | None, bytes | None]]:
    """The first ``count`` records of a topic; fewer if they do not come in time."""
    consumer = engine.kafka.reader()
    consumer.assign([TopicPartition(topic, 0, 0)])
    return [(m.key(), m.value()) for m in messages(consumer, count, deadline)]


def state(engine: Engine) -> tuple[Any, ...]:
    """All that a refused statement must not change."""
    return engine.catalog, engine.catalog_service.next_command, sorted(engine.kafka.topics())


def test_insert_query_and_result(engine: Engine) -> None:
    engine.execute(RIDES + "CREATE STREAM big AS SELECT id, total FROM rides WHERE total >= 40;", EARLIEST)
    engine.execute("INSERT INTO rides (id, total) VALUES (1, 39); INSERT INTO rides VALUES (2, 40);")
    assert records(engine, "BIG", 1) == [(b"\x00\x00\x00\x02", b'{"TOTAL":40}')]


def test_a_batch_is_committed_before_the_next_one_begins(engine: Engine) -> None:
    # By default Spark writes commits of queries without state later; a note of the sink's end is then too late by the
    # results of the next batch, which come again after a kill.
    engine.execute(RIDES + "CREATE STREAM big WITH (QUERY_ID='BIG') AS SELECT id, total FROM rides;", EARLIEST)
    running = engine.supervisor.queries.get("BIG")
    assert running is not None
    until(running.live.is_set)
    assert running.handle.query is not None
    assert running.handle.query._jsq.streamingQuery().getClass().getSimpleName() == "MicroBatchExecution"


@pytest.mark.parametrize("rowtime", [0, 1])
def test_insert_takes_the_earliest_times(engine: Engine, rowtime: int) -> None:
    # librdkafka writes the present time for 0.
    engine.execute(RIDES + f"INSERT INTO rides (ROWTIME, id, total) VALUES ({rowtime}, 1, 39);")
    consumer = engine.kafka.reader()
    consumer.assign([TopicPartition("rides", 0, 0)])
    record = consumer.poll(30)
    consumer.close()
    assert record is not None
    assert (record.timestamp()[1], record.key(), record.value()) == (rowtime, b"\x00\x00\x00\x01", b'{"TOTAL":39}')


def test_an_insert_of_the_time_zero_that_the_topic_does_not_take_is_refused(engine: Engine) -> None:
    engine.execute("CREATE STREAM notes (text STRING) WITH (KAFKA_TOPIC='notes', VALUE_FORMAT='JSON', PARTITIONS=1);")
    quotes = '"' * 600_000  # in JSON they have twice as many bytes
    with pytest.raises(EngineProblem) as refused:
        engine.execute(f"INSERT INTO notes (ROWTIME, text) VALUES (0, '{quotes}');")
    assert refused.value.code == "not-inserted"
    assert records(engine, "notes", 1, deadline=2) == []


def test_restart_replays_the_log_and_touches_nothing(spark: SparkSession, tmp_path: Path) -> None:
    # Without brokers that are named, the engine starts its own, which keeps its topics in the data folder.
    config = Config.of({"ksqlpy.data.dir": str(tmp_path), "ksqlpy.warm.up": "false", "commit.interval.ms": 1000})
    first = Engine(config)
    first.start()
    try:
        first.execute(RIDES + "CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM rides GROUP BY id;", EARLIEST)
        first.execute("CREATE STREAM gone AS SELECT id, total FROM rides; DROP STREAM gone;")
        first.execute("INSERT INTO rides VALUES (1, 5);")
        assert records(first, "N", 1) == [(b"\x00\x00\x00\x01", b'{"N":1}')]
        [query] = first.catalog.queries
        commits = Path(first.queries.checkpoints.folder(query)) / "spark" / "commits"
        assert until(lambda: commits.is_dir() and len([f for f in commits.iterdir() if f.name.isdigit()]) > 1)
        before = first.catalog
    finally:
        first.stop()

    second = Engine(config)
    second.start()
    try:
        assert second.catalog == before
        assert second.brokers.log.next_offset == len(second.brokers.log.read())
        assert {t for t in second.kafka.topics() if not t.startswith("_")} == {"rides", "N", "GONE"}
        second.execute("INSERT INTO rides VALUES (1, 6);")
        assert until(lambda: (b"\x00\x00\x00\x01", b'{"N":2}') in records(second, "N", 5, deadline=2))
        assert until(lambda: second.execute("SHOW QUERIES;")[0]["queries"][0]["state"] == "RUNNING")
    finally:
        second.stop()


JSON_TOPIC = "WITH (KAFKA_TOPIC='nope', VALUE_FORMAT='JSON');"
REFUSED = [
    ("CREATE STREAM s (id INT KEY, v INT WITH (KAFKA_TOPIC='s');", SyntaxProblem, "syntax-error", 36),
    ("CREATE STREAM x AS SELECT id, nope FROM rides;", AnalysisProblem, "unknown-column", 31),
    ("CREATE STREAM x AS SELECT * FROM nope;", AnalysisProblem, "unknown-source", 34),
    (f"CREATE STREAM x (a NOPE) {JSON_TOPIC}", AnalysisProblem, "unknown-type", 20),
    (f"CREATE STREAM x (a INT) {JSON_TOPIC}", AnalysisProblem, "missing-topic", 15),
    (RIDES, AnalysisProblem, "already-exists", 15),
    ("CREATE STREAM x AS SELECT * FROM rides; DROP STREAM y;", AnalysisProblem, "unknown-source", 53),
    ("SET 'auto.offset.reset' = 'sometimes'; SHOW TOPICS;", ConfigProblem, "invalid-property", 1),
]


@pytest.mark.parametrize(("sql", "kind", "code", "column"), REFUSED, ids=[r[2] for r in REFUSED])
def test_a_refused_request_leaves_nothing(
    engine: Engine, sql: str, kind: type[KsqlError], code: str, column: int
) -> None:
    engine.execute(RIDES)
    before = state(engine)
    with pytest.raises(kind) as refused:
        engine.execute(sql)
    error = refused.value
    assert error.code == code
    assert error.span is not None
    assert error.span.position(sql) == (1, column)
    assert state(engine) == before


def test_a_query_that_does_not_fit_is_refused_with_the_numbers(engine: Engine) -> None:
    engine.execute(RIDES)
    before = state(engine)
    capacity, engine.queries.task_slots.fixed = engine.queries.task_slots.fixed, 0
    try:
        with pytest.raises(EngineProblem, match="needs 1 task slots, 0 of 0 are free"):
            engine.execute("CREATE STREAM x AS SELECT id, total FROM rides;")
    finally:
        engine.queries.task_slots.fixed = capacity
    assert state(engine) == before


FURTHER = pytest.mark.extended("queries of each shape, and new partitions")


@FURTHER
def test_a_query_holds_the_slots_that_are_counted(engine: Engine) -> None:
    """Counted with too few, it would find none on a full cluster; a shuffle that is not needed also costs latency."""
    engine.execute(
        RIDES + "CREATE STREAM more (id INT KEY, total INT)"
        " WITH (KAFKA_TOPIC='more', VALUE_FORMAT='JSON', PARTITIONS=3);"
        "CREATE STREAM filtered AS SELECT id, total FROM rides WHERE total > 1;"
        "CREATE TABLE per_hour AS SELECT id, COUNT(*) AS n FROM rides WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;"
        "CREATE TABLE last_of AS SELECT total, COUNT(*) AS n FROM rides"
        " WINDOW HOPPING (SIZE 2 HOURS, ADVANCE BY 1 HOUR) GROUP BY total EMIT FINAL;"
        "CREATE TABLE visits AS SELECT id, COUNT(*) AS n FROM rides WINDOW SESSION (1 HOUR) GROUP BY id;"
        "CREATE TABLE grouped AS SELECT total, COUNT(*) AS n FROM more GROUP BY total;"
        "CREATE TABLE wide_hour AS SELECT total, COUNT(*) AS n FROM more WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY total;"
    )
    jvm: Any = engine.session._jvm
    spark = engine.session.sparkContext._jsc.sc()

    def held() -> dict[str, int]:
        ids = {q.spec.sink.name: q.spec.id for q in engine.queries.all()}
        return {name: jvm.ksqlpy.internals.Tasks.ids(spark, i).size() for name, i in ids.items()}

    one = dict.fromkeys(("FILTERED", "PER_HOUR", "LAST_OF", "VISITS"), 1)
    until(lambda: held() == {**one, "GROUPED": 6, "WIDE_HOUR": 7})  # read by time, in one task
    assert engine.queries.slots == 4 + 6 + 7


def test_what_is_in_use_is_not_dropped(engine: Engine) -> None:
    engine.execute(RIDES + "CREATE STREAM x AS SELECT id, total FROM rides;")
    with pytest.raises(AnalysisProblem, match="RIDES is used by the queries CSAS_X_"):
        engine.execute("DROP STREAM rides;")
    engine.execute("DROP STREAM x; DROP STREAM rides;")
    assert not engine.catalog.sources


def test_dead_letters_are_kept_and_counted(engine: Engine) -> None:
    engine.execute(RIDES + "CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM rides GROUP BY id;", EARLIEST)
    [query] = engine.catalog.queries
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for value in (b'{"TOTAL": 1}', b"nonsense", b'{"TOTAL": "many"}', b'{"total": "7"}'):
        producer.produce("rides", key=b"\x00\x00\x00\x01", value=value)
    producer.flush()
    assert [v for _, v in records(engine, "N", 2)] == [b'{"N":1}', b'{"N":2}']
    assert until(lambda: engine.brokers.dead_letters.count(query) == 2)
    description = engine.execute("DESCRIBE rides EXTENDED;")[0]["sourceDescription"]
    assert description["deadLetters"] == 2
    assert description["queryFigures"][0]["rowsIn"] == 4
    assert "many" in str(description["queryFigures"][0]["lastDeadLetter"])


@FURTHER
def test_new_partitions_of_a_topic_are_read(engine: Engine) -> None:
    engine.execute(RIDES + "CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM rides GROUP BY id;", EARLIEST)
    engine.execute("INSERT INTO rides VALUES (1, 5);")
    assert len(records(engine, "N", 1)) == 1
    admin = AdminClient({"bootstrap.servers": engine.bootstrap})
    admin.create_partitions([NewPartitions("rides", 3)])["rides"].result()
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    assert until(lambda: engine.kafka.partitions(["rides"]) == {"rides": 3})
    for partition in (0, 1, 2):
        producer.produce("rides", key=b"\0\0\0" + bytes([7 + partition]), value=b'{"TOTAL": 1}', partition=partition)
    producer.flush()
    last = {b"\0\0\0" + bytes([k]): b'{"N":1}' for k in (1, 7, 8, 9)}
    assert until(lambda: last.items() <= dict(records(engine, "N", 20, deadline=2)).items())


def test_a_push_query_ends_at_its_limit_and_leaves_nothing(engine: Engine) -> None:
    engine.execute(RIDES)
    for i in range(4):
        engine.execute(f"INSERT INTO rides VALUES ({i}, {i * 10});")
    push = engine.query("SELECT id, total / 4 AS t FROM rides WHERE total > 0 EMIT CHANGES LIMIT 2;", EARLIEST)
    assert [str(c.type) for c in push.columns] == ["INTEGER", "INTEGER"]
    assert [row for row in push.rows() if row is not None] == [[1, 2], [2, 5]]
    assert push.limit_reached
    assert until(lambda: not engine.open_push_queries)
    assert until(lambda: not [t for t in engine.kafka.topics() if "transient" in t])


def test_a_push_query_of_queries(engine: Engine) -> None:
    engine.execute(RIDES)
    for i in range(4):
        engine.execute(f"INSERT INTO rides VALUES ({i}, {i * 10});")
    push = engine.query(
        "WITH r AS (SELECT id, total FROM rides WHERE total > 10) "
        "SELECT 'twice' AS what, total * 2 AS n FROM r UNION ALL SELECT 'once', total FROM r EMIT CHANGES LIMIT 4;",
        EARLIEST,
    )
    assert [c.name for c in push.columns] == ["WHAT", "N"]
    assert sorted(row for row in push.rows() if row is not None) == [
        ["once", 20], ["once", 30], ["twice", 40], ["twice", 60]
    ]  # fmt: skip


def test_the_reader_of_a_push_query_is_told_that_it_ended(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.runtime.push.PATIENCE_SECONDS", 1)
    engine.execute(RIDES)
    push = engine.query("SELECT id + total AS n FROM rides EMIT CHANGES;")
    rows = push.rows()
    assert next(rows) is None
    engine.queries.stop(push.id, forget=False)
    with pytest.raises(EngineProblem, match="ended by the server"):
        list(rows)
    push.close()
    assert until(lambda: not engine.open_push_queries)


def test_a_closed_push_query_ends(engine: Engine) -> None:
    engine.execute(RIDES)
    push = engine.query("SELECT * FROM rides EMIT CHANGES;")
    rows = push.rows()
    assert next(rows) is None
    assert engine.close_query(push.id)
    assert list(rows) in ([], [None])
    assert until(lambda: not engine.open_push_queries)
    assert not engine.close_query(push.id)


def test_kafka_away_is_said_at_once(spark: SparkSession) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(EnvironmentProblem, match="does not answer") as away:
        Engine(Config.of({"bootstrap.servers": address})).start()
    assert away.value.code == "broker-unavailable"
    assert "bootstrap.servers" in (away.value.hint or "")


def test_push_queries_are_listed_explained_and_terminated(engine: Engine) -> None:
    engine.execute(RIDES + "CREATE STREAM big AS SELECT id, total FROM rides WHERE total >= 40;", EARLIEST)
    sql = "SELECT id FROM big EMIT CHANGES;"
    push = engine.query(sql, {"ksql.streams.num.stream.threads": "2"})
    persistent, shown = engine.execute("SHOW QUERIES;")[0]["queries"]
    assert (persistent["queryType"], shown["queryType"]) == ("PERSISTENT", "PUSH")
    assert (shown["id"], shown["queryString"], shown["sinks"]) == (push.id, sql, [])
    assert shown["statusCount"] == {"RUNNING": 1}
    described = engine.execute("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"][1]
    [explained] = engine.execute(f"EXPLAIN {push.id};")
    for d in (described, explained["queryDescription"]):
        assert (d["id"], d["statementText"], d["queryType"], d["sources"]) == (push.id, sql, "PUSH", ["BIG"])
        assert d["overriddenProperties"] == {"ksql.streams.num.stream.threads": "2"}
        assert d["figures"]["deadLetters"] == 0
    assert push.id != push.id.upper()  # and yet without quotes: that is how clients write it
    assert engine.execute(f"TERMINATE {push.id};")[0]["wasTerminated"]
    assert until(lambda: len(engine.execute("SHOW QUERIES;")[0]["queries"]) == 1)
    with pytest.raises(AnalysisProblem, match="there is no query"):
        engine.execute(f"EXPLAIN `{push.id}`;")


def test_a_command_log_that_is_gone_is_said(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.execute(RIDES)
    lost = CommandLog(engine.kafka, "_ksqlpy-lost_command_log")
    lost.make()
    monkeypatch.setattr(engine.brokers, "log", lost)
    lost.append({"op": "drop", "source": "S", "query": None})
    assert engine.health()["isHealthy"]
    engine.kafka.delete_topics([lost.topic])
    assert until(lambda: lost.problem() is not None)
    _is_said(engine, f"the command log topic {lost.topic} was deleted")
    engine.kafka.create_topic(lost.topic, 1, None, {})
    _is_said(engine, f"the command log topic {lost.topic} was deleted and created again")
    engine.kafka.delete_topics([lost.topic])


def _is_said(engine: Engine, reason: str) -> None:
    health = engine.health()
    assert health["details"]["commandRunner"] == {"isHealthy": False, "reason": reason}
    assert (health["isHealthy"], health["details"]["kafka"]["isHealthy"]) == (False, True)
    before = engine.catalog
    with pytest.raises(EngineProblem, match=f"{reason}: the definitions in it are lost"):
        engine.execute("DROP STREAM rides;")
    assert engine.catalog == before
