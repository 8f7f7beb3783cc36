"""GET /info, 200 times a second."""

from __future__ import annotations

from collections.abc import Iterator

from bench.server.load import even, request
from bench.server.rig import Rig, spread, told

__all__ = ["info"]

RATE = 200
CONNECTIONS = 8


def info(rig: Rig) -> Iterator[str]:
    """One line."""
    asked = request("GET", "/info")
    with rig.serve("info", warm=False) as server:
        even(server.url, lambda n: asked, rate=RATE, seconds=min(3.0, rig.seconds), connections=CONNECTIONS)
        seconds = rig.seconds * rig.rounds
        found = even(server.url, lambda n: asked, rate=RATE, seconds=seconds, connections=CONNECTIONS)
    if set(found.codes) != {200}:
        raise RuntimeError(f"answers: {dict(found.codes)}")
    yield told(f"GET /info at {RATE}/s over {CONNECTIONS} connections: {spread(found.millis)}", "p99 at most 10 ms")
