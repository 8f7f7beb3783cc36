"""The session for asyncio, with a server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.session.asynchronous import AsyncSession
from ksqlpy.session.remote import aconnect, connect
from ksqlpy.session.session import Session
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

LIVE = "SELECT * FROM live EMIT CHANGES"


def coroutine(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a test in a loop of its own."""

    @wraps(test)
    def run(**given: Any) -> None:
        asyncio.run(test(**given))

    return run


@coroutine
async def test_statements_rows_and_inserts(url: str) -> None:
    async with aconnect(url) as session:
        assert [a.kind for a in await session.sql("SHOW STREAMS;")] == ["streams"]
        async with await session.query("SELECT * FROM rows EMIT CHANGES LIMIT 30000") as rows:
            assert [str(c) for c in rows.columns] == ["ID BIGINT", "name STRING"]
            assert await rows.fetchone() == (0, "row 0")
            assert [r.id for r in await rows.fetchmany(2)] == [1, 2]
            assert [row.id async for row in rows] == list(range(3, 30_000))
            assert (await rows.fetchone(), await rows.fetchall()) == (None, [])
        assert await (await session.query("SELECT * FROM known LIMIT 2")).fetchall() == [(0, "row 0"), (1, "row 1")]
        assert await session.insert("s", [{"id": 1}]) == 1
        session.properties["auto.offset.reset"] = "earliest"
        with pytest.raises(KsqlError, match="There is no thing"):
            await session.sql("BAD;")
    assert session.closed
    with pytest.raises(KsqlError) as refused:
        await session.sql("SHOW STREAMS;")
    assert refused.value.code == "session-closed"


@coroutine
async def test_it_opens_where_it_is_awaited(url: str) -> None:
    session = aconnect(url)
    with pytest.raises(KsqlError, match="not open yet"):
        await session.sql("SHOW STREAMS;")
    assert await session is session
    assert await session is session
    await session.sql("SHOW STREAMS;")
    await session.close()
    await session.close()
    with pytest.raises(KsqlError) as refused:
        await aconnect("http://127.0.0.1:1")
    assert refused.value.code == "server-unavailable"


@coroutine
async def test_more_open_queries_than_threads(url: str, engine: FakeEngine) -> None:
    async with aconnect(url) as session:
        open_ = [await session.query(LIVE) for _ in range(50)]
        waiting = [asyncio.ensure_future(r.fetchone()) for r in open_]
        await asyncio.sleep(0.2)
        assert not any(w.done() for w in waiting)
        for push in list(engine.pushes.values()):
            push.source.put([7, push.id])
        assert sorted(row.name for row in await asyncio.gather(*waiting)) == sorted(r.query_id for r in open_)
    assert until(lambda: not engine.pushes)


@coroutine
async def test_two_tasks_that_open_it_have_one_session() -> None:
    opened: list[Any] = []

    class Opens:
        closed = False

        def __init__(self) -> None:
            opened.append(self)

        def close(self) -> None:
            self.closed = True

    def slowly() -> Any:
        return Opens()

    session = AsyncSession(slowly)
    await asyncio.gather(session, session, session)
    assert len(opened) == 1
    await session.close()
    assert opened[0].closed


@coroutine
async def test_one_that_is_closed_while_it_opens_stays_closed() -> None:
    go, sessions = threading.Event(), []

    class Opens:
        def __init__(self) -> None:
            self.closed = threading.Event()
            sessions.append(self)
            assert go.wait(60)

        def close(self) -> None:
            self.closed.set()

    session = AsyncSession(Opens)  # type: ignore[arg-type]  # what it needs of one
    opening = asyncio.ensure_future(session._open())
    while not sessions:
        await asyncio.sleep(0.01)
    await session.close()
    go.set()
    with pytest.raises(KsqlError) as refused:
        await opening
    assert refused.value.code == "session-closed" and session.closed
    assert await asyncio.to_thread(sessions[0].closed.wait, 60)
    with pytest.raises(KsqlError, match="the session is closed"):
        await session.sql("SHOW STREAMS;")


@coroutine
async def test_more_subscriptions_that_are_waited_for_than_threads(url: str, engine: FakeEngine) -> None:
    async with aconnect(url) as session:
        subscriptions = []
        for n in range(40):

            @session.subscribe(LIVE, name=f"s{n}")
            async def seen(row: Any) -> None: ...

            subscriptions.append(seen)
        waiting = [asyncio.ensure_future(s.wait(rows=1)) for s in subscriptions]
        while len(engine.pushes) < 40:
            await asyncio.sleep(0.01)
        assert [a.kind for a in await session.sql("SHOW STREAMS;")] == ["streams"]
        assert not await subscriptions[0].wait(0.05, rows=1)
        for push in list(engine.pushes.values()):
            push.source.put([1, "one"])
        assert all(await asyncio.gather(*waiting))


@coroutine
async def test_a_loop_that_is_cancelled(url: str, engine: FakeEngine) -> None:
    async def follow(session: AsyncSession) -> None:
        async with await session.query(LIVE) as rows:
            async for _ in rows:
                pass

    async with aconnect(url) as session:
        following = asyncio.ensure_future(follow(session))
        while not engine.pushes:
            await asyncio.sleep(0.01)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        assert await asyncio.to_thread(until, lambda: not engine.pushes, 10)
        assert [a.kind for a in await session.sql("SHOW STREAMS;")] == ["streams"]


@coroutine
async def test_another_task_closes_a_query(url: str) -> None:
    async with aconnect(url) as session:
        rows = await session.query(LIVE)
        asyncio.get_running_loop().call_later(0.3, lambda: asyncio.ensure_future(rows.close()))
        assert [row async for row in rows] == []
        with pytest.raises(KsqlError) as refused:
            await rows.fetchall()
        assert refused.value.code == "result-closed"


@coroutine
async def test_a_query_that_fails_behind_some_rows(url: str) -> None:
    async with aconnect(url) as session:
        rows, found = await session.query("SELECT * FROM fails EMIT CHANGES"), []
        with pytest.raises(KsqlError) as failed:
            async for row in rows:
                found.append(row.id)  # those before the failure count
        assert (found, failed.value.code) == ([0, 1, 2], "query-failed")


@coroutine
async def test_what_is_opened_for_nobody_is_closed(url: str) -> None:
    go, opened = threading.Event(), list[Session]()

    def slow() -> Session:
        go.wait(30)
        opened.append(connect(url))
        return opened[0]

    async def enter() -> None:
        async with AsyncSession(slow):
            pass

    entering = asyncio.ensure_future(enter())
    await asyncio.sleep(0.1)
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    go.set()
    assert await asyncio.to_thread(until, lambda: opened and opened[0].closed, 10)
