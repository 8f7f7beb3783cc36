"""Topics of a query that are deleted, recreated, cut or widened: what is seen of it, and that the way out is one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import EngineProblem
from ksqlpy.runtime import Engine
from ksqlpy.spark.topics import cut
from tests.support.waiting import count, until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
STREAM = "CREATE STREAM {s} (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '{s}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
COPY = "CREATE STREAM {s}_v WITH (KAFKA_TOPIC = '{s}_v') AS SELECT k, v FROM {s};"
AFTER = "CREATE STREAM {s}_w WITH (KAFKA_TOPIC = '{s}_w') AS SELECT k, v FROM {s}_v;"


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ksqlpy.runtime.recovery.watch.NOTE_EVERY", 1)  # looks a second, not one in five
        made = Engine(
            Config.of(
                {
                    "bootstrap.servers": broker.bootstrap,
                    "ksqlpy.data.dir": str(tmp_path_factory.mktemp("topics")),
                    "ksqlpy.warm.up": "false",
                    "commit.interval.ms": 2000,
                }
            )
        )
        made.start()
        yield made
        made.stop()


class Case:
    """A stream, the stream of a query that copies it, and its topics; each in small letters, as the topics."""

    def __init__(self, engine: Engine, name: str, *more: str, **settings: object) -> None:
        self.engine, self.source, self.sink, self.copy = engine, name, f"{name}_v", COPY.format(s=name)
        self.settings = {**EARLIEST, **settings}
        engine.execute(STREAM.format(s=name))
        engine.execute(self.copy + "".join(m.format(s=name) for m in more), self.settings)
        self.query = self.of(self.sink)
        assert until(lambda: self.state == "RUNNING")
        self.admin = AdminClient({"bootstrap.servers": engine.bootstrap})

    def of(self, sink: str) -> str:
        [found] = [q.id for q in self.engine.catalog.queries.values() if q.sink == sink.upper()]
        return found

    def send(self, *values: int, partition: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.engine.bootstrap})
        for v in values:
            producer.produce(self.source, key=b"a", value=b'{"V":%d}' % v, partition=partition)
        assert producer.flush(20) == 0

    def results(self, topic: str = "") -> list[int]:
        name = topic or self.sink
        sizes = self.engine.kafka.partitions([name])
        first, ends = (self.engine.kafka.offsets(sizes, latest=latest)[name] for latest in (False, True))
        reader = self.engine.kafka.reader(ends=True)
        reader.assign([TopicPartition(name, int(p), o) for p, o in first.items()])
        found, at_end = [], 0
        while at_end < len(ends):
            message = reader.poll(10)
            assert message is not None
            if message.error() is not None:
                at_end += 1
            else:
                found.append(json.loads(message.value() or b"")["V"])
        reader.close()
        return found

    def delete(self, topic: str) -> None:
        self.engine.kafka.delete_topics([topic])
        assert until(lambda: topic not in self.engine.kafka.topics())

    def make(self, topic: str) -> None:
        self.engine.kafka.create_topic(topic, 1, None, {})

    def cut(self, topic: str, offset: int) -> None:
        for done in self.admin.delete_records([TopicPartition(topic, 0, offset)]).values():
            assert done.result(timeout=20).low_watermark == offset

    def widen(self, topic: str, partitions: int) -> None:
        for done in self.admin.create_partitions([NewPartitions(topic, partitions)]).values():
            done.result(timeout=20)

    @property
    def state(self) -> str:
        return str(self.engine.state(self.query))

    def again(self, *, delete_topic: bool = False) -> None:
        """The way out that the hints name."""
        self.engine.execute(f"DROP STREAM {self.sink}{' DELETE TOPIC' if delete_topic else ''};")
        self.engine.execute(self.copy, self.settings)
        self.query = self.of(self.sink)
        assert until(lambda: self.state == "RUNNING")
        assert seen(self).healthy

    def failed(self, *said: str) -> None:
        """Makes sure that all who ask are told why it does not run."""

        def told() -> bool:
            found = seen(self)
            return found.state == "RETRYING" and all(s in e for s in said for e in (found.listed, found.described))

        assert until(told), seen(self)
        found = seen(self)
        assert not found.healthy and found.server_healthy
        assert all(s in found.health for s in said), found.health

    def goes_on(self, *said: str) -> None:
        """Makes sure that it runs, and that all who ask are told."""

        def told() -> bool:
            found = seen(self)
            return found.state == "RUNNING" and all(s in e for s in said for e in (found.listed, found.described))

        assert until(told), seen(self)
        found = seen(self)
        assert found.healthy and found.health == ""


class Seen(NamedTuple):
    """The state, the last error in SHOW QUERIES and in DESCRIBE … EXTENDED; what /healthcheck says of it."""

    state: str
    listed: str
    described: str
    healthy: bool
    health: str
    server_healthy: bool


def seen(case: Case) -> Seen:
    engine = case.engine
    [listed] = [q for q in engine.execute("SHOW QUERIES;")[0]["queries"] if q["id"] == case.query]
    described: Any = engine.execute(f"DESCRIBE {case.sink} EXTENDED;")[0]["sourceDescription"]
    health = engine.health()
    ill = {q["id"]: q.get("reason", "") for q in health["details"]["queries"]["notRunning"]}
    errors = listed["queryErrors"]
    return Seen(
        listed["state"],
        errors[-1]["errorMessage"] if errors else "",
        described["errorStats"],
        case.query not in ill,
        ill.get(case.query, ""),
        health["isHealthy"],
    )


def test_a_source_that_is_deleted(engine: Engine) -> None:
    case = Case(engine, "gone_s")
    case.send(1, 2)
    assert until(lambda: count(engine, case.sink) == 2)
    case.delete(case.source)
    case.failed(
        "topic gone_s, which the query reads, was deleted", "create the topic again; then drop the query's stream"
    )
    assert engine.health()["details"]["queries"]["isHealthy"] is False
    case.make(case.source)
    case.send(3)
    case.failed("topic gone_s was deleted and recreated: what the query has read", "drop the query's stream or table")
    case.again()
    assert until(lambda: case.results() == [1, 2, 3])
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


def test_a_source_that_is_recreated(engine: Engine) -> None:
    case = Case(engine, "anew_s")
    case.send(1, 2)
    assert until(lambda: count(engine, case.sink) == 2)
    case.delete(case.source)
    case.make(case.source)
    case.send(3)
    case.failed("anew_s")  # gone or another one, as it is looked at
    case.failed("topic anew_s was deleted and recreated", "drop the query's stream or table")
    assert case.results() == [1, 2]
    case.again()
    assert until(lambda: case.results() == [1, 2, 3])
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_a_source_that_is_cut_before_it_is_read(engine: Engine, mode: str) -> None:
    """Also where Spark would leave them out in silence: in micro-batches."""
    name = f"cut_{mode.replace('-', '_')}"
    settings = {"ksqlpy.query.mode": mode, "ksqlpy.batch.interval": 15_000}
    case = Case(engine, name, **(settings if mode == "micro-batch" else {}))
    case.send(1)
    assert until(lambda: case.results() == [1])
    query = engine.queries.get(case.query)
    assert query is not None and until(lambda: query.checkpoint.last_commit is not None)
    if mode == "real-time":
        engine.execute(f"PAUSE {case.query};")
    case.send(*range(2, 8))
    case.cut(case.source, 5)
    if mode == "real-time":
        engine.execute(f"RESUME {case.query};")
    case.goes_on(f"4 records of topic {name} were deleted by its retention before they were read", "retention.ms")
    assert until(lambda: case.results() == [1, 6, 7])
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


def test_a_source_that_ends_before_what_was_read(engine: Engine) -> None:
    case = Case(engine, "short_s")
    case.send(1, 2)
    query = engine.queries.get(case.query)
    assert query is not None and cut(engine.kafka, query.spec, {"short_s": {"0": 2}}, None) == {}
    with pytest.raises(EngineProblem, match="ends at offset 2, and the query has read up to 3") as refused:
        cut(engine.kafka, query.spec, {"short_s": {"0": 3}}, None)
    assert refused.value.code == "topic-truncated"
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


def test_a_source_that_is_widened(engine: Engine) -> None:
    case = Case(engine, "wide_s")
    case.send(1)
    assert until(lambda: case.results() == [1])
    case.widen(case.source, 3)
    case.send(2, partition=2)
    case.goes_on("topic wide_s, which the query reads, has 3 partitions, it had 1", "reads them")
    assert until(lambda: case.results() == [1, 2])
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


def test_a_sink_that_is_deleted(engine: Engine) -> None:
    case = Case(engine, "gone_t", AFTER)
    case.send(1, 2)
    assert until(lambda: count(engine, "gone_t_w") == 2)
    case.delete(case.sink)
    case.send(3)  # its result has nowhere to go
    case.failed("topic gone_t_v, which the query writes, was deleted", "drop the query's stream or table")
    reader, case.query = case.query, case.of("gone_t_w")
    [why] = [q for q in engine.health()["details"]["queries"]["notRunning"] if q["id"] == reader]
    assert why["state"] == "RETRYING"
    sink, case.sink = case.sink, "gone_t_w"
    case.failed("topic gone_t_v, which the query reads, was deleted")
    engine.execute("DROP STREAM gone_t_w;")
    case.sink = sink
    case.again()
    case.send(4)
    assert until(lambda: case.results() == [1, 2, 3, 4]), case.results()
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


def test_a_sink_that_is_deleted_and_dropped_at_once(engine: Engine) -> None:
    """Results that wait for the old topic do not go to the new one."""
    case = Case(engine, "soon_t")
    case.send(1, 2)
    assert until(lambda: count(engine, case.sink) == 2)
    query = engine.queries.get(case.query)
    assert query is not None and until(lambda: query.checkpoint.last_commit is not None)
    case.delete(case.sink)
    case.send(3, 4)
    case.settings["auto.offset.reset"] = "latest"
    case.again()
    case.send(5)
    assert until(lambda: 5 in case.results())
    assert case.results() == [5]
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


def test_a_sink_that_is_recreated(engine: Engine) -> None:
    case = Case(engine, "anew_t")
    case.send(1, 2)
    assert until(lambda: count(engine, case.sink) == 2)
    case.delete(case.sink)
    case.make(case.sink)
    case.failed("topic anew_t_v was deleted and recreated: what the query has written", "drop the query's stream")
    case.again(delete_topic=True)
    case.send(3)
    assert until(lambda: case.results() == [1, 2, 3])
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


def test_a_sink_that_is_cut_behind_the_checkpoint(engine: Engine) -> None:
    """Results of after the checkpoint that are gone may come again; those before it never do."""
    case = Case(engine, "cut_t", **{"commit.interval.ms": 600_000})
    case.send(1, 2, 3)
    assert until(lambda: case.results() == [1, 2, 3])
    engine.execute(f"PAUSE {case.query};")
    case.cut(case.sink, 2)
    engine.execute(f"RESUME {case.query};")
    case.goes_on("2 records of topic cut_t_v were deleted by its retention", "may write these again", "retention.ms")
    case.send(4)
    assert until(lambda: case.results() == [3, 1, 2, 4])
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


def test_a_sink_that_is_widened(engine: Engine) -> None:
    case = Case(engine, "wide_t")
    case.send(1)
    assert until(lambda: case.results() == [1])
    case.widen(case.sink, 4)
    said = "topic wide_t_v, which the query writes, has 4 partitions, it had 1", "DROP … DELETE TOPIC"
    case.goes_on(*said)
    engine.execute(f"PAUSE {case.query};")
    engine.execute(f"RESUME {case.query};")
    case.goes_on(*said)  # as long as its checkpoint is of the old number
    case.send(2)
    assert until(lambda: sorted(case.results()) == [1, 2])
    case.again(delete_topic=True)
    assert until(lambda: sorted(case.results()) == [1, 2])
    assert seen(case).listed == ""
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")


def test_a_topic_of_dead_letters_that_is_deleted(engine: Engine) -> None:
    case = Case(engine, "gone_d")
    dead = engine.topics.dead_letters
    case.delete(dead)
    case.failed(f"topic {dead}, which the query writes dead letters", "create the topic again: the query goes on")
    case.make(dead)
    assert until(lambda: case.state == "RUNNING")
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    producer.produce(case.source, key=b"a", value=b"{")
    assert producer.flush(20) == 0
    assert until(lambda: count(engine, dead) == 1)
    engine.execute(f"DROP STREAM {case.sink}; DROP STREAM {case.source};")
