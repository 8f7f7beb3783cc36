"""What a query is shown as while it starts, fails, tries again and recovers; ksqlDB's clients read their own names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.spark.query_status import QueryStatus, State
from tests.support.waiting import count, until

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

LETTERS = """
CREATE STREAM letters (sender STRING KEY, body STRING)
  WITH (KAFKA_TOPIC = 'letters', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("status")
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.data.dir": str(folder),
                "ksqlpy.warm.up": "false",
                "commit.interval.ms": "1000",
                "ksql.query.retry.backoff.max.ms": "10000",
            }
        )
    )
    made.start()
    yield made
    made.stop()


def shown(engine: Engine, query_id: str) -> dict[str, Any]:
    """The query's line of SHOW QUERIES."""
    [found] = [q for q in engine.execute("SHOW QUERIES;")[0]["queries"] if q["id"] == query_id]
    assert isinstance(found, dict)
    return found


def test_a_query_that_fails_is_retrying_until_it_comes_past_that_place(engine: Engine) -> None:
    engine.execute(LETTERS)
    dead = engine.topics.dead_letters
    engine.kafka.delete_topics([dead])
    engine.execute(
        "CREATE STREAM copies WITH (KAFKA_TOPIC = 'copies') AS SELECT * FROM letters;"
        " INSERT INTO letters VALUES ('ann', 'x');",
        {"auto.offset.reset": "earliest"},
    )
    [query_id] = engine.catalog.queries
    assert until(lambda: shown(engine, query_id)["tries"] > 0)
    begun = shown(engine, query_id)["since"]
    seen = []
    while not seen or seen[-1]["tries"] < 2:  # through the next try, which fails some time after it began
        seen.append(shown(engine, query_id))
        time.sleep(0.02)
    assert {(q["state"], q["since"]) for q in seen} == {("RETRYING", begun)}
    assert {str(q["statusCount"]) for q in seen} == {"{'ERROR': 1}"}
    waits = [q["nextTry"] for q in seen]
    assert None in waits and any(w is not None and w > begun for w in waits)

    [explained] = engine.execute(f"EXPLAIN {query_id};")
    description = explained["queryDescription"]
    assert (description["state"], description["ksqlHostQueryStatus"]) == ("RETRYING", {"local": "ERROR"})
    [described] = engine.execute("DESCRIBE copies EXTENDED;")
    assert f"{query_id}: RETRYING (" in described["sourceDescription"]["statistics"]

    engine.kafka.create_topic(dead, 1, None, {})
    assert until(lambda: shown(engine, query_id)["state"] == "RUNNING")
    running = shown(engine, query_id)
    assert (running["tries"], running["nextTry"], running["statusCount"]) == (0, None, {"RUNNING": 1})
    assert running["since"] > begun
    assert count(engine, "copies") == 1


def test_one_with_a_checkpoint_is_recovering_until_it_runs(engine: Engine) -> None:
    [query_id] = engine.catalog.queries
    before = engine.queries.get(query_id)
    assert before is not None and until(lambda: before.checkpoint.last_commit is not None)
    engine.execute(f"PAUSE {query_id};")
    paused = shown(engine, query_id)
    assert (paused["state"], paused["statusCount"]) == ("PAUSED", {"PAUSED": 1})
    assert paused["since"] <= time.time() * 1000
    states: list[str] = []
    engine.execute(f"RESUME {query_id};")
    while not states or states[-1] != "RUNNING":
        state = shown(engine, query_id)["state"]
        if not states or states[-1] != state:
            states.append(state)
        assert state in ("STARTING", "RECOVERING", "RUNNING")
    assert states[-2:] == ["RECOVERING", "RUNNING"]


@pytest.mark.parametrize("state", State)
def test_clients_of_ksqldb_know_each_status(state: State) -> None:
    assert QueryStatus(state).client_status in ("RUNNING", "ERROR", "UNRESPONSIVE", "PAUSED")
