"""Results of several executors lie in the order of time, and queries wait there for those that write their inputs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters.letters import records
from ksqlpy.embedded.kafka import EmbeddedKafka
from tests.harness.server import Server
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.extended("a Spark cluster")]

ROWS = 10_000
BEGIN = 1_700_000_000_000
APART = 30
"""Milliseconds of event time between two rows: five minutes in all."""

SOURCES = """
CREATE STREAM orders (id STRING KEY, customer STRING) WITH (kafka_topic='orders', value_format='JSON', partitions=4);
CREATE STREAM payments (id STRING KEY, method STRING) WITH (kafka_topic='payments', value_format='JSON', partitions=4);
"""
QUERIES = """
CREATE STREAM paid AS SELECT orders.id AS id, orders.customer AS customer, payments.method AS method
  FROM orders JOIN payments WITHIN 1 SECOND GRACE PERIOD 2 SECONDS ON orders.id = payments.id;
CREATE TABLE paid_by_second AS SELECT customer, COUNT(*) AS n FROM paid
  WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 5 SECONDS) GROUP BY customer;
CREATE STREAM copied AS SELECT * FROM orders WHERE customer <> 'nobody';
CREATE TABLE copied_by_second AS SELECT customer, COUNT(*) AS n FROM copied
  WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 5 SECONDS) GROUP BY customer;
CREATE STREAM with_method AS SELECT copied.id AS id, payments.method AS method
  FROM copied LEFT JOIN payments WITHIN 1 SECOND GRACE PERIOD 1 SECOND ON copied.id = payments.id;
CREATE STREAM with_customer AS SELECT payments.id AS id, copied.customer AS customer
  FROM payments LEFT JOIN copied WITHIN 1 SECOND GRACE PERIOD 1 SECOND ON copied.id = payments.id;
SET 'max.task.idle.ms' = '-1';
CREATE STREAM side_by_side AS SELECT * FROM orders;
"""

Read = Callable[[str], list[tuple[int, int, bytes, dict[str, object]]]]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaConnection]:
    """A broker on which a cluster runs the queries over all records."""
    more = {
        "ksqlpy.spark.master": "local-cluster[2,24,1024]",
        "ksqlpy.spark.conf.spark.executor.memory": "700m",
        "ksql.streams.auto.offset.reset": "earliest",
        "ksql.streams.commit.interval.ms": "3000",
    }
    with EmbeddedKafka(settings={"log.retention.ms": "-1"}) as broker:  # the records are years old
        connection = KafkaConnection(broker.bootstrap)
        server = Server(connection, tmp_path_factory.mktemp("cluster"), more)
        try:
            server.start()
            server.statements(SOURCES)
            producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
            for i in range(ROWS):
                at = BEGIN + i * APART
                producer.produce("orders", key=b"%d" % i, value=b'{"CUSTOMER": "c%d"}' % (i % 7), timestamp=at)
                producer.produce("payments", key=b"%d" % i, value=b'{"METHOD": "card"}', timestamp=at)
                producer.poll(0)
            producer.flush()
            server.statements(QUERIES)
            yield connection
        finally:
            server.close()


@pytest.fixture(scope="module")
def read(connection: KafkaConnection) -> Read:
    """The results of a topic that has one for each row: partition, time, key and value."""

    def of(topic: str) -> list[tuple[int, int, bytes, dict[str, object]]]:
        def results() -> list[tuple[int, int, bytes, dict[str, object]]]:
            return [
                (m.partition() or 0, m.timestamp()[1], m.key() or b"", json.loads(m.value() or b"null"))
                for m in records(connection, {topic: {}})
            ]

        assert until(lambda: len(results()) >= ROWS, seconds=240, every=2), topic
        time.sleep(2)  # more would be wrong
        return results()

    return of


@pytest.mark.parametrize("topic", ["PAID", "COPIED", "PAID_BY_SECOND", "COPIED_BY_SECOND", "WITH_METHOD"])
def test_results_lie_in_the_order_of_time(read: Read, topic: str) -> None:
    newest: dict[int, int] = {}
    behind = 0
    found = read(topic)
    for partition, at, _, _ in found:
        behind += at < newest.get(partition, 0)
        newest[partition] = max(at, newest.get(partition, 0))
    assert (len(found), behind) == (ROWS, 0)


@pytest.mark.parametrize("topic", ["PAID_BY_SECOND", "COPIED_BY_SECOND"])
def test_windows_behind_other_queries_count_all_rows(read: Read, topic: str) -> None:
    last = {key: row["N"] for _, _, key, row in read(topic)}
    assert sum(int(str(n)) for n in last.values()) == ROWS


@pytest.mark.parametrize("topic, column", [("WITH_METHOD", "METHOD"), ("WITH_CUSTOMER", "CUSTOMER")])
def test_a_join_waits_for_the_query_that_writes_its_input(read: Read, topic: str, column: str) -> None:
    assert [key for _, _, key, row in read(topic) if row[column] is None] == []


def test_without_an_order_partitions_are_read_side_by_side(read: Read) -> None:
    assert len({key for _, _, key, _ in read("SIDE_BY_SIDE")}) == ROWS
