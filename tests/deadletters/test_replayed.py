"""Dead letters on a real broker: broken records are mended and replayed, all come out, none twice."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.__main__ import main
from ksqlpy.config import Config
from ksqlpy.deadletters import Letter, read_letters, replay
from ksqlpy.deadletters.letters import records
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem, EngineProblem
from ksqlpy.runtime import Engine
from tests.support.waiting import enough

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
BROKEN = (b'{"v":', b'{"v":"x"}', b"\xff", b'["v"]', b"{'v':1}")
T = TypeVar("T")


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.warm.up": "false",
                "ksqlpy.data.dir": str(tmp_path_factory.mktemp("letters")),
                "ksql.service.id": "letters_",
            }
        )
    )
    made.start()
    yield made
    made.stop()


def values(engine: Engine, topic: str) -> list[int]:
    return [json.loads(m.value() or b"")["V"] for m in records(engine.connection, {topic: {}})]


def letters_of(engine: Engine, query: str) -> list[Letter]:
    found = read_letters(engine.connection, engine.topics.dead_letters).letters
    return [replace(x, value=b'{"v":%d}' % x.offset) for x in found if x.query == query]


def test_mended_records_come_out_once(engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine.execute(
        "CREATE STREAM s (v INT) WITH (kafka_topic='s', value_format='JSON', partitions=2);"
        "CREATE STREAM o WITH (query_id='OUT') AS SELECT v FROM s;",
        EARLIEST,
    )
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for i in range(200):
        value = BROKEN[i // 20 % len(BROKEN)] if i % 20 == 0 else b'{"v":%d}' % (1000 + i)
        producer.produce("s", value=value, partition=i // 20 % 2, timestamp=1_700_000_000_000 + i)
    producer.flush()
    found = enough(lambda: letters_of(engine, "OUT"), 10)
    assert len(found) == 10
    assert {x.topic for x in found} == {"s"}
    assert all(x.reason and x.timestamp >= 1_700_000_000_000 for x in found)

    where = ["--bootstrap-servers", engine.bootstrap, "-D", "ksql.service.id=letters_"]
    assert main(["deadletters", "show", "--output", "json", *where]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for line in lines:
        line.pop("value_base64", None)
        line["value"] = json.dumps({"v": line["offset"]})
    file = tmp_path / "letters.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert main(["deadletters", "replay", str(file), "--dry-run", *where]) == 0
    assert main(["deadletters", "replay", str(file), *where]) == 0
    assert main(["deadletters", "replay", str(file), *where]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "10 records would be replayed",
        "10 records replayed",
        "0 records replayed, 10 were before",
    ]
    wanted = Counter([*(1000 + i for i in range(200) if i % 20), *(x.offset for x in found)])
    assert Counter(enough(lambda: values(engine, "O"), 200)) == wanted
    back = [m for m in records(engine.connection, {"s": {}}) if m.headers()]
    assert sorted((m.partition(), m.timestamp()[1]) for m in back) == sorted((x.partition, x.timestamp) for x in found)
    assert main(["deadletters", "list", "--output", "json", *where]) == 0
    counted = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(c["letters"] for c in counted) == sum(c["replayed"] for c in counted) == 10


def test_a_replay_that_was_killed_goes_on(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.execute(
        "CREATE STREAM t (v INT) WITH (kafka_topic='t', value_format='JSON', partitions=1);"
        "CREATE STREAM p WITH (query_id='OTHER') AS SELECT v FROM t;",
        EARLIEST,
    )
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for _ in range(6):
        producer.produce("t", value=b"broken")
    producer.flush()
    mine = enough(lambda: letters_of(engine, "OTHER"), 6)
    topic, module = engine.topics.dead_letters, sys.modules["ksqlpy.deadletters.replay"]
    write = module._write

    def killed(out: Producer, letters_topic: str, letters: Sequence[Letter]) -> None:
        write(out, letters_topic, letters[:4])
        raise EngineProblem("not-written", "killed")

    monkeypatch.setattr(module, "_write", killed)
    with pytest.raises(EngineProblem, match="killed"):
        replay(engine.connection, read_letters(engine.connection, topic), mine)
    monkeypatch.undo()
    again = read_letters(engine.connection, topic)
    assert again.done.isdisjoint(x.id for x in mine)
    assert replay(engine.connection, again, mine) == 2
    again = read_letters(engine.connection, topic)
    assert again.done.issuperset(x.id for x in mine)
    assert replay(engine.connection, again, mine) == 0
    assert sorted(enough(lambda: values(engine, "P"), 6)) == list(range(6))


SHAPES = {
    "PLAIN": "CREATE STREAM {0} WITH (query_id='{0}') AS SELECT id, v FROM h;",
    "GROUPED": "CREATE TABLE {0} WITH (query_id='{0}') AS SELECT id, COUNT(*) AS n FROM h GROUP BY id;",
    "SESSIONS": "CREATE TABLE {0} WITH (query_id='{0}') AS SELECT id, COUNT(*) AS n FROM h"
    " WINDOW SESSION (10 SECONDS) GROUP BY id;",
    "PLACED": "CREATE STREAM {0} WITH (query_id='{0}') AS SELECT h.id AS id, v, name FROM h JOIN t2 ON h.id = t2.id;",
    "PAIRS": "CREATE STREAM {0} WITH (query_id='{0}') AS SELECT h.id AS id, h.v, g.v AS w FROM h"
    " JOIN g WITHIN 1 SECOND ON h.id = g.id;",
    "EXPLODED": "CREATE STREAM {0} WITH (query_id='{0}') AS SELECT id, EXPLODE(ARRAY[v, v]) AS v FROM h;",
    "FINAL": "CREATE TABLE {0} WITH (query_id='{0}') AS SELECT id, COUNT(*) AS n FROM h"
    " WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY id EMIT FINAL;",
}
HEADERS = [("trace", b"1"), ("trace", None), ("ksqlpy.reason", b"mine"), ("ksqlpy.replay", b"done")]


def test_headers_are_kept(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM h (id INT KEY, v INT) WITH (kafka_topic='h', value_format='JSON', partitions=2);"
        "CREATE STREAM g (id INT KEY, v INT) WITH (kafka_topic='g', value_format='JSON', partitions=1);"
        "CREATE TABLE t2 (id INT PRIMARY KEY, name STRING) WITH (kafka_topic='t2', value_format='JSON', partitions=1);"
        + "".join(statement.format(name) for name, statement in SHAPES.items()),
        EARLIEST,
    )
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    producer.produce("h", key=b"\0\0\0\1", value=b"broken", headers=HEADERS)
    producer.produce("h", key=b"\0\0\0\1", value=b"broken", headers=[("ksqlpy.at", b"of another query")])
    producer.produce("h", key=b"\0\0\0\1", value=b"broken")
    producer.flush()
    for name in SHAPES:
        found = enough(partial(letters_of, engine, name), 3)
        assert [x.headers for x in sorted(found, key=lambda x: x.offset)] == [tuple(HEADERS), (), ()], name
        assert all(x.reason.startswith("not JSON") for x in found)
    letters = read_letters(engine.connection, engine.topics.dead_letters)
    [mine] = [x for x in letters_of(engine, "PLAIN") if x.headers]
    assert replay(engine.connection, letters, [mine]) == 1
    wanted = [*HEADERS, ("ksqlpy.replayed", f"{letters.topic}:{mine.id.replace('-', ':')}".encode())]
    back = [
        m.headers() for m in records(engine.connection, {"h": {}}) if dict(m.headers() or ()).get("ksqlpy.replayed")
    ]
    assert back == [wanted]
    assert enough(lambda: values(engine, "PLAIN"), 1) == [mine.offset]
    [result] = [m.headers() for m in records(engine.connection, {"PLAIN": {}})]
    assert [h for h in result if h[0] != "ksqlpy.at"] == wanted


def test_a_result_goes_to_its_own_topic(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM a (v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);"
        "CREATE STREAM timed WITH (query_id='TIMED', timestamp='W') AS SELECT v, CAST(v AS BIGINT) AS w FROM a;",
        EARLIEST,
    )
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    producer.produce("a", value=b'{"v":-5}', timestamp=1_700_000_000_000, headers=[("trace", b"1")])
    producer.flush()
    enough(lambda: letters_of(engine, "TIMED"), 1)
    letters = read_letters(engine.connection, engine.topics.dead_letters)
    [mine] = [x for x in letters.letters if x.query == "TIMED"]
    assert (mine.topic, mine.result, mine.headers) == ("a", "TIMED", (("trace", b"1"),))
    assert replay(engine.connection, letters, [mine]) == 1
    [back] = records(engine.connection, {"TIMED": {}})
    assert json.loads(back.value() or b"") == {"V": -5, "W": -5}
    assert back.timestamp()[1] == 1_700_000_000_000
    assert dict(back.headers() or ())["trace"] == b"1"


def test_topics_that_are_not_there(engine: Engine) -> None:
    with pytest.raises(ConfigProblem) as caught:
        read_letters(engine.connection, "none")
    assert caught.value.code == "no-letters"
    letters = read_letters(engine.connection, engine.topics.dead_letters)
    stray = Letter("0-999999", "Q", "gone", 0, 0, 1, "", None, b"x")
    with pytest.raises(ConfigProblem, match="gone"):
        replay(engine.connection, letters, [stray])
