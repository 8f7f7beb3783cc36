"""A server that asks for a login, over an engine that is none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.server.auth import users as user_files
from ksqlpy.server.auth.users import add_user
from ksqlpy.server.listeners import Listeners
from ksqlpy.server.run import ServerThread
from tests.server.auth.authority import Authority
from tests.support.fake_engine import FakeEngine

SHOW = {"ksql": "SHOW STREAMS;"}
HTTPS = {"listeners": "https://127.0.0.1:0"}

Serve = Callable[..., ServerThread]
Start = Callable[..., list[str]]


@pytest.fixture(scope="session")
def alice_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with one user, made once: a hash takes its time."""
    file = tmp_path_factory.mktemp("users") / "users"
    add_user(file, "alice", "correct horse", frozenset({"developer"}))
    return file


@pytest.fixture
def users(alice_file: Path, tmp_path: Path) -> Path:
    file = tmp_path / "users"
    file.write_bytes(alice_file.read_bytes())
    return file


@pytest.fixture
def serve(engine: FakeEngine) -> Iterator[Serve]:
    """Starts a server with these properties."""
    with contextlib.ExitStack() as stack:

        def started(properties: dict[str, str]) -> ServerThread:
            engine.config = Config.of(properties)
            return stack.enter_context(ServerThread(engine))

        yield started


@pytest.fixture
def guarded(serve: Serve, users: Path) -> ServerThread:
    """A server with the user alice, whose password is "correct horse"."""
    return serve({"ksqlpy.auth.users.file": str(users)})


@pytest.fixture
def web(guarded: ServerThread) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=guarded.url, timeout=30, trust_env=False) as client:
        yield client


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hashes against which passwords were checked."""
    seen: list[str] = []
    real = user_files.verified

    def verify(password: str, hash: str) -> bool:
        seen.append(hash)
        return real(password, hash)

    monkeypatch.setattr("ksqlpy.server.auth.basic.verified", verify)
    return seen


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


@pytest.fixture
def own(authority: Authority) -> dict[str, str]:
    """The properties of a certificate."""
    certificate, key = authority.certify("server")
    return {"ksqlpy.tls.certificate": str(certificate), "ksqlpy.tls.key": str(key)}


@pytest.fixture
def start(engine: FakeEngine) -> Iterator[Start]:
    """Starts a server with these properties and gives where it listens."""
    with contextlib.ExitStack() as stack:

        def started(*properties: dict[str, str]) -> list[str]:
            engine.config = Config.of({name: value for each in properties for name, value in each.items()})
            listeners = Listeners.of(engine.config)
            urls = listeners.urls
            stack.enter_context(ServerThread(engine, listeners=listeners))
            return urls

        yield started
