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
from ksqlpy.server.run import ServerThread
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
    with ServerThread(engine) as server:
        served = ["--server", server.url]
        assert main(["deadletters", "show", "--output", "json", *where]) == 0
        shown = capsys.readouterr().out
        assert main(["deadletters", "show", "--output", "json", *served]) == 0
        assert capsys.readouterr().out == shown
        lines = [json.loads(line) for line in shown.splitlines()]
        for line in lines:
            line.pop("value_base64", None)
            line["value"] = json.dumps({"v": line["offset"]})
        file = tmp_path / "letters.jsonl"
        file.write_text("\n".join(map(json.dumps, lines)))
        assert main(["deadletters", "replay", str(file), "--dry-run", *where]) == 0
        assert main(["deadletters", "replay", str(file), "--dry-run", *served]) == 0
        assert main(["deadletters", "replay", str(file), *served]) == 0
        for how in (where, served):
            assert main(["deadletters", "replay", str(file), *how]) == 0
    assert capsys.readouterr().out.splitlines() == [
        *["10 records would be replayed"] * 2,
        "10 records replayed",
        *["0 records replayed, 10 were before"] * 2,
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


FURTHER = pytest.mark.extended("further replays, and those that are killed at their beginning and at their end")


@pytest.mark.parametrize("written", [pytest.param(0, marks=FURTHER), 3, pytest.param(6, marks=FURTHER)])
def test_two_queries_have_letters_about_one_record(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Also where the replay is killed when it had written so many of the records."""
    source, queries = f"two{written}", [f"COUNTS{written}", f"SUMS{written}"]
    engine.execute(
        f"CREATE STREAM {source} (id INT KEY, v INT) WITH (kafka_topic='{source}', value_format='JSON', partitions=1);"
        f"CREATE TABLE c{written} WITH (query_id='{queries[0]}') AS SELECT id, COUNT(*) AS v FROM {source} GROUP BY id;"
        f"CREATE TABLE d{written} WITH (query_id='{queries[1]}') AS SELECT id, SUM(v) AS v FROM {source} GROUP BY id;",
        EARLIEST,
    )
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    for value in (b'{"v":100}', *[b"broken"] * 6):
        producer.produce(source, key=b"\0\0\0\1", value=value)
    producer.flush()
    found = [enough(partial(letters_of, engine, query), 6) for query in queries]
    assert [len(x) for x in found] == [6, 6]
    topic, module = engine.topics.dead_letters, sys.modules["ksqlpy.deadletters.replay"]
    write = module._write

    def killed(out: Producer, letters_topic: str, letters: Sequence[Letter]) -> None:
        write(out, letters_topic, letters[:written])
        raise EngineProblem("not-written", "killed")

    # Somebody else's transaction in the source topic hides what a replay wrote from whoever reads what is committed.
    other = Producer({"bootstrap.servers": engine.bootstrap, "transactional.id": source})
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(source, key=b"\0\0\0\2", value=b'{"v":0}')
    other.flush()
    monkeypatch.setattr(module, "_write", killed)
    with pytest.raises(EngineProblem, match="killed"):
        replay(engine.connection, read_letters(engine.connection, topic), found[0])
    monkeypatch.undo()
    again = read_letters(engine.connection, topic)
    assert again.done.isdisjoint(x.id for x in (*found[0], *found[1]))
    assert replay(engine.connection, again, [*found[1], *found[0]]) == 6 - written
    again = read_letters(engine.connection, topic)
    assert again.done.issuperset(x.id for x in (*found[0], *found[1]))
    assert replay(engine.connection, again, [*found[0], *found[1]]) == 0
    other.abort_transaction(30)
    assert enough(lambda: [v for v in values(engine, f"C{written}") if v == 7], 1) == [7]
    assert enough(lambda: [v for v in values(engine, f"D{written}") if v == 121], 1) == [
        121
    ]  # offsets 1 to 6 are their values
    assert max(values(engine, f"C{written}")) == 7
    assert max(values(engine, f"D{written}")) == 121

    # A query that comes to the records later has letters about them, too: they are done.
    engine.execute(f"CREATE STREAM e{written} WITH (query_id='E{written}') AS SELECT * FROM {source};", EARLIEST)
    late = enough(partial(letters_of, engine, f"E{written}"), 6)
    assert replay(engine.connection, read_letters(engine.connection, topic), late) == 0
    engine.execute("".join(f"TERMINATE {q};" for q in (*queries, f"E{written}")))


@FURTHER
def test_unmended_copies_make_no_more_letters(
    engine: Engine, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    engine.execute(
        "CREATE STREAM back (v INT) WITH (kafka_topic='back', value_format='JSON', partitions=1);"
        "CREATE STREAM b1 WITH (query_id='B1') AS SELECT v FROM back;"
        "CREATE STREAM b2 WITH (query_id='B2') AS SELECT v FROM back;",
        EARLIEST,
    )
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    producer.produce("back", value=b"broken")
    producer.flush()
    mine = [enough(partial(letters_of, engine, q), 1)[0] for q in ("B1", "B2")]
    where = ["--bootstrap-servers", engine.bootstrap, "-D", "ksql.service.id=letters_", "--topic", "back"]

    def ran(*arguments: str) -> str:
        capsys.readouterr()
        assert main(["deadletters", "replay", *arguments, *where]) == 0
        return capsys.readouterr().out.strip()

    assert ran() == "1 records replayed"
    copies = [enough(partial(letters_of, engine, q), 2)[1] for q in ("B1", "B2")]
    first = min(mine, key=lambda letter: int(letter.id.rpartition("-")[2]))
    assert {c.copy_of for c in copies} == {f"{engine.topics.dead_letters}:{first.id.replace('-', ':')}"}
    left = "1 came back from a replay (mend them, or --again writes them as they are)"
    for _ in range(2):
        assert ran("--dry-run") == f"0 records would be replayed, 1 were before, {left}"
        assert ran() == f"0 records replayed, 1 were before, {left}"
    assert [len(letters_of(engine, q)) for q in ("B1", "B2")] == [2, 2]

    # One of its letters is mended, the other one is not.
    assert main(["deadletters", "show", "--output", "json", *where]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [x.get("copy_of") for x in lines] == [None, None, *(c.copy_of for c in copies)]
    lines[-1]["value"] = '{"v":5}'
    file = tmp_path / "letters.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert ran(str(file)) == "1 records replayed, 1 were before"
    assert [enough(partial(values, engine, topic), 1) for topic in ("B1", "B2")] == [[5], [5]]
    assert [len(letters_of(engine, q)) for q in ("B1", "B2")] == [2, 2]
    assert ran() == "0 records replayed, 2 were before"


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


@FURTHER
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
