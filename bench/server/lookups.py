"""Lookups by key, 1,000 a second, without a login, with a password, with a token, and with an audit log.

Three servers are there all the time, two without a login, over the same topic; rounds alternate, in an order that
changes, so that what else happens on the machine meets all alike.
"""

from __future__ import annotations

import base64
import json
import statistics
import time
from collections.abc import Iterator

import psutil
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
    """A line for each way, and for what a login or the audit log adds to it."""
    with (
        rig.serve("free", warm=False) as free,
        rig.serve("guarded", kind=Guarded, warm=False) as guarded,
        rig.serve("audited", warm=False, audit=True) as audited,
    ):
        assert isinstance(guarded, Guarded)
        basic = base64.b64encode(f"{NAME}:{PASSWORD}".encode()).decode()
        ways = {
            "no login": (free, {}),
            "Basic": (guarded, {"Authorization": f"Basic {basic}"}),
            "token": (guarded, {"Authorization": f"Bearer {guarded.token}"}),
            "audit log": (audited, {}),
        }
        for server in (free, guarded, audited):
            server.statements(
                "CREATE TABLE KNOWN (K STRING PRIMARY KEY, V INT)"
                " WITH (KAFKA_TOPIC='bench_known', FORMAT='JSON', PARTITIONS=1);"
            )
        _fill(rig.bootstrap)
        for server in (free, guarded, audited):
            _wait(server)
        for server, login in ways.values():
            _asked(server, login, min(WARM_UP, rig.seconds))
        found: dict[str, list[Answers]] = {name: [] for name in ways}
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(rig.rounds):
            turn = number % len(ways)
            for name in (*list(ways)[turn:], *list(ways)[:turn]):
                begin = _processor(ways[name][0])
                found[name].append(_asked(*ways[name], rig.seconds))
                spent[name].append(_processor(ways[name][0]) - begin)
    for name, rounds in found.items():
        each = sum(spent[name]) / sum(len(r.millis) for r in rounds) * 1000
        took = spread([ms for r in rounds for ms in r.millis])
        yield told(f"a lookup, {name}, at {RATE}/s: {took}; {each:.3f} ms of processor")
    for name, quant, most in (("Basic", 0.99, 1.0), ("token", 0.99, 1.0), ("audit log", 0.5, 0.1)):
        pairs = zip(found[name], found["no login"], strict=True)
        more = [_quantile(own, quant) - _quantile(none, quant) for own, none in pairs]
        shown = " ".join(f"{ms:.2f}" for ms in more)
        yield told(
            f"{name} adds {statistics.median(more):.2f} ms to p{quant * 100:g} (median of {shown})",
            f"at most {most:g} ms",
        )


def _processor(server: Server) -> float:
    """Seconds that processors have worked for the server, without its JVM."""
    return sum(psutil.Process(server.pid).cpu_times()[:2])


def _quantile(answers: Answers, of: float) -> float:
    return quantile(sorted(answers.millis), of)


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
