"""What the server writes about its queries: the stream of dead letters, and the processing log."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.deadletters import HEADERS
from ksqlpy.deadletters.letters import records
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem, KsqlError
from ksqlpy.runtime import Engine, processinglog
from ksqlpy.runtime.processinglog import ProcessingLog
from ksqlpy.runtime.systemstreams import declare_own
from ksqlpy.spark.failure import Failure
from tests.support.waiting import enough

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
LOG = "logged_ksql_processing_log"
ON = {
    "ksql.service.id": "logged_",
    "ksqlpy.dead.letters.stream.auto.create": "true",
    "ksql.logging.processing.topic.auto.create": "true",
    "ksql.logging.processing.stream.auto.create": "true",
    "ksql.logging.processing.rows.include": "true",
}
SOURCE = "CREATE STREAM s (k INT KEY, v INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
T = TypeVar("T")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logged")


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, folder: Path) -> Iterator[Engine]:
    patch = pytest.MonkeyPatch()
    patch.setattr(processinglog, "COUNT_SECONDS", 0.5)
    made = Engine(
        Config.of(
            {**ON, "bootstrap.servers": broker.bootstrap, "ksqlpy.warm.up": "false", "ksqlpy.data.dir": str(folder)}
        )
    )
    made.start()
    yield made
    made.stop()
    patch.undo()


def lying(engine: Engine, topic: str) -> list[Message]:
    return list(records(engine.connection, {topic: {}}))


def entries(engine: Engine, kind: int, logger: str) -> list[dict[str, Any]]:
    found = [json.loads(m.value() or b"") for m in lying(engine, LOG)]
    assert all(e["level"] == "ERROR" and e["time"] > 0 for e in found)
    return [e["message"] for e in found if e["message"]["type"] == kind and e["logger"].startswith(logger)]


def send(engine: Engine, topic: str, *given: tuple[bytes | None, bytes]) -> None:
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for key, value in given:
        producer.produce(topic, key=key, value=value, timestamp=1_700_000_000_000)
    producer.flush()


def test_the_streams_are_declared_and_read(engine: Engine) -> None:
    engine.execute(
        SOURCE + "CREATE STREAM o WITH (query_id='O') AS SELECT k, v FROM s;"
        "CREATE STREAM lost WITH (value_format='JSON', query_id='LOST') AS SELECT record_key, query_id, reason,"
        " source_topic, source_partition, source_offset, source_time, result_topic,"
        " FROM_BYTES(record_value, 'utf8') AS value FROM ksqlpy_dead_letters;"
        "CREATE STREAM seen WITH (query_id='SEEN') AS SELECT message->deserializationError->target AS target,"
        " message->deserializationError->errorMessage AS said,"
        " message->deserializationError->`topic` AS source FROM ksql_processing_log;",
        EARLIEST,
    )
    send(engine, "s", (b"\0\0\0\1", b"broken"), (b"short", b'{"v": 1}'))
    # What a replay notes among the letters is none, and neither is a letter about a letter.
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    producer.produce(engine.topics.dead_letters, value=b"{}", headers=[("ksqlpy.replay", b"begin")])
    about = {"topic": engine.topics.dead_letters, "partition": "0", "offset": "0", "query": "X", "reason": "letter"}
    producer.produce(engine.topics.dead_letters, headers=[(HEADERS[n], v.encode()) for n, v in about.items()])
    producer.flush()
    send(engine, "s", (None, b"last"))
    found = enough(lambda: [json.loads(m.value() or b"") for m in lying(engine, "LOST")], 3)
    assert [f["SOURCE_OFFSET"] for f in found] == [0, 1, 2]
    assert {(f["QUERY_ID"], f["SOURCE_TOPIC"], f["SOURCE_PARTITION"], f["RESULT_TOPIC"]) for f in found} == {
        ("O", "s", 0, None)
    }
    assert [f["VALUE"] for f in found] == ["broken", '{"v": 1}', "last"]
    assert {f["SOURCE_TIME"] for f in found} == {1_700_000_000_000}
    assert found[1]["REASON"] == "key: an INTEGER has 4 bytes, not 5"
    assert [m.key() for m in lying(engine, "LOST")] == [b"\0\0\0\1", b"short", None]
    seen = enough(lambda: [json.loads(m.value() or b"") for m in lying(engine, "SEEN")], 4)
    assert [f["TARGET"] for f in seen if f["SAID"] != "letter"] == ["value", "key", "value"]
    assert {f["SOURCE"] for f in seen if f["SAID"] != "letter"} == {"s"}
    [shown] = engine.execute("SHOW STREAMS;")
    assert {s["name"] for s in shown["streams"]} >= {"KSQLPY_DEAD_LETTERS", "KSQL_PROCESSING_LOG"}
    [described] = engine.execute("DESCRIBE ksqlpy_dead_letters;")
    types = {f["name"]: f["schema"]["type"] for f in described["sourceDescription"]["fields"]}
    assert (types["RECORD_VALUE"], types["REASON"], types["SOURCE_OFFSET"]) == ("BYTES", "STRING", "BIGINT")
    with pytest.raises(KsqlError, match="can only be read"):
        engine.execute("INSERT INTO ksqlpy_dead_letters (record_value) VALUES (TO_BYTES('x', 'utf8'));")


def test_entries_of_records_and_results(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM r (v INT) WITH (kafka_topic='r', value_format='JSON', partitions=1);"
        "CREATE STREAM rt WITH (query_id='RT', timestamp='W') AS SELECT v, CAST(v AS BIGINT) AS w FROM r;"
        "CREATE STREAM rf WITH (query_id='RF') AS SELECT v / 0 AS v FROM r WHERE v IS NOT NULL;"
        "CREATE TABLE rg WITH (query_id='RG') AS SELECT v, SUM(10 / (v + 5)) AS n FROM r GROUP BY v;"
        "CREATE STREAM rw WITH (query_id='RW') AS SELECT v, v AS x FROM r WHERE 10 / (v + 5) > 1;",
        EARLIEST,
    )
    send(engine, "r", (None, b"no"), (None, b'{"v": -5}'))
    [read] = enough(lambda: entries(engine, 0, "processing.RT."), 1)
    assert read["deserializationError"].pop("errorMessage").startswith("not JSON: ")
    assert read["deserializationError"] == {
        "target": "value",
        "recordB64": base64.b64encode(b"no").decode(),
        "cause": [],
        "topic": "r",
    }
    assert [k for k, v in read.items() if v is None] == [
        "recordProcessingError", "productionError", "serializationError", "kafkaStreamsThreadError"
    ]  # fmt: skip
    [result] = enough(lambda: entries(engine, 1, "processing.RT."), 1)
    assert json.loads(result["recordProcessingError"]["record"]) == {"V": -5, "W": -5}
    for query in ("RF", "RG", "RW"):
        [failed] = enough(partial(entries, engine, 1, f"processing.{query}"), 1)
        assert failed["recordProcessingError"]["errorMessage"].startswith("1 expression failed")
        assert engine.queries.counts(query).failed == 1
    [described] = engine.execute("DESCRIBE r EXTENDED;")
    assert "RW: 1 failed expressions" in described["sourceDescription"]["errorStats"]


def test_an_entry_of_a_query_that_failed_and_none_twice(engine: Engine) -> None:
    query: Any = SimpleNamespace(
        spec=SimpleNamespace(id="BAD"),
        status=SimpleNamespace(failed=True),
        failures=[Failure(time.time() + 1, "USER", "its topic is gone")],
    )
    engine.kafka.create_topic("letters", 1, None, {})
    producer = Producer({"bootstrap.servers": engine.bootstrap})

    def letter(number: int) -> None:
        about = {"topic": "s", "partition": "0", "offset": str(number), "query": "X", "reason": "why"}
        producer.produce("letters", value=b"v", headers=[(HEADERS[n], v.encode()) for n, v in about.items()])
        producer.flush()

    def run(queries: list[Any], wanted: int, *, rows: bool) -> list[dict[str, Any]]:
        kept = ProcessingLog(
            engine.kafka, "letters", "kept", rows=rows, check=lambda: None, queries=lambda: queries, failed=lambda _: 0
        )
        kept.start(make=True)
        enough(lambda: lying(engine, "kept"), wanted)
        kept.stop()
        return [json.loads(m.value() or b"{}") for m in lying(engine, "kept")]

    letter(0)
    [first, bad] = run([query], 2, rows=False)
    assert first["message"]["deserializationError"]["recordB64"] is None
    assert bad["logger"] == "processing.BAD"
    assert bad["message"]["kafkaStreamsThreadError"]["errorMessage"] == "its topic is gone"
    letter(1)
    for _ in range(2):  # of others, who may write there, too
        producer.produce("kept", value=b"{}")
    producer.flush()
    found = run([], 5, rows=True)
    assert [f.get("logger") for f in found][4:] == ["processing.X.KsqlTopic.Source.deserializer"]
    assert found[4]["message"]["deserializationError"]["recordB64"] == "dg=="
    letter(2)
    assert len(run([], 6, rows=True)) == 6


def test_headers_of_results_and_those_of_exactly_once(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM hs (v INT) WITH (kafka_topic='hs', value_format='JSON', partitions=1);"
        "CREATE STREAM hm WITH (headers='h') AS SELECT v, MAP('ksqlpy.at' := 'mine', 'v' := CAST(v AS STRING)) AS h"
        " FROM hs; CREATE STREAM hn AS SELECT v FROM hm;",
        EARLIEST,
    )
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    producer.produce("hs", value=b'{"v": 1}', headers=[("trace", b"1")])
    producer.flush()
    [marked] = enough(lambda: lying(engine, "HM"), 1)
    [passed] = enough(lambda: lying(engine, "HN"), 1)
    for message in (marked, passed):
        (name, value), (last, at) = message.headers() or ()
        assert (name, value, last) == ("v", b"1", "ksqlpy.at")
        assert at != b"mine"
    assert json.loads(marked.value() or b"") == {"V": 1}


def test_a_start_declares_what_is_there_again(engine: Engine) -> None:
    before = engine.catalog_service.next_command
    declare_own(engine.config, engine.execute)
    assert engine.catalog_service.next_command == before
    engine.execute("DROP STREAM lost; DROP STREAM ksqlpy_dead_letters;")
    declare_own(engine.config, engine.execute)
    assert "KSQLPY_DEAD_LETTERS" in engine.catalog.sources


def test_a_name_that_is_none() -> None:
    with pytest.raises(ConfigProblem, match="must be a name"):
        Config.of({"ksql.logging.processing.stream.name": "a-b"})


def test_nothing_is_declared_where_it_is_off() -> None:
    from ksqlpy.runtime.systemstreams import log_topic, system_streams

    assert system_streams(Config.of()) == []
    assert log_topic(Config.of()) is None
