"""Threads for blocking calls: how many there are, what they give, and that nobody waits for their start."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from ksqlpy.server import workers
from ksqlpy.server.workers import Workers
from tests.support.waiting import until

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO")


def threads(name: str) -> int:
    return sum(t.name == name for t in threading.enumerate())


def test_a_result_an_error_and_the_callers_context() -> None:
    async def run() -> None:
        pool = Workers(2, "one")
        WHO.set("caller")
        assert await pool.run(lambda a, b: (a, b, WHO.get()), 1, 2) == (1, 2, "caller")
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 // 0)
        with pytest.raises(RuntimeError):
            await pool.run(lambda: next(iter(())))
        assert await pool.run(threading.get_ident) != threading.get_ident()

    asyncio.run(run())


def test_calls_beyond_the_number_of_threads_wait_in_order() -> None:
    async def run() -> None:
        pool, begun, go = Workers(3, "few"), list[int](), threading.Event()

        def call(number: int) -> int:
            begun.append(number)
            assert go.wait(30)
            return number

        calls = [asyncio.create_task(pool.run(call, n)) for n in range(8)]
        while len(begun) < 3:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert begun == [0, 1, 2]
        assert threads("few") == 3
        go.set()
        assert await asyncio.gather(*calls) == list(range(8))
        assert begun == list(range(8))
        assert threads("few") == 3

    asyncio.run(run())


def test_many_short_calls_need_few_threads_and_those_that_wait_get_more() -> None:
    async def run() -> None:
        pool, go = Workers(64, "many"), threading.Event()
        most = 0

        def short() -> None:
            nonlocal most
            most = max(most, threads("many"))

        await asyncio.gather(*(pool.run(short) for _ in range(300)))
        assert most <= workers.AT_ONCE
        waiting = [asyncio.create_task(pool.run(go.wait, 30)) for _ in range(40)]
        await asyncio.sleep(0)  # all of them have asked
        await pool.run(short)  # comes to its turn beside them
        assert most > 40
        go.set()
        assert all(await asyncio.gather(*waiting))

    asyncio.run(run())


def test_a_call_that_nobody_waits_for_ends_and_frees_its_thread() -> None:
    async def run() -> None:
        pool, go, ended = Workers(1, "left"), threading.Event(), threading.Event()

        def call() -> None:
            assert go.wait(30)
            ended.set()

        left = asyncio.create_task(pool.run(call))
        await asyncio.sleep(0.05)
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        behind = asyncio.create_task(pool.run(ended.is_set))
        go.set()
        assert await behind

    asyncio.run(run())


def test_threads_without_a_call_end_and_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "REST", 0.05)

    async def run() -> None:
        pool = Workers(4, "resting")
        for _ in range(3):
            assert await asyncio.gather(*(pool.run(lambda n=n: n) for n in range(4))) == [0, 1, 2, 3]  # type: ignore[misc]
            assert await asyncio.to_thread(until, lambda: not threads("resting"))

    asyncio.run(run())


def test_a_system_without_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = threading.Thread.start

    def none(thread: threading.Thread) -> None:
        if thread.name in ("scarce", "none"):
            raise RuntimeError("can't start new thread")
        begin(thread)

    async def run() -> None:
        pool = Workers(4, "scarce")
        assert await pool.run(lambda: 1) == 1
        monkeypatch.setattr(threading.Thread, "start", none)
        assert await asyncio.gather(*(pool.run(lambda: 2) for _ in range(3))) == [2, 2, 2]
        calls = [Workers(4, "none").run(lambda: 3) for _ in range(2)]
        assert [type(e) for e in await asyncio.gather(*calls, return_exceptions=True)] == [RuntimeError] * 2

    asyncio.run(run())
