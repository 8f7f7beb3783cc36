"""Subscriptions over REST, at an engine that is none: what is called, acknowledged and written, and how it ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.session.pauses import Pauses
from ksqlpy.session.remote import aconnect
from ksqlpy.session.rows import Row
from ksqlpy.session.session import Session
from ksqlpy.session.subscribed import Source
from ksqlpy.session.subscriptions import Subscription
from ksqlpy.testing.memory import MemoryEngine
from tests.support.fake_engine import FakeEngine, FakePush
from tests.support.waiting import until

LIVE = "SELECT * FROM live EMIT CHANGES"


def push_of(engine: FakeEngine) -> FakePush:
    assert until(lambda: len(engine.pushes) == 1)
    return next(iter(engine.pushes.values()))


def give(engine: FakeEngine, *numbers: int) -> None:
    for n in numbers:
        push_of(engine).source.put([n, f"row {n}"])


def acknowledged(engine: FakeEngine) -> int:
    return max((rows for _, rows, _, _ in engine.acknowledged), default=0)


def written(engine: FakeEngine) -> list[bytes]:
    return [line for *_, lines in engine.acknowledged for line in lines]


def test_a_function_is_called_for_each_row(session: Session, engine: FakeEngine) -> None:
    seen: list[Row] = []
    returns = threading.Semaphore(0)

    @session.subscribe(LIVE, name="watch", properties={"x": 1})
    def watch(row: Any) -> None:
        seen.append(row)
        assert returns.acquire(timeout=60)

    assert engine.calls[-1] == (f"{LIVE};", {"x": 1, "ksqlpy.subscription": "watch"})
    give(engine, 1, 2, 3)
    assert until(lambda: len(seen) == 1) and watch.acknowledged == 0
    for _ in range(3):
        returns.release()
    assert watch.wait(60, rows=3)
    assert ([r.id for r in seen], acknowledged(engine), written(engine)) == ([1, 2, 3], 3, [])
    assert not watch.wait(0.0) and watch.running
    watch.stop()
    watch.stop()
    assert watch.wait(0.0) and not watch.running
    assert repr(watch) == "<ksqlpy.Subscription watch (stopped)>"
    assert until(lambda: not engine.pushes)


def test_what_a_function_gives_is_written_with_the_acknowledgement(session: Session, engine: FakeEngine) -> None:
    @session.subscribe(LIVE, name="one", to="sink")
    def one(row: Any) -> Any:
        return {"id": row.id, "text": row.name} if row.id != 2 else None

    give(engine, 1, 2)
    assert one.wait(60, rows=2)
    one.stop()
    assert written(engine) == [b'{"id":1,"text":"row 1"}']
    assert {target for _, _, target, _ in engine.acknowledged} == {"sink"}
    engine.acknowledged.clear()

    @session.subscribe(LIVE, name="several", to="sink")
    def several(row: Any) -> Iterator[dict[str, int]]:
        for n in range(row.id):
            yield {"n": n}

    give(engine, 2, 0, 1)
    assert several.wait(60, rows=3)
    assert written(engine) == [b'{"n":0}', b'{"n":1}', b'{"n":0}']
    assert [*several(SimpleNamespace(id=1))] == [{"n": 0}]


def failing(session: Session, on_error: Any) -> tuple[Subscription, list[int]]:
    seen: list[int] = []

    @session.subscribe(LIVE, name="fails", to="sink", on_error=on_error)
    def fails(row: Any) -> dict[str, int]:
        seen.append(row.id)
        if row.id == 3:
            raise ValueError("no threes")
        return {"bad" if row.id == 5 else "id": row.id}

    return fails, seen


def test_an_exception_ends_it_ahead_of_the_row(
    session: Session, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    fails, seen = failing(session, "stop")
    give(engine, 1, 2, 3, 4)
    with pytest.raises(ValueError, match="no threes"):
        fails.wait(60)
    assert (seen, acknowledged(engine), fails.acknowledged, fails.skipped) == ([1, 2, 3], 2, 2, 0)
    assert "subscription fails has ended: no threes" in caplog.text
    assert repr(fails) == "<ksqlpy.Subscription fails (failed)>"
    assert until(lambda: not engine.pushes)


def test_a_row_that_the_sink_refuses_ends_it_too(session: Session, engine: FakeEngine) -> None:
    fails, _ = failing(session, "stop")
    give(engine, 1, 2, 5, 6)
    with pytest.raises(KsqlError, match="there is no column bad"):
        fails.wait(60)
    assert (acknowledged(engine), written(engine)) == (2, [b'{"id":1}', b'{"id":2}'])


def test_rows_with_exceptions_are_skipped(
    session: Session, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    fails, seen = failing(session, "skip")
    give(engine, 1, 2, 3, 4, 5, 6)
    assert fails.wait(60, rows=6)
    assert (seen, acknowledged(engine), fails.skipped) == ([1, 2, 3, 4, 5, 6], 6, 2)
    assert written(engine) == [b'{"id":%d}' % n for n in (1, 2, 4, 6)]
    assert "no threes" in caplog.text and "there is no column bad" in caplog.text
    fails.stop()


def test_rows_come_again_until_the_function_returns(
    session: Session, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[int] = []

    @session.subscribe(LIVE, name="retries", to="sink", on_error="retry")
    def retries(row: Any) -> dict[str, int]:
        seen.append(row.id)
        if row.id == 2 and seen.count(2) < 3:
            raise ConnectionError("no database")
        return {"bad" if row.id == 4 and seen.count(4) < 2 else "id": row.id}

    give(engine, 1, 2, 3, 4, 5)
    assert retries.wait(60, rows=5)
    retries.stop()
    assert [seen.count(n) for n in (1, 2, 4)] == [1, 3, 2]
    assert (acknowledged(engine), retries.skipped) == (5, 0)
    assert written(engine) == [b'{"id":%d}' % n for n in (1, 2, 3, 4, 5)]
    assert "no database" in caplog.text and "there is no column bad" in caplog.text


def test_one_that_fails_for_ever_can_be_stopped(session: Session, engine: FakeEngine) -> None:
    called = threading.Event()

    @session.subscribe(LIVE, name="hopeless", on_error="retry")
    def hopeless(row: Any) -> None:
        called.set()
        raise ValueError("never")

    give(engine, 1, 2)
    assert called.wait(60)
    hopeless.stop()
    assert hopeless.wait(0.0) and (hopeless.acknowledged, acknowledged(engine)) == (0, 0)


class Clock(threading.Event):
    """Notes for how long it is waited for, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        return self.is_set()


def test_each_pause_is_longer_up_to_a_bound() -> None:
    clock, pauses = Clock(), Pauses()
    assert all(pauses.wait(clock) for _ in range(8))
    assert clock.waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    pauses.reset()
    clock.set()
    assert not pauses.wait(clock) and clock.waits[-1] == 0.1


def test_a_server_that_fails_again_and_again_is_asked_less_often() -> None:
    away = EngineProblem("connection-lost", "away")
    clock, opened = Clock(), []

    class Way:
        closed = False

        def run(self, sql: str, properties: Any, variables: Any) -> Any: ...

        def open(self, sql: str, properties: Any, variables: Any) -> Any:
            opened.append(sql)
            if len(opened) in (2, 3):
                raise away
            return FakeOpened()

        def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Any) -> None: ...

    source, pauses = Source(Way(), LIVE, "s", {}, {}), Pauses()
    for _ in range(3):  # it is opened, and fails again before a row is done
        assert source.again(clock, pauses)
    assert clock.waits == [0.1, 0.2, 0.4, 0.8, 1.6]
    clock.set()
    assert not source.again(clock, pauses) and len(opened) == 6


def test_it_goes_on_when_the_server_has_ended_its_query(session: Session, engine: FakeEngine) -> None:
    seen: list[int] = []

    @session.subscribe(LIVE, name="again")
    def again(row: Any) -> None:
        seen.append(row.id)

    first = push_of(engine)
    give(engine, 1)
    assert again.wait(60, rows=1)
    first.close()
    assert until(lambda: len(engine.calls) == 2)
    assert engine.calls[0] == engine.calls[1]
    give(engine, 2)
    assert again.wait(60, rows=2)
    assert (seen, [rows for _, rows, *_ in engine.acknowledged]) == ([1, 2], [1, 1])


def test_another_client_has_taken_it(session: Session, engine: FakeEngine) -> None:
    @session.subscribe(LIVE, name="mine", to="taken")
    def mine(row: Any) -> dict[str, int]:
        return {"id": row.id}

    give(engine, 1)
    with pytest.raises(KsqlError) as refused:
        mine.wait(60)
    assert refused.value.code == "subscription-taken"


def test_what_is_no_subscription(session: Session) -> None:
    for name, on_error in (("", "stop"), ("a b", "stop"), ("x" * 101, "stop"), ("fine", "ignore")):
        with pytest.raises(KsqlError) as refused:
            session.subscribe(LIVE, name=name, on_error=on_error)  # type: ignore[arg-type]  # that is the point
        assert refused.value.code == "bad-subscription"
    with pytest.raises(KsqlError) as refused:
        session.subscribe("SELECT", name="fine")
    assert refused.value.code == "no-query"


def test_a_session_that_is_closed_ends_behind_the_row(session: Session, engine: FakeEngine) -> None:
    begun, ended = threading.Event(), threading.Event()

    @session.subscribe(LIVE, name="slow")
    def slow(row: Any) -> None:
        begun.set()
        time.sleep(0.5)
        ended.set()

    give(engine, 1, 2)
    assert begun.wait(60)
    session.close()
    assert ended.is_set() and not slow.running
    assert (acknowledged(engine), slow.acknowledged) == (1, 1)
    assert slow.wait()


def test_a_function_may_stop_it(session: Session, engine: FakeEngine) -> None:
    subscriptions: list[Subscription] = []

    @session.subscribe(LIVE, name="once")
    def once(row: Any) -> None:
        until(lambda: bool(subscriptions))
        subscriptions[0].stop()

    subscriptions.append(once)
    give(engine, 1, 2)
    assert once.wait(60)
    assert once.acknowledged == 1


def test_coroutines(url: str, engine: FakeEngine) -> None:
    async def program() -> None:
        async with aconnect(url) as session:
            seen: list[int] = []

            @session.subscribe(LIVE, name="awaits", to="sink")
            async def awaits(row: Any) -> dict[str, int]:
                await asyncio.sleep(0)
                seen.append(row.id)
                return {"id": row.id}

            await asyncio.to_thread(give, engine, 1, 2)
            assert await awaits.wait(60, rows=2)
            assert (seen, awaits.acknowledged, awaits.skipped, awaits.running) == ([1, 2], 2, 0, True)
            await awaits.stop()
            assert await awaits.wait() and not awaits.running
            assert await awaits(SimpleNamespace(id=7)) == {"id": 7}
            assert await asyncio.to_thread(until, lambda: not engine.pushes)

            @session.subscribe(LIVE, name="yields", to="sink")
            async def yields(row: Any) -> Any:
                for n in range(row.id):
                    yield {"n": n}

            await asyncio.to_thread(give, engine, 2)
            assert await yields.wait(60, rows=1)

            @session.subscribe(LIVE, name="fails")
            async def fails(row: Any) -> None:
                raise ValueError("no row")

            def all_given() -> None:
                until(lambda: len(engine.pushes) == 2)
                for push in engine.pushes.values():
                    push.source.put([1, ""])

            await asyncio.to_thread(all_given)
            with pytest.raises(ValueError, match="no row"):
                await fails.wait(60)

            @session.subscribe("SELECT", name="wrong")
            async def wrong(row: Any) -> None: ...

            with pytest.raises(KsqlError) as refused:
                await wrong.wait()
            assert refused.value.code == "no-query" and not wrong.running

    asyncio.run(program())
    assert written(engine)[:4] == [b'{"id":1}', b'{"id":2}', b'{"n":0}', b'{"n":1}']


def test_what_needs_a_query_of_its_own_makes_one_and_replaces_it_where_it_is_another() -> None:
    memory, ran = MemoryEngine(None), []  # type: ignore[arg-type]  # nothing is run
    memory.execute("CREATE STREAM s (id INT KEY, v STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);")

    class Way:
        closed = False

        def run(self, sql: str, properties: Any, variables: Any) -> Any:
            ran.append(sql.split(" `")[0])
            return memory.execute(sql, properties, variables)

        def open(self, sql: str, properties: Any, variables: Any) -> Any:
            if "SUBSCRIPTION" not in sql:
                raise EngineProblem("subscription-needs-query", "it does", error_code=40000)
            ran.append(sql)
            return FakeOpened()

        def acknowledge(self, query_id: str, rows: int, target: str | None, lines: Any) -> None: ...

    counts = "SELECT id, COUNT(*) AS n FROM s GROUP BY id;"
    filtered = "SELECT id, v FROM s WHERE id + 1 > 2 EMIT CHANGES"
    reading = "SELECT * FROM `SUBSCRIPTION_{}` EMIT CHANGES;"
    for name, sql, done in (
        ("a-b", counts, ["CREATE STREAM IF NOT EXISTS", "CREATE TABLE IF NOT EXISTS"]),
        ("a-b", counts, []),
        ("f", filtered, ["CREATE STREAM IF NOT EXISTS"]),
        ("f", f"{filtered} ;\n", []),
        ("f", filtered.replace("2", "3"), ["CREATE OR REPLACE STREAM"]),
        ("f", filtered.replace("2", "3"), []),
    ):
        ran.clear()
        Source(Way(), sql, name, {}, {})
        assert ran == ["DESCRIBE", *done, reading.format(name)]
    with pytest.raises(KsqlError) as refused:
        Source(Way(), counts, "f", {}, {})
    assert refused.value.code == "wrong-kind"
    with pytest.raises(KsqlError) as refused:
        Source(Way(), "SELECT nothing FROM s EMIT CHANGES", "g", {}, {})
    assert refused.value.code == "unknown-column"


class FakeOpened:
    """The rows of a query that gives none."""

    query_id = "q"
    columns = ()
    tell: Any = None

    def close(self) -> None: ...
