"""What programs do that should not: each ends clean, and is told."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import psutil
import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.session.remote import connect
from ksqlpy.session.session import Session
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
LIVE = "SELECT * FROM live EMIT CHANGES"


def run(program: str, url: str, *options: str) -> subprocess.Popen[str]:
    """A program of a user, which says ``ready`` where a test goes on."""
    text = f"import ksqlpy, sys\nurl = {url!r}\nLIVE = {LIVE!r}\n{program}"
    command = [sys.executable, *options, "-c", text]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def test_a_session_that_is_not_closed(url: str, engine: FakeEngine) -> None:
    session = connect(url)
    result = session.query(LIVE)
    with pytest.warns(ResourceWarning, match=r"the result of query q1 was not closed"):
        del result
        gc.collect()
    assert until(lambda: not engine.pushes)
    with pytest.warns(ResourceWarning, match=f"the session with {url} was not closed"):
        del session
        gc.collect()


def test_a_result_that_is_read_to_its_end_need_not_be_closed(session: Session) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(session.query("SELECT * FROM rows EMIT CHANGES LIMIT 3"))) == 3
        list(session.query("SELECT * FROM known LIMIT 3"))
        session.query("SELECT * FROM known LIMIT 3")
        gc.collect()


@pytest.mark.parametrize("program", ["s = ksqlpy.connect(url); r = s.query(LIVE)", "s = ksqlpy.connect(url); 1 / 0"])
def test_what_is_forgotten_ends_with_the_program(url: str, engine: FakeEngine, program: str) -> None:
    with run(program, url, "-X", "dev") as process:
        _, said = process.communicate(timeout=30)
    assert f"ResourceWarning: the session with {url} was not closed" in said
    assert process.returncode == (1 if "ZeroDivisionError" in said else 0)
    assert until(lambda: not engine.pushes)


def test_ctrl_c_while_rows_are_waited_for(url: str, engine: FakeEngine) -> None:
    program = """
with ksqlpy.connect(url) as session, session.query(LIVE) as rows:
    print("ready", flush=True)
    for row in rows: pass
"""
    with run(program, url) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert said.rstrip().endswith("KeyboardInterrupt") and "Exception ignored" not in said
    assert until(lambda: not engine.pushes)


def test_ctrl_c_in_a_coroutine(url: str, engine: FakeEngine) -> None:
    program = """
import asyncio
async def main():
    async with ksqlpy.aconnect(url) as session:
        print("ready", flush=True)
        async with await session.query(LIVE) as rows:
            async for row in rows: pass
asyncio.run(main())
"""
    with run(program, url) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        assert until(lambda: engine.pushes)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT and "Exception ignored" not in said
    assert until(lambda: not engine.pushes)


def test_ctrl_c_while_a_subscription_is_waited_for(url: str, engine: FakeEngine) -> None:
    program = """
import time
with ksqlpy.connect(url) as session:
    @session.subscribe(LIVE, name="slow")
    def slow(row):
        print("ready", flush=True)
        time.sleep(1)
        print("done", flush=True)
    slow.wait()
"""
    with run(program, url) as process:
        assert until(lambda: engine.pushes)
        for n in range(3):
            next(iter(engine.pushes.values())).source.put([n, ""])
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        told, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and "Exception ignored" not in said
    assert told == "done\n" and [rows for _, rows, *_ in engine.acknowledged] == [1]
    assert until(lambda: not engine.pushes)


def test_a_subscription_of_a_session_that_is_forgotten(url: str, engine: FakeEngine) -> None:
    session = connect(url)
    subscription = session.subscribe(LIVE, name="forgotten")(lambda row: None)
    assert until(lambda: engine.pushes)
    with pytest.warns(ResourceWarning, match=f"the session with {url} was not closed"):
        del session
        gc.collect()
    assert until(lambda: not subscription.running)
    assert until(lambda: not engine.pushes)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_subscription_in_a_process_that_was_forked(session: Session, engine: FakeEngine) -> None:
    subscription = session.subscribe(LIVE, name="forked")(lambda row: None)
    child = os.fork()
    if child == 0:
        told = 0
        try:
            subscription.wait(1)
        except KsqlError as e:
            told = e.code == "session-forked"
        subscription.stop()
        session.close()
        os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    next(iter(engine.pushes.values())).source.put([7, "seven"])
    assert subscription.wait(60, rows=1)
    subscription.stop()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_that_was_forked(session: Session, engine: FakeEngine) -> None:
    result = session.query(LIVE)
    [push] = engine.pushes.values()
    child = os.fork()
    if child == 0:
        told = 0
        for use in (lambda: session.sql("SHOW STREAMS;"), result.fetchone, lambda: iter(result)):
            try:
                use()
            except KsqlError as e:
                told += e.code == "session-forked" and str(os.getppid()) in e.message
        result.close()
        session.close()
        os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    push.source.put([7, "seven"])
    assert result.fetchone() == (7, "seven")
    result.close()


def held() -> tuple[int, int, int]:
    """Threads, files and child processes of this process; without the threads that its server keeps for later calls."""
    own = psutil.Process()
    threads = [t for t in threading.enumerate() if not t.name.startswith(("call", "health", "starter"))]
    return len(threads), own.num_fds(), len(own.children(recursive=True))


def open_and_close(url: str) -> None:
    with connect(url) as session:
        session.sql("SHOW STREAMS;")
        with session.query(LIVE), session.query("SELECT * FROM rows EMIT CHANGES LIMIT 2") as rows:
            rows.fetchall()
        session.insert("s", [{"id": 1}])


@pytest.mark.slow
def test_nothing_is_left_of_sessions(url: str, engine: FakeEngine) -> None:
    open_and_close(url)
    assert until(lambda: not engine.pushes)
    time.sleep(1)  # the server's threads have come to rest
    before = held()
    for _ in range(200):
        open_and_close(url)
    # Threads and sockets of the server are in this process, too, and end a moment later.
    assert until(lambda: all(now <= then for now, then in zip(held(), before, strict=True))), (before, held())
    assert not engine.pushes
