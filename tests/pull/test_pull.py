"""Pull queries on a real broker, as ``reads.txt`` says; Spark must give the same answers as Python."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.runtime.pull import Pulled, PullQuery
from ksqlpy.testing.served import Served
from tests.harness.restore import PACE
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

FILE = Path(__file__).with_name("reads.txt")
EARLIEST = {"auto.offset.reset": "earliest"}


@dataclass
class Step:
    """Statements to run, or a question with what is expected."""

    line: int
    text: str
    question: bool
    access: str | None = None
    rows: list[Any] = field(default_factory=list)
    error: str | None = None
    properties: dict[str, object] = field(default_factory=dict)


@dataclass
class Block:
    name: str
    steps: list[Step] = field(default_factory=list)


def blocks() -> list[Block]:
    found: list[Block] = []
    properties: dict[str, object] = {}
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), 1):
        kind, _, rest = line.partition(" ")
        if not line or kind == "#":
            continue
        if kind == "==":
            found.append(Block(rest))
            properties = {}
            continue
        steps = found[-1].steps
        if kind == "?":
            steps.append(Step(number, rest, True, properties=dict(properties)))
        elif kind == "~":
            steps[-1].access = rest
        elif kind == "=":
            steps[-1].rows.append(json.loads(rest, parse_float=Decimal))
        elif kind == "!":
            steps[-1].error = rest
        elif kind == "set":
            name, _, value = rest.partition(" = ")
            properties[name] = value
        else:
            steps.append(Step(number, line, False))
    return found


def plain(value: Any) -> Any:
    """Numbers by their value, so that 2 and 2.0 of a DOUBLE are the same."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float | Decimal):
        return float(value)
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def in_order(rows: list[Any], sql: str) -> list[Any]:
    given = plain(rows)
    return given if "ORDER BY" in sql else sorted(given, key=repr)


def answer(engine: Engine, sql: str, properties: dict[str, object]) -> tuple[PullQuery, list[Any]]:
    query = engine.query(sql, properties)
    assert isinstance(query, PullQuery)
    rows = [row for row in query.rows() if row is not None]
    query.close()
    return query, rows


@pytest.mark.parametrize("number", range(len(blocks())), ids=[re.sub(r"\W+", "-", b.name) for b in blocks()])
def test_answers(engine: Engine, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    block = blocks()[number]
    suffix = f"_{number}"
    accesses: list[str] = []
    of_table, of_stream = Pulled.of_table, Pulled.of_stream
    for name, real in (("of_table", of_table), ("of_stream", of_stream), ("of_history", Pulled.of_history)):

        def noted(self: Pulled, asked: Any, *more: Any, real: Any = real) -> Any:
            accesses.append(asked.read.access)
            return real(self, asked, *more)

        monkeypatch.setattr(Pulled, name, noted)
    settled = False  # all that the statements before a question write is there
    for step in block.steps:
        sql, where = step.text.replace("{n}", suffix), f"{FILE.name}:{step.line}"
        if not step.question:
            engine.execute(sql, EARLIEST)
            settled = False
            continue
        if not settled:
            served = Served(engine, suffix.upper(), where, PACE)
            served.wait_until_live()
            served.settle()
            settled = True
        if step.error is not None:
            with pytest.raises(KsqlError) as refused:
                answer(engine, sql, step.properties)
            assert refused.value.code == step.error, f"{where}: {refused.value}"
            assert engine.look_up(sql, step.properties) is None, where
            continue
        wanted = in_order(step.rows, sql)
        _, rows = answer(engine, sql, step.properties)
        assert in_order(rows, sql) == wanted, where
        assert accesses[-1] == step.access, where
        at_once = engine.look_up(sql, step.properties)
        if at_once is not None:
            assert in_order(at_once[1], sql) == wanted, f"{where}, at once"
        with monkeypatch.context() as patch:
            patch.setattr(Pulled, "_plainly", lambda self, asked, constants: None)
            _, rows = answer(engine, sql, step.properties)
        assert in_order(rows, sql) == wanted, f"{where}, by Spark"
    for query in [q.id for q in engine.catalog.queries.values() if q.sink.endswith(suffix.upper())]:
        engine.execute(f"TERMINATE {query};")


def test_a_lookup_whose_shape_is_known_is_answered_at_once(engine: Engine) -> None:
    engine.execute(
        "CREATE TABLE known (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='known', FORMAT='JSON', PARTITIONS=1);"
        "INSERT INTO known VALUES (1, 'a'); INSERT INTO known VALUES (2, 'b');"
    )
    ask = "SELECT v, id FROM known WHERE id = {};"
    assert engine.look_up(ask.format(1)) is None  # nothing is copied yet
    assert answer(engine, ask.format(1), {})[1] == [["a", 1]]
    for key, rows in ((1, [["a", 1]]), (2, [["b", 2]]), (3, [])):
        found = engine.look_up(ask.format(key))
        assert found is not None and found[1] == rows
        assert [(c.name, c.key) for c in found[0]] == [("V", False), ("ID", True)]
    assert engine.look_up("SELECT * FROM known WHERE id = 99999999999;") is None  # too large for an INT
    assert engine.look_up("SELECT id + 1 FROM known WHERE id = 1;") is None
    assert engine.look_up("SELECT * FROM known WHERE id = 1 LIMIT 1;") is None
    for odd in ("'", "#", "\0", "\1", "1 OR id = " * 300 + "1"):
        assert engine.look_up(ask.format(odd)) is None
    assert engine.look_up(ask.format(1), {"a": {"b": [1]}}) is None  # no property, and no failure either
    engine.execute("DROP TABLE known;")
    assert engine.look_up(ask.format(1)) is None


def test_a_copy_goes_on_where_it_was_and_is_made_again_when_it_is_torn(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = Config.of(
        {
            "bootstrap.servers": broker.bootstrap,
            "ksql.service.id": "kept_",
            "ksqlpy.data.dir": str(tmp_path),
            "ksqlpy.warm.up": "false",
        }
    )
    ask = "SELECT v FROM kept WHERE id = 1;"
    first = Engine(config)
    first.start()
    try:
        first.execute(
            "CREATE TABLE kept (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='kept', FORMAT='JSON', PARTITIONS=1);"
            "INSERT INTO kept VALUES (1, 'a');"
        )
        assert answer(first, ask, {})[1] == [["a"]]
        first.execute("INSERT INTO kept VALUES (1, 'b');")
    finally:
        first.stop()
    [folder] = (tmp_path / "tables").iterdir()
    second = Engine(config)
    second.start()
    try:
        assert answer(second, ask, {})[1] == [["b"]]
        assert "is recreated from its topic" not in caplog.text
    finally:
        second.stop()
    for file in folder.glob("*.sst"):
        file.write_bytes(b"torn")
    for file in folder.glob("MANIFEST*"):
        file.write_bytes(b"torn")
    third = Engine(config)
    third.start()
    try:
        assert answer(third, ask, {})[1] == [["b"]]
        assert "is recreated from its topic" in caplog.text
    finally:
        third.stop()


def test_a_table_that_is_dropped_while_it_is_read(engine: Engine) -> None:
    engine.execute(
        "CREATE TABLE going (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='going', FORMAT='JSON', PARTITIONS=1);"
        "INSERT INTO going VALUES (1, 'a'); INSERT INTO going VALUES (2, 'b');"
    )
    query = engine.query("SELECT v FROM going;")
    rows = query.rows()
    assert next(rows) in (["a"], ["b"])
    late = engine.query("SELECT v FROM going WHERE id = 2;")
    engine.execute("DROP TABLE going DELETE TOPIC;")
    engine.execute(
        "CREATE TABLE other (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='other', FORMAT='JSON', PARTITIONS=1);"
    )
    assert answer(engine, "SELECT * FROM other;", {})[1] == []  # what is read next removes the copy
    assert len(list(rows)) == 1  # as they were at the beginning
    with pytest.raises(EngineProblem) as gone:
        list(late.rows())
    assert gone.value.code == "copy-failed" and "dropped" in gone.value.message
    with pytest.raises(KsqlError):
        engine.query("SELECT v FROM going;")


def test_a_table_that_is_created_again_over_a_new_topic(engine: Engine) -> None:
    for value in ("old", "new"):
        engine.execute(
            "CREATE TABLE again (id INT PRIMARY KEY, v STRING) WITH (KAFKA_TOPIC='again', FORMAT='JSON', PARTITIONS=1);"
            f"INSERT INTO again VALUES (1, '{value}');"
        )
        for sql in ("SELECT v FROM again WHERE id = 1;", "SELECT v FROM again;"):
            assert answer(engine, sql, {})[1] == [[value]]
        engine.execute("DROP TABLE again DELETE TOPIC;")


WAITS = {"ksqlpy.pull.wait.ms": "30000"}
RARE = {"commit.interval.ms": "3600000"}


def test_a_pull_query_that_waits_sees_what_was_written_before_it_was_asked(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM paid (id STRING KEY, who STRING, cents INT)"
        " WITH (KAFKA_TOPIC='paid', FORMAT='JSON', PARTITIONS=2);"
        "CREATE STREAM paid_much WITH (PARTITIONS=3) AS SELECT * FROM paid WHERE cents > 100 PARTITION BY who;"
        "CREATE TABLE totals AS SELECT who, SUM(cents) AS cents FROM paid_much GROUP BY who;",
        EARLIEST,
    )
    ask = "SELECT cents FROM totals WHERE who = 'an';"
    total = 0
    for n in range(1, 16):
        total += 100 + n
        engine.execute(f"INSERT INTO paid VALUES ('a{n}', 'an', {100 + n}); INSERT INTO paid VALUES ('b{n}', 'an', 5);")
        assert answer(engine, ask, WAITS)[1] == [[total]]
        assert engine.look_up(ask, WAITS) is None
    assert len(answer(engine, "SELECT * FROM paid_much;", WAITS)[1]) == 15
    [query] = [q for q in engine.catalog.queries.values() if q.sink == "PAID_MUCH"]
    engine.execute(f"PAUSE {query.id};")
    with pytest.raises(EngineProblem) as paused:
        answer(engine, ask, WAITS)
    assert paused.value.code == "inputs-ahead" and query.id in str(paused.value)
    assert answer(engine, ask, {})[1] == [[total]]


def test_a_pull_query_says_what_its_queries_have_still_to_read(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM come (id STRING KEY, v INT) WITH (KAFKA_TOPIC='come', FORMAT='JSON', PARTITIONS=2);"
        "INSERT INTO come VALUES ('a', 1); INSERT INTO come VALUES ('b', 2); INSERT INTO come VALUES ('c', 3);"
    )
    engine.execute("CREATE STREAM came AS SELECT * FROM come WHERE v > 0;", {**EARLIEST, "commit.interval.ms": "1000"})
    engine.execute("CREATE TABLE summed AS SELECT id, SUM(v) AS v FROM came GROUP BY id;", EARLIEST)
    first, second = (next(q.id for q in engine.catalog.queries.values() if q.sink == s) for s in ("CAME", "SUMMED"))
    asks = ("SELECT * FROM summed;", "SELECT v FROM summed WHERE id = 'a';", "SELECT COUNT(*) AS n FROM summed;")

    def behind(ask: str) -> dict[str, int | None]:
        query = engine.query(ask)
        query.close()
        return dict(query.behind)

    assert until(lambda: len(answer(engine, asks[0], {})[1]) == 3)
    assert until(lambda: [behind(ask) for ask in asks] == [{}, {}, {}])
    assert behind("SELECT * FROM come;") == {}
    found = engine.look_up(asks[1])
    assert found is not None and found[1:] == ([[1]], {})
    query = engine.queries.get(first)
    assert query is not None

    def committed() -> int:
        last = query.checkpoint.last_commit
        return 0 if last is None else sum(query.checkpoint.offsets(last)["come"].values())

    assert until(lambda: committed() == 3)
    engine.execute(f"PAUSE {first};")
    engine.execute("INSERT INTO come VALUES ('a', 4); INSERT INTO come VALUES ('d', 5);")
    assert until(lambda: [behind(ask) for ask in asks] == [{first: 2}] * 3), [behind(ask) for ask in asks]
    assert behind("SELECT * FROM came;") == {first: 2}
    found = engine.look_up(asks[1])
    assert found is not None and found[1:] == ([[1]], {first: 2})
    engine.execute("CREATE TABLE late AS SELECT id, SUM(v) AS v FROM came GROUP BY id;", {**EARLIEST, **RARE})
    third = next(q.id for q in engine.catalog.queries.values() if q.sink == "LATE")
    engine.execute(f"PAUSE {third};")
    assert until(lambda: behind("SELECT * FROM late;") == {first: 2, third: None})
    engine.execute(f"RESUME {first};")
    assert until(lambda: [behind(ask) for ask in asks] == [{}, {}, {}])
    assert until(lambda: answer(engine, asks[1], {})[1] == [[5]])  # what is read may be on its way still
    engine.execute(f"TERMINATE {third}; TERMINATE {second}; TERMINATE {first};")


def test_rows_go_with_the_records_that_the_topic_deletes(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.tables.copy._FORGET_SECONDS", 0.1)
    engine.kafka.create_topic("fading", 1, None, {"cleanup.policy": "compact,delete"})
    engine.execute(
        "CREATE TABLE fading (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='fading', FORMAT='JSON', PARTITIONS=1);"
        + "".join(f"INSERT INTO fading VALUES ({i}, {i});" for i in range(5))
    )
    assert len(answer(engine, "SELECT * FROM fading;", {})[1]) == 5
    admin = AdminClient(engine.connection.admin({}))
    [deleted] = admin.delete_records([TopicPartition("fading", 0, 3)]).values()
    assert deleted.result(30).low_watermark == 3
    assert until(lambda: sorted(answer(engine, "SELECT id FROM fading;", {})[1]) == [[3], [4]])


def test_a_run_over_the_history_ends_when_nobody_wants_its_rows(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM long_ago (id INT KEY, v INT) WITH (KAFKA_TOPIC='long_ago', FORMAT='JSON', PARTITIONS=1);"
        "INSERT INTO long_ago VALUES (1, 1);"
    )
    query = engine.query("SELECT v, COUNT(*) AS n FROM long_ago GROUP BY v;")
    assert isinstance(query, PullQuery)
    query.close()
    assert list(query.rows()) == []
    query = engine.query("SELECT v, COUNT(*) AS n FROM long_ago GROUP BY v;")
    closing = threading.Timer(0.2, query.close)
    closing.start()
    assert len(list(query.rows())) <= 1  # ended, in whatever it was then
    closing.join()
