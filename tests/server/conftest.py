"""A server in a thread over an engine that is none."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def server(engine: FakeEngine) -> Iterator[ServerThread]:
    with ServerThread(engine) as running:
        yield running


@pytest.fixture
def http(server: ServerThread) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=10, trust_env=False, verify=False) as client:
        yield client


@pytest.fixture
def http2(server: ServerThread) -> Iterator[httpx.Client]:
    """Speaks HTTP/2 from the first byte, as ksqlDB's Java and Node clients do."""
    with httpx.Client(
        base_url=server.url, timeout=10, trust_env=False, verify=False, http1=False, http2=True
    ) as client:
        yield client
