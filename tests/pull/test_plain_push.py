"""Push queries of columns of one source: without a query of Spark, shared, resumed, limited."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from ksqlpy.errors import ConfigProblem, EngineProblem
from ksqlpy.reading import Gone, Token
from ksqlpy.reading.batch import Batch
from ksqlpy.runtime import Engine
from ksqlpy.runtime.plainpush import OwnPush, SharedPush
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
TOKENS = {"ksql.query.push.v2.continuation.tokens.enabled": "true"}


def stream(engine: Engine, name: str, *values: int) -> None:
    engine.execute(
        f"CREATE STREAM {name} (k STRING KEY, v INT) WITH (KAFKA_TOPIC='{name}', FORMAT='JSON', PARTITIONS=1);"
    )
    add(engine, name, *values)


def add(engine: Engine, name: str, *values: int) -> None:
    engine.execute("".join(f"INSERT INTO {name} VALUES ('k{v}', {v});" for v in values) or "SHOW STREAMS;")


def read(rows: Any, count: int) -> list[Any]:
    """So many rows of a query, waited for."""
    found: list[Any] = []
    for row in rows:
        if row is not None:
            found.append(row)
        if len(found) == count:
            break
    return found


def test_columns_with_a_plain_condition_need_no_query_of_spark(engine: Engine) -> None:
    stream(engine, "first", 1, 5, 9)
    query = engine.query("SELECT v, k, ROWOFFSET FROM first WHERE v > 2 EMIT CHANGES LIMIT 2;", EARLIEST)
    assert isinstance(query, OwnPush)
    assert query.id not in engine.queries.all()
    assert [r for r in query.rows() if r is not None] == [[5, "k5", 1], [9, "k9", 2]]
    assert query.limit_reached


def test_the_same_text_from_now_on_shares_a_reader(engine: Engine) -> None:
    stream(engine, "shared", 1)
    sql = "SELECT v FROM shared EMIT CHANGES;"
    queries = [engine.query(sql) for _ in range(3)]
    other = engine.query("SELECT k FROM shared EMIT CHANGES;")
    assert all(isinstance(q, SharedPush) for q in (*queries, other))
    feeds = [q._feed for q in (*queries, other) if isinstance(q, SharedPush)]
    assert feeds[0] is feeds[1] is feeds[2] is not feeds[3]
    add(engine, "shared", 2, 3)
    for query in queries:
        assert read(query.rows(), 2) == [[2], [3]]
    assert read(other.rows(), 2) == [["k2"], ["k3"]]
    queries[0].close()
    late = engine.query(sql)
    add(engine, "shared", 4)
    assert read(queries[1].rows(), 1) == [[4]]
    assert read(late.rows(), 1) == [[4]]
    for query in (*queries, other, late):
        query.close()
    assert until(lambda: all(f._over for f in feeds))


def test_rows_that_may_linger_are_read_together(engine: Engine) -> None:
    stream(engine, "lingering")
    sql, linger = "SELECT v FROM lingering EMIT CHANGES;", {"ksqlpy.query.push.linger.ms": "500"}
    query, other, at_once = engine.query(sql, linger), engine.query(sql, linger), engine.query(sql)
    feeds = [q._feed for q in (query, other, at_once) if isinstance(q, SharedPush)]
    assert feeds[0] is feeds[1] is not feeds[2]
    assert (query.lingers, at_once.lingers) == (True, False)
    batches: list[list[Any]] = []
    assert query.subscribe(lambda batch: batches.append(list(batch.rows)), lambda e: None, lambda: None)
    numbers = list(range(200))
    add(engine, "lingering", *numbers)
    assert read(at_once.rows(), len(numbers)) == [[n] for n in numbers]
    assert until(lambda: sum(map(len, batches)) == len(numbers))
    assert [row for batch in batches for row in batch] == [[n] for n in numbers]
    assert len(batches) < 50  # the inserts take a second or so; each of them is a batch otherwise
    for opened in (query, other, at_once):
        opened.close()
    late = engine.query(sql.replace(";", " LIMIT 1;"), linger | EARLIEST)
    assert isinstance(late, OwnPush) and late.lingers
    assert [r for r in late.rows() if r is not None] == [[0]]
    counted = engine.query("SELECT COUNT(*) AS n FROM lingering EMIT CHANGES LIMIT 1;", linger | EARLIEST)
    assert counted.lingers and len(read(counted.rows(), 1)) == 1
    counted.close()
    printed = engine.query("PRINT lingering FROM BEGINNING LIMIT 2;", linger)
    assert printed.lingers and len([line for line in printed.rows() if line and "rowtime" in line]) == 2
    with pytest.raises(ConfigProblem) as refused:
        engine.query(sql, {"ksqlpy.query.push.linger.ms": "1001"})
    assert refused.value.code == "invalid-property"


def test_who_subscribes_gets_the_rows_that_came_before(engine: Engine) -> None:
    stream(engine, "subscribed")
    query = engine.query("SELECT v FROM subscribed EMIT CHANGES;")
    add(engine, "subscribed", 1, 2)
    time.sleep(1)
    taken: list[Any] = []
    enough = threading.Event()

    def take(batch: Batch) -> None:
        taken.extend(batch.rows)
        if len(taken) == 3:
            enough.set()

    ended = threading.Event()
    assert query.subscribe(take, lambda e: None, ended.set)
    add(engine, "subscribed", 3)
    assert enough.wait(20)
    assert taken == [[1], [2], [3]]
    assert not ended.is_set()
    assert engine.close_query(query.id)
    assert ended.wait(20)


def test_a_token_goes_on_where_the_query_was(engine: Engine) -> None:
    stream(engine, "resumed", 1, 2)
    sql = "SELECT v FROM resumed EMIT CHANGES;"
    query = engine.query(sql, EARLIEST | TOKENS)
    seen: list[Any] = []
    for row in query.rows():
        if row is not None:
            seen.append(row)
        if isinstance(row, Token) and len(seen) >= 3:
            break
    query.close()
    assert [r for r in seen if not isinstance(r, Token)] == [[1], [2]]
    token = seen[-1].text
    add(engine, "resumed", 3)
    again = engine.query(sql, TOKENS, token=token)
    assert read(again.rows(), 1) == [[3]]
    again.close()
    with pytest.raises(ConfigProblem) as refused:
        engine.query(sql, TOKENS, token="abc")
    assert refused.value.code == "bad-token"
    with pytest.raises(ConfigProblem) as refused:
        engine.query("SELECT v + 1 FROM resumed EMIT CHANGES;", TOKENS, token=token)
    assert refused.value.code == "bad-token"


def test_a_deleted_row_of_a_table_is_a_row_that_is_gone(engine: Engine) -> None:
    engine.execute(
        "CREATE TABLE users (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='users', FORMAT='JSON', PARTITIONS=1);"
        "INSERT INTO users VALUES (1, 'Ann'); DELETE FROM users WHERE id = 1; INSERT INTO users VALUES (2, 'Bob');"
    )
    query = engine.query("SELECT * FROM users EMIT CHANGES LIMIT 3;", EARLIEST)
    assert [r for r in query.rows() if r is not None] == [[1, "Ann"], Gone([1, None]), [2, "Bob"]]


def test_no_more_push_queries_than_are_allowed(engine: Engine) -> None:
    stream(engine, "limited")
    sql = "SELECT v FROM limited EMIT CHANGES;"
    open_ones = []
    with pytest.raises(EngineProblem) as refused:
        for _ in range(25):
            open_ones.append(engine.query(sql))
    assert (refused.value.code, refused.value.error_code) == ("too-many-queries", 40003)
    for query in open_ones:
        query.close()
    assert until(lambda: not engine.open_push_queries)
    engine.query(sql).close()
