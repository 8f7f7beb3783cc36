"""Functions of a program that are registered at a real server, and called by its queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ksqlpy
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.server.run import ServerThread
from ksqlpy.session.embedded import Engine
from ksqlpy.session.session import Session
from tests.session import registered
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

WAIT = 300
"""Seconds for which rows are waited for: tests run beside others."""


def served(broker: EmbeddedKafka, folder: Any, service: str, enabled: str) -> Iterator[tuple[Engine, Session]]:
    config = {
        "ksqlpy.warm.up": "false",
        "ksql.service.id": service,
        "ksqlpy.functions.python.enabled": enabled,
    }
    with (
        Engine(broker.bootstrap, folder, config) as engine,
        ServerThread(engine._engine) as server,
        ksqlpy.connect(server.url) as session,
    ):
        session.properties["auto.offset.reset"] = "earliest"
        yield engine, session


@pytest.fixture
def session(spark: SparkSession, broker: EmbeddedKafka, tmp_path: Any) -> Iterator[Session]:
    for _, session in served(broker, tmp_path / "data", "registers_", "true"):
        yield session


@pytest.fixture
def closed_session(spark: SparkSession, broker: EmbeddedKafka, tmp_path: Any) -> Iterator[Session]:
    for _, session in served(broker, tmp_path / "data", "registers_none_", "false"):
        yield session


def test_functions_of_each_kind(session: Session) -> None:
    for function in (registered.distance, registered.zone, registered.words, registered.Longest):
        assert session.register(function) is function
    session.sql(
        "CREATE STREAM notes (id INT KEY, x DOUBLE, y DOUBLE, said STRING)"
        " WITH (KAFKA_TOPIC='registered_notes', VALUE_FORMAT='JSON', PARTITIONS=1);"
        "CREATE TABLE longest_of AS SELECT id, longest(said) AS said FROM notes GROUP BY id;"
        "CREATE STREAM split AS SELECT id, words(said) AS word FROM notes;"
    )
    session.insert(
        "notes",
        [
            {"id": 1, "x": 3, "y": 4, "said": "One 2 three"},
            {"id": 1, "x": 0, "y": 1, "said": "four"},
            {"id": 3, "x": 0, "y": 0, "said": "five"},
        ],
    )
    asked = "SELECT distance_of(STRUCT(x := x, y := y)) AS far, zone(CAST(id AS BIGINT)) AS zone FROM notes"
    with session.query(f"{asked} EMIT CHANGES LIMIT 3") as rows:
        assert [tuple(row) for row in rows] == [(5.0, "north"), (1.0, "north"), (0.0, "south")]
    found = session.table("longest_of").get(1, wait=WAIT)
    assert found is not None and found.said == "One 2 three"
    with session.query("SELECT word FROM split EMIT CHANGES LIMIT 4") as rows:
        assert [row.word for row in rows] == ["One", "three", "four", "five"]


def test_one_that_is_registered_again_is_replaced(session: Session) -> None:
    session.sql(
        "CREATE STREAM numbers (id INT KEY, n BIGINT)"
        " WITH (KAFKA_TOPIC='registered_numbers', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    session.insert("numbers", [{"id": 1, "n": 7}])

    def seen() -> int:
        with session.query("SELECT changed(n) AS n FROM numbers EMIT CHANGES LIMIT 1") as rows:
            return int(next(rows).n)

    def twice(n: int) -> int:
        return 2 * n

    def thrice(n: int) -> int:
        return 3 * n

    session.register(twice, name="changed")
    assert seen() == 14
    session.register(thrice, name="changed")
    assert until(lambda: seen() == 21)


def test_a_server_that_takes_none_says_so(closed_session: Session) -> None:
    with pytest.raises(KsqlError) as refused:
        closed_session.register(registered.zone)
    assert refused.value.code == "functions-off"
    assert "ksqlpy.functions.python.enabled" in str(refused.value.hint)
