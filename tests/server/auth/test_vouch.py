"""Requests that a reader process hands on: the reader asks for the login, and the server takes its word."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvloop
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from ksqlpy.access import OPEN, Principal
from ksqlpy.config import Config
from ksqlpy.server.app import guarded
from ksqlpy.server.auth import Auth, Login, principal_of
from ksqlpy.server.auth.session import Session
from ksqlpy.server.auth.tokens import create_token
from ksqlpy.server.auth.users import remove_user
from ksqlpy.server.auth.vouch import vouched
from ksqlpy.server.backend import Backend
from ksqlpy.server.forward import Forward
from ksqlpy.server.listeners import Listeners
from ksqlpy.server.run import create_app, hypercorn
from tests.server.auth.authority import Authority
from tests.server.auth.conftest import SHOW
from tests.support.fake_engine import FakeEngine

ALICE = ("alice", "correct horse")
SECRET = "the secret of this start"


class Pair:
    """A server behind a Unix socket only, and a reader before it, with the same properties."""

    def __init__(self, engine: FakeEngine, folder: Path) -> None:
        config = engine.config
        self.listeners = Listeners.of(config)
        [self.url] = self.listeners.urls
        self.backend = Backend(engine)
        self.seen: list[tuple[Principal, object]] = []
        app = create_app(self.backend, SECRET)
        app.add_middleware(_Seen, seen=self.seen)
        # Requests come to the one that was added last: behind the login it stands if it is put first.
        app.user_middleware.append(app.user_middleware.pop(0))
        reader = Starlette(routes=[Mount("/", Forward(str(folder / "server"), SECRET))])
        guarded(reader, config, engine.look_up, lambda: None, "pull_reader1_")
        self._apps = app, reader
        self._bind = f"unix:{folder / 'server'}"
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._serve()))

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = asyncio.create_task(hypercorn(self._apps[0], Listeners([]), self._end.wait, [self._bind]))
        reader = asyncio.create_task(hypercorn(self._apps[1], self.listeners, self._end.wait))
        self._ready.set()
        await asyncio.gather(server, reader)

    def __enter__(self) -> Pair:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self.listeners.close()


class _Seen:
    """Notes who sends requests, and from where, as what stands behind the login sees it."""

    def __init__(self, app: Starlette, seen: list[tuple[Principal, object]]) -> None:
        self.app, self.seen = app, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.seen.append((principal_of(scope), scope["client"]))
            assert not [n for n, _ in scope["headers"] if n in (b"authorization", b"ksqlpy-vouch", b"ksqlpy-principal")]
        await self.app(scope, receive, send)


@pytest.fixture
def pair(engine: FakeEngine, users: Path, tmp_path: Path, sockets_folder: Path) -> Iterator[Pair]:
    tokens = tmp_path / "tokens"
    tokens.touch()
    engine.config = Config.of(
        {"ksqlpy.port": "0", "ksqlpy.auth.users.file": str(users), "ksqlpy.auth.tokens.file": str(tokens)}
    )
    with Pair(engine, sockets_folder) as made:
        yield made


@pytest.fixture
def web(pair: Pair) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=pair.url, timeout=30, trust_env=False) as client:
        yield client


def test_the_server_knows_who_asks_a_reader(
    web: httpx.Client, pair: Pair, tmp_path: Path, checked: list[str], engine: FakeEngine
) -> None:
    assert web.post("/ksql", json=SHOW, auth=ALICE).status_code == 200
    token = create_token(tmp_path / "tokens", "ci", frozenset({"writer"}), 0)
    assert web.post("/ksql", json=SHOW, headers={"Authorization": f"Bearer {token}"}).status_code == 200
    who = [principal for principal, _ in pair.seen]
    assert who == [
        Principal("alice", frozenset({"developer"}), "basic"),
        Principal("ci", frozenset({"writer"}), "token"),
    ]
    assert all(isinstance(place, tuple) and place[0] == "127.0.0.1" for _, place in pair.seen)
    assert len(checked) <= 1  # the server has not checked the password again


def test_readers_refuse_by_themselves(web: httpx.Client, pair: Pair, engine: FakeEngine) -> None:
    lookup = {"sql": "SELECT * FROM known LIMIT 3;"}
    for path, body in (("/ksql", SHOW), ("/query-stream", lookup)):
        for login in (None, ("alice", "wrong horse")):
            assert web.post(path, json=body, auth=login).status_code == 401
    assert (pair.seen, engine.calls) == ([], [])
    answer = web.post("/query-stream", json=lookup, auth=ALICE)
    assert answer.status_code == 200 and "pull_reader1_" in answer.text and pair.seen == []


def test_nobody_vouches_for_himself(web: httpx.Client, pair: Pair, sockets_folder: Path) -> None:
    admin = Session(Principal("root", frozenset({"admin"}), "basic"), ("open",))
    for secret in ("", SECRET + "x", SECRET):
        forged = {n.decode(): v.decode() for n, v in vouched(admin, {"client": None}, secret)}
        assert web.post("/ksql", json=SHOW, headers=forged).status_code == 401  # a reader takes nobody's word
        assert web.post("/ksql", json=SHOW, headers=forged, auth=ALICE).status_code == 200
        assert pair.seen.pop()[0].name == "alice"
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(sockets_folder / "server"))) as client:
        for secret, status in (("", 401), (SECRET + "x", 401), (SECRET, 200)):
            headers = {n.decode(): v.decode() for n, v in vouched(admin, {"client": None}, secret)}
            assert client.post("http://localhost/ksql", json=SHOW, headers=headers).status_code == status


def test_without_a_secret_nobody_is_believed() -> None:
    admin = Session(Principal("root", frozenset({"admin"}), "basic"), ("open",))
    seen: list[Principal] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(principal_of(scope))

    async def nothing(*_: object) -> dict[str, object]:
        return {}

    scope = {"type": "http", "path": "/", "headers": list(vouched(admin, {}, "")), "client": None, "query_string": b""}
    asyncio.run(Auth(app, Login.of(Config.of({})))(scope, nothing, nothing))
    assert seen == [OPEN]


def test_a_push_query_through_a_reader_ends_with_the_user(web: httpx.Client, users: Path, engine: FakeEngine) -> None:
    with web.stream("POST", "/query-stream", json={"sql": "SELECT * FROM live EMIT CHANGES;"}, auth=ALICE) as answer:
        lines = answer.iter_lines()
        assert '"queryId"' in next(lines)
        remove_user(users, "alice")
        assert '"error_code":40100' in list(lines)[-1]


def test_readers_speak_tls(engine: FakeEngine, users: Path, tmp_path: Path, sockets_folder: Path) -> None:
    authority = Authority(tmp_path, "authority")
    certificate, key = authority.certify("server")
    engine.config = Config.of(
        {
            "listeners": "https://127.0.0.1:0",
            "ksqlpy.tls.certificate": str(certificate),
            "ksqlpy.tls.key": str(key),
            "ksqlpy.auth.users.file": str(users),
        }
    )
    with contextlib.ExitStack() as stack:
        pair = stack.enter_context(Pair(engine, sockets_folder))
        trusted = ssl.create_default_context(cafile=authority.file)
        client = stack.enter_context(httpx.Client(base_url=pair.url, verify=trusted, trust_env=False))
        assert client.post("/ksql", json=SHOW, auth=ALICE, timeout=30).status_code == 200
        assert [p.name for p, _ in pair.seen] == ["alice"]
