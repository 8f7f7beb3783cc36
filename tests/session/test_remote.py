"""A session with a server: what comes over HTTP, and how it ends."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from ksqlpy.errors import KsqlError, RowProblem
from ksqlpy.server.run import ServerThread
from ksqlpy.session.remote import connect
from ksqlpy.session.session import Session
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

LIVE = "SELECT * FROM live EMIT CHANGES"


def code(refused: pytest.ExceptionInfo[KsqlError]) -> str:
    return refused.value.code


def test_rows_of_a_lookup_and_of_a_push_query(session: Session) -> None:
    with session.query("SELECT * FROM known LIMIT 3") as result:
        assert [(r.id, r["name"]) for r in result] == [(n, f"row {n}") for n in range(3)]
        assert [str(c) for c in result.columns] == ["ID BIGINT", "name STRING"]
    assert session.query("SELECT * FROM known LIMIT 0;").fetchall() == []
    result = session.query("SELECT * FROM rows EMIT CHANGES LIMIT 5;")
    assert result.fetchone() == (0, "row 0")
    assert [r.id for r in result.fetchmany(2)] == [1, 2]
    assert [r.id for r in result.fetchall()] == [3, 4]
    assert (result.fetchone(), result.fetchmany(3), result.fetchall()) == (None, [], [])


def test_more_rows_than_are_read_ahead(session: Session) -> None:
    with session.query("SELECT * FROM rows EMIT CHANGES LIMIT 30000") as result:
        assert [r.id for r in result] == list(range(30_000))


def test_rows_that_nobody_takes_wait(session: Session, engine: FakeEngine) -> None:
    with session.query("SELECT * FROM wide EMIT CHANGES LIMIT 100000") as result:
        assert result.fetchone() is not None
        time.sleep(1)
        [push] = engine.pushes.values()
        assert push.taken < 30_000


def test_answers(session: Session) -> None:
    [streams] = session.sql("SHOW STREAMS;")
    assert (streams.kind, streams.statement, streams["streams"][0]["name"]) == ("streams", "SHOW STREAMS;", "S")
    assert streams.text.split()[:2] == ["Name", "Topic"]
    assert dict(streams)["@type"] == "streams" and streams.query_id is None and streams.warnings == []


def test_properties_and_variables_go_along(session: Session, engine: FakeEngine) -> None:
    session.properties["auto.offset.reset"] = "earliest"
    session.variables["a"] = "one"
    session.sql("SHOW STREAMS;", b=2, c=True)
    assert engine.calls[-1][1] == {"auto.offset.reset": "earliest"}
    assert engine.variables[-1] == {"a": "one", "b": "2", "c": "true"}
    session.query("SELECT * FROM rows EMIT CHANGES LIMIT 1;", properties={"x": 1}).close()
    assert engine.calls[-1][1] == {"auto.offset.reset": "earliest", "x": 1}
    session.sql("SET 'ksql.query.pull.stream.enabled' = 'false'; UNSET 'auto.offset.reset'; DEFINE a = 'two';")
    assert (session.properties, session.variables) == ({"ksql.query.pull.stream.enabled": "false"}, {"A": "two"})
    with pytest.raises(KsqlError) as refused:
        session.sql("SHOW STREAMS;", a=[1])
    assert code(refused) == "bad-variable"


def test_values_become_literals(session: Session, engine: FakeEngine) -> None:
    session.query("SELECT * FROM rows WHERE name = :name EMIT CHANGES LIMIT 1", name="O'Hara ${x}").close()
    assert engine.calls[-1][0] == "SELECT * FROM rows WHERE name = 'O''Hara ${x}' EMIT CHANGES LIMIT 1;"
    assert engine.variables[-1] == {}
    session.query("SELECT * FROM rows WHERE name = :text EMIT CHANGES LIMIT 1", text="x").close()
    assert engine.calls[-1][0] == "SELECT * FROM rows WHERE name = 'x' EMIT CHANGES LIMIT 1;"
    with pytest.raises(KsqlError) as refused:
        session.query("SELECT * FROM rows WHERE name = :name")
    assert code(refused) == "unbound-parameter"


def test_what_a_server_refuses(session: Session) -> None:
    with pytest.raises(KsqlError) as refused:
        session.sql("SHOW STREAMS;\nBAD thing;")
    assert code(refused) == "bad-thing" and [e["@type"] for e in refused.value.entities] == ["streams"]
    assert refused.value.span is not None and refused.value.span.start == 18
    with pytest.raises(KsqlError) as refused:
        session.query("PRINT rows LIMIT 1;")
    assert code(refused) == "not-a-query"


def test_a_query_that_fails_behind_some_rows(session: Session) -> None:
    result, rows = session.query("SELECT * FROM fails EMIT CHANGES"), []
    with pytest.raises(KsqlError) as failed:
        rows += [row.id for row in result]  # those before the failure count
    assert code(failed) == "query-failed"
    assert result.fetchall() == []


def test_inserted_rows(session: Session, engine: FakeEngine) -> None:
    assert session.insert("s", ({"id": n} for n in range(25_000))) == 25_000
    assert [i.target for i in engine.inserts] == ["s"] * 3
    assert session.insert("s", []) == 0


def test_a_row_that_is_refused(session: Session) -> None:
    with pytest.raises(RowProblem, match=r"row 2 is not inserted: .*; those before it are") as refused:
        session.insert("s", [{"id": 1}, {"id": 2, "bad": True}, {"id": 3}])
    assert refused.value.inserted == 1
    with pytest.raises(RowProblem) as later:
        session.insert("s", [{"id": n, **({"bad": 1} if n == 20_002 else {})} for n in range(20_010)])
    assert later.value.inserted == 20_002


def test_another_thread_closes_a_query(session: Session, engine: FakeEngine) -> None:
    result = session.query(LIVE)
    [push] = engine.pushes.values()
    push.source.put([7, "seven"])
    closing = threading.Timer(0.5, result.close)
    closing.start()
    assert [row.id for row in result] == [7]
    closing.join()
    assert until(lambda: push.closed.is_set())
    with pytest.raises(KsqlError) as refused:
        iter(result)
    assert code(refused) == "result-closed"


def test_the_end_of_a_session_ends_its_queries(url: str, engine: FakeEngine) -> None:
    session = connect(url)
    result = session.query(LIVE)
    session.close()
    session.close()
    assert until(lambda: not engine.pushes)
    for use in (
        lambda: session.sql("SHOW STREAMS;"),
        lambda: session.query(LIVE),
        lambda: session.insert("s", []),
        lambda: session.table("t"),
    ):
        with pytest.raises(KsqlError) as refused:
            use()
        assert code(refused) == "session-closed"
    with pytest.raises(KsqlError) as refused:
        result.fetchone()
    assert code(refused) == "result-closed"
    assert repr(session) == "<ksqlpy.Session (closed)>"


def test_an_exception_in_the_loop(session: Session, engine: FakeEngine) -> None:
    with pytest.raises(ZeroDivisionError), session.query("SELECT * FROM rows EMIT CHANGES LIMIT 100000") as result:
        for row in result:
            _ = 1 // (row.id - 3)
    assert until(lambda: not engine.pushes)


def test_no_server(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(KsqlError) as refused:
        connect(f"http://127.0.0.1:{port}")
    assert code(refused) == "server-unavailable"
    with pytest.raises(KsqlError) as refused:
        connect("nonsense")
    assert code(refused) == "bad-url"


def test_a_server_that_goes_away(engine: FakeEngine) -> None:
    with ServerThread(engine) as running:
        session = connect(running.url)
        result = session.query(LIVE)
    with session, pytest.raises(KsqlError) as lost:
        result.fetchall()
    assert code(lost) in ("server-stopping", "connection-lost")


def test_two_threads_share_a_result(session: Session) -> None:
    result, found = session.query("SELECT * FROM rows EMIT CHANGES LIMIT 20000"), []
    threads = [threading.Thread(target=lambda: found.extend(row.id for row in result)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(20_000))
