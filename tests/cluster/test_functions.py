"""Functions in Python on a Spark cluster of two executors, whose workers are killed meanwhile: each result once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random

import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from tests.cluster.test_cluster import MASTER, executors, read, send, told, wrong
from tests.harness.pythonworkers import kill_python
from tests.harness.server import Server

pytestmark = [pytest.mark.kafka, pytest.mark.extended("a Spark cluster")]

COUNT = 600
FUNCTIONS = """
CREATE FUNCTION odd(n INT) RETURNS BOOLEAN LANGUAGE PYTHON WITH (ON_ERROR = 'stop') AS $$ return n % 2 == 1 $$;
CREATE FUNCTION thrice(n INT) RETURNS INT LANGUAGE PYTHON WITH (ON_ERROR = 'stop') AS $$ return 3 * n $$;
CREATE AGGREGATE FUNCTION total(n INT) RETURNS BIGINT STATE BIGINT LANGUAGE PYTHON WITH (ON_ERROR = 'stop') AS $$
class total:
    def init(self):
        return 0

    def add(self, state, n):
        return state + n

    def result(self, state):
        return state
$$;
CREATE TABLE FUNCTION upto(n INT) RETURNS INT LANGUAGE PYTHON WITH (ON_ERROR = 'stop') AS $$
    for i in range(n % 3):
        yield 3 * n + i
$$;
"""
QUERIES = """
CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=3);
CREATE STREAM passed WITH (PARTITIONS=3) AS SELECT k, n, thrice(n) AS m FROM s WHERE odd(n);
CREATE TABLE totals WITH (PARTITIONS=3) AS SELECT k, COUNT(*) AS c, total(n) AS total FROM s GROUP BY k;
CREATE STREAM each WITH (PARTITIONS=3) AS SELECT k, upto(n) AS m FROM s;
"""


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka() as running:
        yield running


@pytest.fixture(scope="module")
def server(broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    more = {
        "ksqlpy.spark.master": MASTER,
        "ksqlpy.spark.conf.spark.executor.memory": "700m",
        "ksqlpy.warm.up": "false",
        "ksqlpy.functions.python.enabled": "true",
        "ksql.streams.auto.offset.reset": "earliest",
        "ksql.streams.commit.interval.ms": "3000",
    }
    running = Server(KafkaConnection(broker.bootstrap), tmp_path_factory.mktemp("functions"), more)
    try:
        running.start()
        yield running
    finally:
        running.close()


def test_each_result_comes_once_though_workers_die(server: Server, broker: EmbeddedKafka) -> None:
    server.statements(FUNCTIONS + QUERIES)
    assert len(executors(server)) == 2
    send(broker, "s", 0, COUNT)
    due = [n for n in range(COUNT) if n % 2]
    passed = read(broker, "PASSED", len(due))
    if len(passed) < len(due):
        print(told(server))
    assert len(passed) == len(due)
    random = Random(3)
    for i in range(1, 4):  # a worker, the process that forks them, a worker
        kill_python(partial(executors, server), random, forks=i == 2)
        send(broker, "s", i * COUNT, (i + 1) * COUNT)
        due += [n for n in range(i * COUNT, (i + 1) * COUNT) if n % 2]
        passed = read(broker, "PASSED", len(due))
        assert wrong(Counter(row["N"] for _, row in passed), Counter(due)) == {"missing": [], "twice": []}
    assert all(row["M"] == 3 * row["N"] for _, row in passed)
    sent = range(4 * COUNT)
    items = [3 * n + i for n in sent for i in range(n % 3)]
    each = read(broker, "EACH", len(items))
    assert wrong(Counter(row["M"] for _, row in each), Counter(items)) == {"missing": [], "twice": []}
    totals = read(broker, "TOTALS", len(sent))
    for key in map(str, range(7)):
        own = [row for k, row in totals if k == key]
        numbers = sent[int(key) :: 7]
        assert [row["C"] for row in own] == list(range(1, len(numbers) + 1))
        assert [row["TOTAL"] for row in own] == [sum(numbers[: i + 1]) for i in range(len(numbers))]
    assert set(server.queries().values()) == {"RUNNING"}
