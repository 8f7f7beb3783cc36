"""A request with a ``commandSequenceNumber`` waits until that command has been carried out."""

from __future__ import annotations

import threading

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.server.run import ServerThread
from ksqlpy.testing.memory import MemoryEngine

STREAM = "CREATE STREAM s{} (v INT) WITH (KAFKA_TOPIC='s{}', VALUE_FORMAT='JSON', PARTITIONS=1);"


def names(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [s["name"] for s in answer.json()[0]["streams"]]


@pytest.fixture
def engine() -> MemoryEngine:
    engine = MemoryEngine(None)  # type: ignore[arg-type]
    engine.brokers.config = Config.of({"ksql.server.command.response.timeout.ms": "300"})
    return engine


def test_commands_that_are_done_and_one_that_never_comes(engine: MemoryEngine) -> None:
    with ServerThread(engine) as server, httpx.Client(base_url=server.url, trust_env=False) as client:
        made = client.post("/ksql", json={"ksql": STREAM.format(0, 0), "commandSequenceNumber": -1})
        number = made.json()[0]["commandSequenceNumber"]
        show = {"ksql": "SHOW STREAMS;", "commandSequenceNumber": number}
        assert names(client.post("/ksql", json=show)) == ["S0"]
        for unknown in (number + 1, 2**62, 10**30):
            answer = client.post("/ksql", content=f'{{"ksql": "SHOW STREAMS;", "commandSequenceNumber": {unknown}}}')
            assert (answer.status_code, answer.json()["error_code"]) in [(503, 50301), (400, 40000)]
            assert (answer.status_code == 400) == (unknown == 10**30)
        assert "the last one is 0" in client.post("/ksql", json={**show, "commandSequenceNumber": 1}).json()["message"]


def test_one_that_is_just_being_carried_out(engine: MemoryEngine) -> None:
    engine.brokers.config = Config.of({"ksql.server.command.response.timeout.ms": "10000"})
    with ServerThread(engine) as server, httpx.Client(base_url=server.url, trust_env=False) as client:
        client.post("/ksql", json={"ksql": STREAM.format(0, 0)})
        later = threading.Timer(0.3, engine.execute, [STREAM.format(1, 1)])
        later.start()
        answer = client.post("/ksql", json={"ksql": "SHOW STREAMS;", "commandSequenceNumber": 1})
        later.join()
        assert names(answer) == ["S0", "S1"]
