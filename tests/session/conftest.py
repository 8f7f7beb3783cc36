"""A server in a thread over an engine that is none, and what a process holds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ksqlpy.server.run import ServerThread
from ksqlpy.session.remote import connect
from ksqlpy.session.session import Session
from tests.support.fake_engine import FakeEngine


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def url(engine: FakeEngine) -> Iterator[str]:
    with ServerThread(engine) as running:
        yield running.url


@pytest.fixture
def session(url: str) -> Iterator[Session]:
    with connect(url) as session:
        yield session
