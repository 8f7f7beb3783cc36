"""Results of several tasks lie in their topic in the order of time, also behind more than one shuffle."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.deadletters.letters import records
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.spark.start_limit import StartLimit
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

PARTITIONS = 4
ROWS = 8_000
BEGIN = 1_700_000_000_000
APART = 20
"""Milliseconds of event time between two rows: more than tasks may be apart."""

SOURCES = """
CREATE STREAM orders (id STRING KEY, customer STRING) WITH (kafka_topic='orders', value_format='JSON', partitions=4);
CREATE STREAM payments (id STRING KEY, method STRING) WITH (kafka_topic='payments', value_format='JSON', partitions=4);
CREATE STREAM visits (name STRING KEY, page STRING) WITH (kafka_topic='visits', value_format='JSON', partitions=4);
CREATE TABLE customers (name STRING PRIMARY KEY, city STRING)
  WITH (kafka_topic='customers', value_format='JSON', partitions=4);
"""
QUERIES = {
    "counted": "CREATE TABLE counted AS SELECT customer, COUNT(*) AS n FROM orders"
    " WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY customer;",
    "paid": "CREATE TABLE paid AS SELECT orders.customer AS customer, COUNT(*) AS n FROM orders"
    " JOIN payments WITHIN 1 SECOND GRACE PERIOD 1 SECOND ON orders.id = payments.id GROUP BY orders.customer;",
    "seen": "CREATE STREAM seen AS SELECT orders.customer AS customer, orders.id AS id, payments.method, visits.page"
    " FROM orders JOIN payments WITHIN 1 SECOND GRACE PERIOD 1 SECOND ON orders.id = payments.id"
    " JOIN visits WITHIN 5 MILLISECONDS GRACE PERIOD 1 SECOND ON orders.customer = visits.name;",
    "cities": "CREATE TABLE cities AS SELECT customers.city AS city, COUNT(*) AS n FROM orders"
    " JOIN customers ON orders.customer = customers.name WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY customers.city;",
}


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksql.service.id": "step_",
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("step")),
                "ksqlpy.warm.up": "false",
            }
        )
    )
    made.start()
    made.execute(SOURCES)
    producer = Producer({"bootstrap.servers": made.bootstrap, "linger.ms": 5})
    for i in range(20):
        producer.produce("customers", key=b"c%d" % i, value=b'{"CITY": "town %d"}' % (i % 7), timestamp=BEGIN)
    for i in range(ROWS):
        name = b"c%d" % (i * 7 % 20)
        at = BEGIN + i * APART
        producer.produce("orders", key=b"%d" % i, value=b'{"CUSTOMER": "%s"}' % name, timestamp=at)
        producer.produce("payments", key=b"%d" % i, value=b'{"METHOD": "card"}', timestamp=at)
        producer.produce("visits", key=name, value=b'{"PAGE": "start"}', timestamp=at)
        producer.poll(0)
    producer.flush()
    yield made
    made.stop()


def out_of_order(engine: Engine, topic: str) -> int:
    """How many results have a later one before them in their partition."""
    newest: dict[int, int] = {}
    found = 0
    for message in records(engine.connection, {topic: {}}):
        partition, at = message.partition() or 0, message.timestamp()[1]
        found += at < newest.get(partition, 0)
        newest[partition] = max(at, newest.get(partition, 0))
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_results_of_a_backlog_lie_in_order(engine: Engine, name: str) -> None:
    settings = {"auto.offset.reset": "earliest"}
    query = str(engine.execute(QUERIES[name], settings)[0]["commandStatus"]["queryId"])
    topic = name.upper()
    assert until(lambda: len(list(records(engine.connection, {topic: {}}))) >= ROWS, seconds=120, every=1)
    running: Any = engine.queries.get(query)
    assert running is not None
    plan = running.handle.query._jsq.streamingQuery().lastExecution().executedPlan().toString()
    assert plan.count("InStep ") == plan.count("Exchange ") == running.spec.plan.stages > 0, plan
    assert out_of_order(engine, topic) == 0
    engine.execute(f"TERMINATE {query};")


def test_partitions_that_are_read_side_by_side_stay_together(engine: Engine) -> None:
    """The producer's partitioner is not Kafka's, so each partition of the sink has records of several of the source."""
    filtered = "CREATE STREAM filtered AS SELECT * FROM orders WHERE customer <> 'late';"
    query = str(engine.execute(filtered, {"auto.offset.reset": "earliest"})[0]["commandStatus"]["queryId"])
    assert until(lambda: len(list(records(engine.connection, {"FILTERED": {}}))) >= ROWS, seconds=120, every=1)
    newest: dict[int | None, int] = {}
    for message in records(engine.connection, {"FILTERED": {}}):
        partition, at = message.partition(), message.timestamp()[1]
        assert at >= newest.get(partition, 0) - 1_000
        newest[partition] = max(at, newest.get(partition, 0))
    engine.execute(f"TERMINATE {query};")


def test_a_join_waits_for_the_query_that_writes_its_input(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM copied WITH (kafka_topic='copied') AS SELECT * FROM orders;"
        "CREATE STREAM joined AS SELECT copied.id AS id, payments.method AS method FROM copied"
        " LEFT JOIN payments WITHIN 1 SECOND GRACE PERIOD 1 SECOND ON copied.id = payments.id;"
    )
    queries = {q["queryType"] and q["id"] for q in engine.execute("SHOW QUERIES;")[0]["queries"]}
    copy, join = sorted(queries, key=lambda q: "JOINED" in q)
    assert until(lambda: all(q.live.is_set() for q in engine.queries.all()))
    engine.execute(f"PAUSE {copy}; PAUSE {join};")
    producer = Producer({"bootstrap.servers": engine.bootstrap, "linger.ms": 5})
    for i in range(ROWS):
        at = BEGIN + 1_000_000 + i * APART
        producer.produce("orders", key=b"%d" % i, value=b'{"CUSTOMER": "late"}', timestamp=at)
        producer.produce("payments", key=b"%d" % i, value=b'{"METHOD": "card"}', timestamp=at)
        producer.poll(0)
    producer.flush()
    engine.queries.start_limit = StartLimit(1)
    with engine.queries.start_limit.slot(threading.Event()):  # the copy starts, but comes no further
        engine.execute(f"RESUME {copy};")
        engine.queries.start_limit = StartLimit()
        engine.execute(f"RESUME {join};")
        waits = until(lambda: engine.queries.counts(join).waiting)
        assert waits.partition.startswith("copied-")
    assert until(lambda: len(list(records(engine.connection, {"JOINED": {}}))) >= ROWS, seconds=120, every=1)
    without = [m.key() for m in records(engine.connection, {"JOINED": {}}) if b"card" not in (m.value() or b"")]
    assert not without
    engine.execute(f"TERMINATE {join}; TERMINATE {copy};")


def test_an_engine_waits_for_no_query_of_an_earlier_one(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The engines have one JVM, one after the other; the first one wrote what the second one reads."""

    def begun(service: str) -> Engine:
        given = {"bootstrap.servers": broker.bootstrap, "ksql.service.id": service, "ksqlpy.warm.up": "false"}
        made = Engine(Config.of({**given, "ksqlpy.data.dir": str(tmp_path_factory.mktemp("after"))}))
        made.start()
        return made

    def sent(topic: str, text: bytes) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce(topic, key=b"1", value=text)
        producer.flush()

    def has(engine: Engine, topic: str, number: int) -> bool:
        return until(lambda: len(list(records(engine.connection, {topic: {}}))) == number, seconds=60)

    first = begun("before_")
    first.execute(
        "CREATE STREAM given (id STRING KEY, n INT) WITH (kafka_topic='given', value_format='JSON', partitions=1);"
        "CREATE STREAM passed WITH (kafka_topic='passed', query_id='Q') AS SELECT * FROM given;"
    )
    assert until(lambda: first.queries.get("Q").live.is_set())  # type: ignore[union-attr]  # it is there
    sent("given", b'{"N": 1}')
    assert has(first, "passed", 1)
    first.stop()
    second = begun("after_")
    try:
        second.execute(
            "CREATE STREAM passed (id STRING KEY, n INT) WITH (kafka_topic='passed', value_format='JSON');"
            "CREATE STREAM others (id STRING KEY, m INT) WITH (kafka_topic='others', value_format='JSON',"
            " partitions=1);"
            "CREATE STREAM pairs WITH (kafka_topic='pairs', query_id='Q') AS SELECT passed.id, n, m FROM passed"
            " JOIN others WITHIN 1 HOUR GRACE PERIOD 1 HOUR ON passed.id = others.id;",
            {"auto.offset.reset": "earliest"},
        )
        assert "given" not in second.queries.counts("Q").consumed
        sent("others", b'{"M": 2}')
        assert has(second, "pairs", 1), second.queries.counts("Q").waiting
    finally:
        second.stop()
