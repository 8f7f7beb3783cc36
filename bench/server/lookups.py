"""Lookups by key, 1,000 a second, without a login, with a password, and with a token.

Two servers are there all the time, one without a login, over the same topic; rounds alternate, in an order that
changes, so that what else happens on the machine meets all alike.
"""

from __future__ import annotations

import base64
import json
import statistics
import time
from collections.abc import Iterator

from confluent_kafka import Producer

from bench.latency import quantile
from bench.server.load import Answers, even, request
from bench.server.rig import NAME, PASSWORD, Guarded, Rig, spread, told
from ksqlpy.errors import KsqlError
from tests.harness.server import Server

__all__ = ["lookups"]

RATE = 1_000
CONNECTIONS = 16
KEYS = 1_000
WARM_UP = 5.0
PATIENCE = 60.0
"""Seconds until a server has its copy of the table."""


def lookups(rig: Rig) -> Iterator[str]:
    """A line for each way, and for what a login adds to it."""
    with rig.serve("free", warm=False) as free, rig.serve("guarded", kind=Guarded, warm=False) as guarded:
        assert isinstance(guarded, Guarded)
        basic = base64.b64encode(f"{NAME}:{PASSWORD}".encode()).decode()
        ways = {
            "no login": (free, {}),
            "Basic": (guarded, {"Authorization": f"Basic {basic}"}),
            "token": (guarded, {"Authorization": f"Bearer {guarded.token}"}),
        }
        for server in (free, guarded):
            server.statements(
                "CREATE TABLE KNOWN (K STRING PRIMARY KEY, V INT)"
                " WITH (KAFKA_TOPIC='bench_known', FORMAT='JSON', PARTITIONS=1);"
            )
        _fill(rig.bootstrap)
        for server in (free, guarded):
            _wait(server)
        for server, login in ways.values():
            _asked(server, login, min(WARM_UP, rig.seconds))
        found: dict[str, list[Answers]] = {name: [] for name in ways}
        for number in range(rig.rounds):
            turn = number % len(ways)
            for name in (*list(ways)[turn:], *list(ways)[:turn]):
                found[name].append(_asked(*ways[name], rig.seconds))
    for name, rounds in found.items():
        yield told(f"a lookup, {name}, at {RATE}/s: {spread([ms for r in rounds for ms in r.millis])}")
    for name in ("Basic", "token"):
        more = [_p99(own) - _p99(none) for own, none in zip(found[name], found["no login"], strict=True)]
        shown = " ".join(f"{ms:.2f}" for ms in more)
        yield told(f"{name} adds {statistics.median(more):.2f} ms to p99 (median of {shown})", "at most 1 ms")


def _p99(answers: Answers) -> float:
    return quantile(sorted(answers.millis), 0.99)


def _fill(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for n in range(KEYS):
        producer.produce("bench_known", key=json.dumps(f"k{n}"), value=b'{"V": %d}' % n)
    producer.flush()


def _wait(server: Server) -> None:
    """Waits until the server has all of the table."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if len(list(server._client.push(f"SELECT * FROM KNOWN WHERE K = 'k{KEYS - 1}';"))) > 1:
                return
        except KsqlError:  # it is being copied
            pass
        if time.monotonic() > end:
            raise RuntimeError(f"the table is not there after {PATIENCE:g} s")
        time.sleep(0.2)


def _asked(server: Server, login: dict[str, str], seconds: float) -> Answers:
    headers = {"Content-Type": "application/json", "Accept": "application/json", **login}
    bodies = (json.dumps({"sql": f"SELECT * FROM KNOWN WHERE K = 'k{n}';"}).encode() for n in range(KEYS))
    made = [request("POST", "/query-stream", body, headers) for body in bodies]
    found = even(server.url, lambda n: made[n * 7919 % KEYS], rate=RATE, seconds=seconds, connections=CONNECTIONS)
    if set(found.codes) != {200}:
        raise RuntimeError(f"answers: {dict(found.codes)}")
    return found
