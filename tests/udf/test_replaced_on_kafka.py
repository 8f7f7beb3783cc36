"""CREATE OR REPLACE FUNCTION on a real broker: its queries go on with the new code, others are not touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from tests.runtime.test_upgrades import values
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
START = """
CREATE STREAM rides (id INT KEY, fare INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE FUNCTION label(fare INT) RETURNS STRING LANGUAGE PYTHON AS $$ return f"old {fare}" $$;
CREATE STREAM labelled WITH (QUERY_ID='labels') AS SELECT id, label(fare) AS label FROM rides;
CREATE TABLE totals WITH (QUERY_ID='sums') AS SELECT id, label(SUM(fare)) AS total FROM rides GROUP BY id;
CREATE STREAM plain WITH (QUERY_ID='others') AS SELECT id, fare FROM rides;
"""
NEW = """
CREATE OR REPLACE FUNCTION label(fare INT) RETURNS STRING LANGUAGE PYTHON AS $$
    return f"new {fare}"
$$;
"""


def test_queries_go_on_with_the_new_code_and_through_a_restart(
    spark: SparkSession, fresh_broker: EmbeddedKafka, tmp_path: Path
) -> None:
    config = Config.of(
        {
            "bootstrap.servers": fresh_broker.bootstrap,
            "ksqlpy.warm.up": "false",
            "ksqlpy.data.dir": str(tmp_path),
            "commit.interval.ms": 1000,
            "ksqlpy.functions.python.enabled": "true",
        }
    )
    labelled = [b'{"LABEL":"old 5"}', b'{"LABEL":"new 6"}', b'{"LABEL":"new 7"}']
    totals = [b'{"TOTAL":"old 5"}', b'{"TOTAL":"new 11"}', b'{"TOTAL":"new 18"}']
    first = Engine(config)
    first.start()
    try:
        first.execute(START, EARLIEST)
        first.execute("INSERT INTO rides VALUES (1, 5);")
        assert values(first, "LABELLED", 1, 300) == labelled[:1]
        assert values(first, "TOTALS", 1, 300) == totals[:1]
        running = {q.spec.id: q for q in first.queries.all()}
        [answer] = first.execute(NEW)
        assert answer["commandStatus"]["message"] == "Function LABEL replaced; LABELS, SUMS went on with it"
        now = {q.spec.id: q for q in first.queries.all()}
        assert {name for name, query in now.items() if query is not running[name]} == {"LABELS", "SUMS"}
        first.execute("INSERT INTO rides VALUES (1, 6);")
        assert values(first, "LABELLED", 2, 300) == labelled[:2]
        assert values(first, "TOTALS", 2, 300) == totals[:2]
        assert values(first, "PLAIN", 2, 300) == [b'{"FARE":5}', b'{"FARE":6}']
        before = first.catalog
    finally:
        first.stop()
    second = Engine(config)
    second.start()
    try:
        assert second.catalog == before
        second.execute("INSERT INTO rides VALUES (1, 7);")
        assert values(second, "LABELLED", 3, 300) == labelled
        assert values(second, "TOTALS", 3, 300) == totals
        assert values(second, "PLAIN", 3, 300) == [b'{"FARE":5}', b'{"FARE":6}', b'{"FARE":7}']
        assert until(lambda: {q["state"] for q in second.execute("SHOW QUERIES;")[0]["queries"]} == {"RUNNING"})
    finally:
        second.stop()
