"""A data folder belongs to one cluster, service and command log, and to one server at a time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.runtime.cluster import ownership
from ksqlpy.spark.kafka import Kafka
from tests.support.waiting import count
from tests.support.waiting import until as wait_until

until = partial(wait_until, seconds=60)

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

LOG = "_ksqlpy-default_command_log"
STATEMENTS = """
CREATE STREAM orders (item STRING KEY, n INT) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE sums WITH (KAFKA_TOPIC = 'sums', QUERY_ID = 'sums') AS
  SELECT item, COUNT(*) AS c FROM orders GROUP BY item;
CREATE STREAM copies WITH (KAFKA_TOPIC = 'copies', QUERY_ID = 'copies') AS SELECT * FROM orders;
"""


@pytest.fixture(scope="module")
def brokers(broker: EmbeddedKafka) -> Iterator[tuple[EmbeddedKafka, EmbeddedKafka]]:
    with EmbeddedKafka() as wrong:
        yield broker, wrong


class Life:
    """Lives of an engine on one data folder; ``checkpoints``: where the folder keeps those of its queries."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap, self.folder = bootstrap, folder
        self.checkpoints = folder / "checkpoints" / "default_"
        self.engine: Engine | None = None

    def begin(self, **properties: str) -> Engine:
        values = {"bootstrap.servers": self.bootstrap, "ksqlpy.data.dir": str(self.folder), "ksqlpy.warm.up": "false"}
        made = Engine(Config.of({**values, "ksql.query.retry.backoff.initial.ms": 200, **properties}))
        made.start()
        self.engine = made
        return made

    def end(self) -> None:
        made, self.engine = self.engine, None
        if made is not None:
            made.stop()

    def refused(self, **properties: str) -> KsqlError:
        with pytest.raises(KsqlError) as refused:
            self.begin(**properties)
        return refused.value


@pytest.fixture
def life(spark: SparkSession, brokers: tuple[EmbeddedKafka, EmbeddedKafka], tmp_path: Path) -> Iterator[Life]:
    made = Life(brokers[0].bootstrap, tmp_path / "data")
    yield made
    made.end()
    kafka = Kafka(KafkaConnection(made.bootstrap))
    kafka.delete_topics([t for t in kafka.topics() if not t.startswith("__")])
    assert until(lambda: not [t for t in kafka.topics() if not t.startswith("__")])


def send(engine: Engine, first: int, number: int) -> None:
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for n in range(first, first + number):
        producer.produce("orders", key=b"pen", value=json.dumps({"N": n}).encode())
    assert producer.flush(20) == 0


def sums(engine: Engine, number: int) -> list[int]:
    """The counts that were written, once there are so many."""
    assert until(lambda: count(engine, "sums") >= number)
    reader = engine.kafka.reader()
    reader.assign([TopicPartition("sums", 0, 0)])
    found = []
    for _ in range(count(engine, "sums")):
        message = reader.poll(10)
        assert message is not None and message.error() is None
        found.append(json.loads(message.value() or b"{}")["C"])
    reader.close()
    return found


def states(engine: Engine) -> dict[str, str]:
    return {q["id"]: q["state"] for q in engine.execute("SHOW QUERIES;")[0]["queries"]}


def errors(engine: Engine, query_id: str) -> list[str]:
    found = engine.execute("SHOW QUERIES EXTENDED;")[0]["queryDescriptions"]
    return [e["errorMessage"] for q in found if q["id"] == query_id for e in q["queryErrors"]]


def test_another_broker_service_or_log_is_refused_and_nothing_is_lost(
    life: Life, brokers: tuple[EmbeddedKafka, EmbeddedKafka]
) -> None:
    first = life.begin()
    cluster = first.brokers.cluster_id
    first.execute(STATEMENTS, {"auto.offset.reset": "earliest"})
    send(first, 0, 10)
    assert sums(first, 10) == list(range(1, 11))
    log_id = first.brokers.log.topic_id
    life.end()

    wrong = Kafka(KafkaConnection(brokers[1].bootstrap))
    refused = life.refused(**{"bootstrap.servers": brokers[1].bootstrap})
    assert refused.code == "other-cluster"
    assert cluster in refused.message and wrong.cluster_id() in refused.message
    assert wrong.topics() == {}
    refused = life.refused(**{"ksql.service.id": "others_"})
    assert (refused.code, "service default_, this is others_" in refused.message) == ("other-service", True)

    again = life.begin()
    assert set(states(again)) == {"SUMS", "COPIES"}
    send(again, 10, 10)
    assert sums(again, 20) == list(range(1, 21))
    life.end()

    kafka = Kafka(KafkaConnection(life.bootstrap))
    kafka.delete_topics([LOG])
    assert until(lambda: LOG not in kafka.topics())
    refused = life.refused()
    assert (refused.code, f"{log_id}, there is none" in refused.message) == ("other-command-log", True)
    assert LOG not in kafka.topics()
    kafka.create_topic(LOG, 1, None, {})
    refused = life.refused()
    assert log_id in refused.message and str(kafka.topic_id(LOG)) in refused.message
    assert {"SUMS", "COPIES"} <= {f.name for f in life.checkpoints.iterdir()}


def test_checkpoints_that_lie_elsewhere_know_whose_they_are(
    life: Life, brokers: tuple[EmbeddedKafka, EmbeddedKafka], tmp_path: Path
) -> None:
    elsewhere = {"ksqlpy.checkpoint.dir": str(tmp_path / "elsewhere")}
    cluster = life.begin(**elsewhere).brokers.cluster_id
    life.end()
    shutil.rmtree(life.folder)
    refused = life.refused(**{"bootstrap.servers": brokers[1].bootstrap}, **elsewhere)
    assert (refused.code, cluster in refused.message) == ("other-cluster", True)


def test_only_the_log_ends_a_checkpoint_and_a_lost_one_is_said(life: Life) -> None:
    first = life.begin()
    first.execute(STATEMENTS, {"auto.offset.reset": "earliest"})
    send(first, 0, 10)
    assert sums(first, 10) == list(range(1, 11))
    first.brokers.log.append({"op": "terminate", "query": "COPIES"})  # and it is killed right then
    life.end()
    assert (life.checkpoints / "COPIES").exists()
    for name in ("CSAS_FOREIGN_7", "transient_ORDERS_0123456789ab"):
        shutil.copytree(life.checkpoints / "SUMS", life.checkpoints / name)
    (life.checkpoints / "somebody's").mkdir()
    aside = life.folder / "aside"
    (life.checkpoints / "SUMS").rename(aside)

    again = life.begin()
    assert until(lambda: states(again) == {"SUMS": "RETRYING"})
    assert f"{life.checkpoints / 'SUMS'} is gone" in errors(again, "SUMS")[-1]
    assert {f.name for f in life.checkpoints.iterdir() if f.is_dir()} == {"CSAS_FOREIGN_7", "somebody's"}
    again.execute(
        "CREATE STREAM copies_2 WITH (KAFKA_TOPIC = 'copies_2', QUERY_ID = 'copies') AS SELECT * FROM orders;"
    )
    shutil.copytree(life.checkpoints / "COPIES", life.checkpoints / "SUMS")
    assert until(lambda: "is of another query" in errors(again, "SUMS")[-1])
    shutil.rmtree(life.checkpoints / "SUMS")
    aside.rename(life.checkpoints / "SUMS")
    send(again, 10, 5)
    assert sums(again, 15) == list(range(1, 16))
    assert until(lambda: states(again)["SUMS"] == "RUNNING")

    (life.checkpoints / "TAKEN").mkdir()
    (life.checkpoints / "TAKEN" / "plan.json").write_text("{}")
    with pytest.raises(KsqlError, match=r"there is a checkpoint .*TAKEN of another query"):
        again.execute("CREATE STREAM taken WITH (QUERY_ID = 'taken') AS SELECT * FROM orders;")
    assert (life.checkpoints / "TAKEN" / "plan.json").exists()


def test_a_second_server_on_the_folder_is_refused(life: Life, tmp_path: Path) -> None:
    elsewhere = {"ksqlpy.checkpoint.dir": str(tmp_path / "elsewhere")}
    first = life.begin(**elsewhere)
    refused = Life(life.bootstrap, life.folder).refused(**elsewhere)
    assert refused.code == "folder-in-use"
    assert f"another server: process {os.getpid()} on {os.uname().nodename}" in refused.message
    # Another server may wait to take over the checkpoints, which it shares then.
    other, copied = Life(life.bootstrap, tmp_path / "other"), Life(life.bootstrap, tmp_path / "copy")
    shutil.copytree(life.folder, copied.folder)
    with ThreadPoolExecutor() as both:  # each waits for as long as a session of a dead engine may last
        as_standby = both.submit(other.refused, **elsewhere)
        refused = both.submit(copied.refused).result()
    assert as_standby.result().code == "service-taken"
    assert (refused.code, "an engine at 127.0.0.1 runs this service" in refused.message) == ("service-taken", True)
    assert first.health()["isHealthy"] and first.fatal() is None


def test_health_says_that_the_service_is_lost(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another member comes with the engine's identity, as an earlier version of a copied folder does."""
    monkeypatch.setattr(ownership, "PATIENCE", 4.0)
    engine = life.begin()
    assert engine.health()["isHealthy"]
    other = Consumer(
        {
            "bootstrap.servers": life.bootstrap,
            "group.id": "_ksqlpy-default_engine",
            "group.instance.id": (life.folder / "engine.id").read_text(),
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": 6000,
            "log_level": 0,
        }
    )
    other.subscribe([LOG])

    def true(done: bool) -> bool:
        other.poll(0.1)
        return done

    assert until(lambda: true(not engine.health()["isHealthy"]))
    assert "another engine has taken this service" in engine.health()["details"]["commandRunner"]["reason"]
    with pytest.raises(KsqlError, match="another engine has taken this service"):
        engine.execute(STATEMENTS)
    assert until(lambda: true(engine.fatal() is not None))
    other.close()


def test_odd_entries_of_the_log_stop_only_what_depends_on_them(life: Life) -> None:
    first = life.begin()
    first.execute(STATEMENTS, {"auto.offset.reset": "earliest"})
    producer = Producer({"bootstrap.servers": life.bootstrap, "log_level": 0})
    odd = (b"{nonsense", None, b'{"version": 1, "op": "scale", "query": "COPIES", "source": "COPIES"}')
    for value in odd:
        producer.produce(LOG, value=value)
    assert producer.flush(20) == 0
    life.end()

    again = life.begin()
    send(again, 0, 10)
    assert sums(again, 10) == list(range(1, 11))
    reason = "entry 5 of the command log is left out: it has the op 'scale' that this version does not know"
    [shown] = again.execute("SHOW QUERIES;")
    assert {q["id"]: q["state"] for q in shown["queries"]} == {"SUMS": "RUNNING", "COPIES": "ERROR"}
    assert [w["message"] for w in shown["warnings"]] == [
        "entry 3 of the command log is left out: it is not JSON",
        "entry 4 of the command log is left out: it has no value",
        reason,
    ]
    assert errors(again, "COPIES") == [reason]
    health = again.health()
    assert health["isHealthy"] and len(health["details"]["commandRunner"]["leftOut"]) == 3
    before = again.brokers.log.next_offset
    for refused in (
        "CREATE STREAM copies WITH (KAFKA_TOPIC = 'copies') AS SELECT * FROM orders;",
        "CREATE STREAM mine WITH (QUERY_ID = 'copies') AS SELECT * FROM orders;",
        "INSERT INTO copies VALUES ('a', 1);",
        "DROP STREAM copies;",
    ):
        with pytest.raises(KsqlError) as error:
            again.execute(refused)
        assert error.value.code in ("command-log", "duplicate-query", "in-use"), error.value.message
    assert again.brokers.log.next_offset == before
    explained = again.execute("EXPLAIN copies;")[0]["queryDescription"]
    assert (explained["plan"], [e["errorMessage"] for e in explained["queryErrors"]]) == (None, [reason])
    again.execute("PAUSE copies; RESUME copies;")
    assert states(again)["COPIES"] == "ERROR"
    again.execute("TERMINATE copies; DROP STREAM copies;")
    again.execute("CREATE STREAM copies WITH (KAFKA_TOPIC = 'copies', QUERY_ID = 'copies') AS SELECT * FROM orders;")
    life.end()
    last = life.begin()
    assert until(lambda: states(last) == {"SUMS": "RUNNING", "COPIES": "RUNNING"})
