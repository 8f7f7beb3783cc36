"""Whether the server lives and whether it is ready."""

from __future__ import annotations

import httpx
import pytest

from ksqlpy.errors import ServiceLost
from ksqlpy.server.backend import State
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine


@pytest.mark.parametrize("prefix", ["", "/chc"])
def test_live_and_ready_are_apart(http: httpx.Client, server: ServerThread, engine: FakeEngine, prefix: str) -> None:
    def codes() -> tuple[int, int]:
        return http.get(f"{prefix}/live").status_code, http.get(f"{prefix}/ready").status_code

    assert codes() == (200, 200)
    server.backend.state = State.STARTING
    assert codes() == (200, 503), "to start it again would make the start no shorter"
    server.backend.state = State.READY
    engine.lost = True
    assert engine.fatal() is not None and isinstance(engine.fatal(), ServiceLost)
    assert codes() == (503, 503)
