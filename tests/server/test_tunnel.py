"""What a reader process hands on with both directions at one time: streams of rows and WebSockets."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from ksqlpy.server.app import create_app, guarded
from ksqlpy.server.backend import Backend
from ksqlpy.server.forward import Forward
from ksqlpy.server.listeners import Listeners, listen
from ksqlpy.server.run import hypercorn
from tests.server.test_inserts_stream import TARGET, Talk, body, ok
from tests.server.test_websocket import SCHEMA, query
from tests.server.test_websocket import Talk as Socket
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until


class Reader:
    """A server that listens on a Unix socket, and one before it that hands all on; ``url``: of the latter."""

    def __init__(self, engine: FakeEngine, folder: Path) -> None:
        self._backend = Backend(engine)
        self._place = str(folder / "server")
        self._listener = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        forward = Starlette(routes=[Mount("/", Forward(self._place, "a secret"))])
        app = guarded(forward, self._backend.engine.config, lambda sql, properties: None, lambda: None)
        serving = [
            asyncio.create_task(
                hypercorn(create_app(self._backend), Listeners([]), self._end.wait, [f"unix:{self._place}"])
            ),
            asyncio.create_task(hypercorn(app, Listeners([(self._listener, False)]), self._end.wait)),
        ]
        self._ready.set()
        await asyncio.gather(*serving)

    def __enter__(self) -> Reader:
        self._thread.start()
        assert self._ready.wait(30)
        assert until(lambda: os.path.exists(self._place))
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._listener.close()


@pytest.fixture
def reader(engine: FakeEngine, sockets_folder: Path) -> Iterator[Reader]:
    with Reader(engine, sockets_folder) as running:
        yield running


def test_rows_and_answers_at_one_time(reader: Reader, engine: FakeEngine) -> None:
    talk = Talk(reader)  # type: ignore[arg-type]  # which has its address, too
    talk.send(TARGET, {"ID": 1})
    assert talk.read(1) == ok(0)
    talk.send({"ID": 2}, {"ID": 3})
    assert talk.read(2) == ok(1, 2)
    talk.send({"ID": 4}, end=True)
    assert talk.read(9) == ok(3)
    assert talk.ended
    talk.close()
    assert engine.inserts[0].rows == [{"ID": n} for n in (1, 2, 3, 4)]


def test_errors_and_leaving_are_handed_on(reader: Reader, engine: FakeEngine) -> None:
    answer = httpx.post(f"{reader.url}/inserts-stream", content=body(target={"target": "nowhere"}), trust_env=False)
    assert (answer.status_code, answer.json()["error_code"]) == (400, 40000)
    talk = Talk(reader)  # type: ignore[arg-type]  # which has its address, too
    talk.send(TARGET, {"ID": 1})
    assert talk.read(1) == ok(0)
    talk.close()
    assert until(lambda: engine.inserts[-1].closed)


def test_websockets(reader: Reader, engine: FakeEngine) -> None:
    talk = Socket(reader, query("SELECT * FROM rows EMIT CHANGES LIMIT 2;"))  # type: ignore[arg-type]  # which has its address, too
    assert len(talk.read()) == 3
    assert talk.closed == (1000, "done")
    talk.close()
    live = Socket(reader, query("SELECT * FROM live EMIT CHANGES;"))  # type: ignore[arg-type]  # which has its address, too
    assert str(SCHEMA[0]["name"]) in live.read(1)[0]
    assert until(lambda: engine.pushes)
    live.close()
    assert until(lambda: not engine.pushes)


def test_a_server_that_is_not_there(engine: FakeEngine, tmp_path: Path) -> None:
    app = guarded(Starlette(routes=[Mount("/", Forward(str(tmp_path / "none"), ""))]), engine.config,
                  lambda sql, properties: None, lambda: None)  # fmt: skip
    transport = httpx.ASGITransport(app)

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/inserts-stream", content=body({"ID": 1}))

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["error_code"]) == (503, 50303)
