"""An embedded session over an engine that is none: what is around the engine begins and ends clean."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.errors import EngineProblem, KsqlError, RowProblem
from ksqlpy.session import embedded
from ksqlpy.session.embedded import Engine
from ksqlpy.session.session import Session
from ksqlpy.spark import session as spark_session
from tests.session.test_misuse import LIVE, held
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """A process in the background of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    made = FakeEngine()
    monkeypatch.setattr(embedded, "_started", lambda given, progress: made)
    return made


@pytest.fixture
def session(fake: FakeEngine) -> Iterator[Engine]:
    with Engine() as session:
        yield session
    assert fake.stopped


def test_rows_answers_and_inserts(session: Engine, fake: FakeEngine) -> None:
    assert session.sql("SHOW STREAMS;")[0].kind == "streams"
    assert session.query("SELECT * FROM known LIMIT 2").fetchall() == [(0, "row 0"), (1, "row 1")]
    assert [r.id for r in session.query("SELECT * FROM rows EMIT CHANGES LIMIT 30000")] == list(range(30_000))
    assert session.insert("s", ({"id": n} for n in range(5_000))) == 5_000
    assert [r["id"] for r in fake.inserts[-1].rows] == list(range(5_000))  # type: ignore[index]  # rows are objects there
    with pytest.raises(RowProblem, match="row 2 is not inserted") as refused:
        session.insert("s", [{"id": 1}, {"bad": 1}])
    assert refused.value.inserted == 1
    with pytest.raises(KsqlError, match="PRINT"):
        session.query("PRINT rows LIMIT 1;")
    assert not fake.pushes


def test_a_second_engine_is_refused_until_the_first_is_closed(session: Engine) -> None:
    with pytest.raises(KsqlError) as refused:
        Engine()
    assert refused.value.code == "engine-open"
    session.close()
    Engine().close()


def test_a_start_that_fails_leaves_the_place_free(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(given: Any, progress: Any) -> FakeEngine:
        raise EngineProblem("no-start", "the engine does not start")

    with monkeypatch.context() as patch:
        patch.setattr(embedded, "_started", fail)
        for _ in range(2):
            with pytest.raises(KsqlError) as failed:
                Engine()
            assert failed.value.code == "no-start"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_that_was_forked_has_no_engine(session: Engine) -> None:
    child = os.fork()
    if child == 0:
        told = 0
        for use in (lambda: session.sql("SHOW STREAMS;"), Engine):
            try:
                use()
            except KsqlError as e:
                told += e.code == "session-forked"
        os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert session.sql("SHOW STREAMS;")


def interrupt() -> None:
    """What Ctrl-C is for Python."""
    ident = threading.main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGINT)


def test_a_start_that_is_interrupted_at_its_end(fake: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(session: Session, *given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Session, "__init__", interrupted)
        Engine()
    assert fake.stopped
    Engine().close()


def calls() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name == "session call"]


def test_an_interrupted_statement_is_done_all_the_same(session: Engine, fake: FakeEngine) -> None:
    threading.Timer(0.3, interrupt).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.sql("SLOW;")
    assert time.monotonic() - begun < 1 or calls() == []
    assert until(lambda: not calls())
    assert session.sql("SHOW STREAMS;")[0].kind == "streams"


def test_who_is_interrupted_waits_for_nothing_any_more(session: Engine, fake: FakeEngine) -> None:
    def interrupt_soon() -> None:
        assert fake.waiting.acquire(timeout=60)
        interrupt()

    threading.Thread(target=interrupt_soon).start()
    with pytest.raises(KeyboardInterrupt):
        session.sql("WAIT;")  # for an hour
    assert until(lambda: not calls())


def test_what_an_interrupted_query_opens_is_closed(
    session: Engine, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, opened = fake.query, threading.Event()

    def slow(*given: Any) -> Any:
        opened.wait(60)
        return usual(*given)

    monkeypatch.setattr(fake, "query", slow)
    threading.Timer(0.3, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        session.query(LIVE)
    opened.set()
    assert until(lambda: fake.count == 1 and not fake.pushes)


def test_an_interrupted_end_is_an_end(fake: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    session, usual = Engine(), fake.stop

    def slow() -> None:
        interrupt()
        time.sleep(1)
        usual()

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(fake, "stop", slow)
        session.close()
    assert fake.stopped
    Engine().close()


def test_an_end_that_is_interrupted_ahead_of_its_work(fake: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Engine()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(session._transport, "close", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        session.close()
    assert session.closed and not fake.stopped
    session.close()
    assert fake.stopped


def test_nothing_is_left_of_engines(fake: FakeEngine) -> None:
    def open_and_close() -> None:
        with Engine() as session:
            session.sql("SHOW STREAMS;")
            live = session.query(LIVE)
            assert len(session.query("SELECT * FROM rows EMIT CHANGES LIMIT 2").fetchall()) == 2
            assert live.fetchmany(0) == []
            session.insert("s", [{"id": 1}])

    open_and_close()
    before = held()
    for _ in range(200):
        open_and_close()
    assert until(lambda: all(now <= then for now, then in zip(held(), before, strict=True))), (before, held())
    assert not fake.pushes


def test_a_spark_session_of_somebody_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spark_session, "has_session", lambda: True)
    monkeypatch.setattr(spark_session, "_work", None)
    with pytest.raises(KsqlError) as refused:
        spark_session.start_session("local[1]", "1g", tmp_path)
    assert refused.value.code == "spark-in-process"


@pytest.mark.parametrize("begins", [True, False])
def test_an_end_that_is_interrupted_at_its_begin(
    fake: FakeEngine, monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    session, usual = Engine(), threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if begins:
            usual(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(threading.Thread, "start", start)
        session.close()
    assert fake.stopped
    Engine().close()
