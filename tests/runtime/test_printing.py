"""PRINT on a real broker: from the beginning and from the end, formats, INTERVAL and LIMIT, what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import AnalysisProblem, KsqlError, StatementError
from ksqlpy.runtime import Engine
from ksqlpy.runtime.printing import Printing
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.warm.up": "false",
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("printing")),
                "ksql.service.id": "printing_",
            }
        )
    )
    made.start()
    made.execute(
        "CREATE STREAM rides (id INT KEY, city STRING) WITH (kafka_topic='Rides', value_format='JSON', partitions=1);"
        "INSERT INTO rides (ROWTIME, id, city) VALUES (1700000000007, 1, 'Oslo');"
        "INSERT INTO rides (ROWTIME, id, city) VALUES (1700000000008, 2, 'Moss');"
        "INSERT INTO rides (ROWTIME, id, city) VALUES (1700000000009, 3, NULL);"
    )
    yield made
    made.stop()


def printed(engine: Engine, sql: str) -> list[str]:
    found = engine.query(sql)
    assert isinstance(found, Printing)
    return [line for line in found.rows() if line is not None]


def test_from_the_beginning(engine: Engine) -> None:
    at = "rowtime: 2023/11/14 22:13:20"
    assert printed(engine, "PRINT 'Rides' FROM BEGINNING LIMIT 2;") == [
        "Key format: KAFKA_INT",
        "Value format: JSON or KAFKA_STRING",
        f'{at}.007 Z, key: 1, value: {{"CITY":"Oslo"}}, partition: 0',
        f'{at}.008 Z, key: 2, value: {{"CITY":"Moss"}}, partition: 0',
    ]


@pytest.mark.parametrize("asked", ["Rides FROM BEGINNING INTERVAL 2 LIMIT 2", "rides FROM BEGINNING SAMPLE 2 LIMIT 2"])
def test_every_so_many_records(engine: Engine, asked: str) -> None:
    lines = printed(engine, f"PRINT {asked};")
    assert [line.partition("key: ")[2][:1] for line in lines if line.startswith("rowtime")] == ["1", "3"]


def test_from_the_end_until_it_is_closed(engine: Engine) -> None:
    running = engine.query("PRINT 'Rides';")
    lines: list[str] = []
    thread = threading.Thread(target=lambda: lines.extend(line for line in running.rows() if line is not None))
    thread.start()

    # Its first look at the topic may come later than the first record.
    def written() -> bool:
        engine.execute("INSERT INTO rides (id, city) VALUES (9, 'later');")
        return len(lines) >= 3

    assert until(written)
    assert engine.close_query(running.id)
    thread.join(20)
    assert not thread.is_alive()
    assert "Oslo" not in "".join(lines)
    assert until(lambda: not engine.close_query(running.id))


REFUSED = [
    ("PRINT 'rides';", "missing-topic"),  # quoted: this case only
    ("PRINT none;", "missing-topic"),
    ("PRINT '_ksqlpy-printing_command_log';", "internal-topic"),
    ("PRINT 'Rides' INTERVAL 0;", "invalid-interval"),
]


@pytest.mark.parametrize(("sql", "code"), REFUSED)
def test_refusals(engine: Engine, sql: str, code: str) -> None:
    with pytest.raises(AnalysisProblem) as caught:
        engine.query(sql)
    assert caught.value.code == code
    assert caught.value.span is not None


def test_it_is_no_statement_of_the_other_endpoint(engine: Engine) -> None:
    with pytest.raises(StatementError) as caught:
        engine.execute("PRINT 'Rides';")
    assert (caught.value.code, caught.value.error_code) == ("query-not-here", 40002)
    with pytest.raises(KsqlError) as many:
        engine.query("PRINT 'Rides'; PRINT 'Rides';")
    assert many.value.code == "not-a-query"
