"""A server in a thread over an engine that is none."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine


@pytest.fixture
def sockets_folder() -> Iterator[Path]:
    """A folder for Unix sockets, whose paths have some 100 bytes at most: those of ``tmp_path`` are longer."""
    with tempfile.TemporaryDirectory(prefix="ksqlpy-", dir="/tmp") as folder:
        yield Path(folder)


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
