"""/status, /clusterStatus, /v1/metadata and /ksql/terminate: their entities, codes and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from ksqlpy.server.backend import State
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine

CLUSTERS = {"scope": {"path": [], "clusters": {"kafka-cluster": "k", "ksql-cluster": "default_"}}, "id": ""}
SUCCESS = {"status": "SUCCESS", "message": "Stream created", "queryId": None}

ANSWERS: Mapping[str, Any] = {
    "/status": {"commandStatuses": {"stream/`S`/create": "SUCCESS", "terminate/CSAS_S_1/execute": "SUCCESS"}},
    "/status/stream/`S`/create": SUCCESS,
    "/status/stream/%60S%60/create": SUCCESS,
    "/status/stream/a/b/create": SUCCESS,
    "/status/stream/a%2Fb/create": SUCCESS,
    "/v1/metadata": {"version": "0.29.0", "clusterId": CLUSTERS},
    "/v1/metadata/id": CLUSTERS,
}


@pytest.mark.parametrize("path", ANSWERS)
def test_answers(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/vnd.ksql.v1+json")
    assert answer.json() == ANSWERS[path]
    assert http.get(path, headers={"Accept": "application/json"}).headers["content-type"] == "application/json"


def test_the_only_server_of_the_cluster(http: httpx.Client, server: ServerThread) -> None:
    [(host, told)] = http.get("/clusterStatus").json()["clusterStatus"].items()
    assert f"http://{host}" == server.url
    assert told["hostAlive"] is True


@pytest.mark.parametrize("path", ["/status/stream/T/create", "/status/stream/`S`/drop", "/status/x/y"])
def test_unknown_commands(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()["error_code"]) == (404, 40400)


@pytest.mark.parametrize("path", [*ANSWERS, "/clusterStatus"])
def test_what_holds_of_all_endpoints(http: httpx.Client, server: ServerThread, path: str) -> None:
    assert http.get(path, headers={"Accept": "text/html"}).status_code == 406
    assert http.post(path).status_code == 405
    server.backend.state = State.STARTING
    answer = http.get(path)
    assert (answer.status_code, answer.json()["error_code"]) == (503, 50302)


@pytest.mark.parametrize(
    ("content", "topics"),
    [
        (b"", []),
        (b"{}", []),
        (b'{"deleteTopicList": null}', []),
        (b'{"deleteTopicList": []}', []),
        (b'{"deleteTopicList": ["FOO", "bar.*"]}', ["FOO", "bar.*"]),
    ],
)
def test_terminate(http: httpx.Client, engine: FakeEngine, content: bytes, topics: list[str]) -> None:
    answer = http.post("/ksql/terminate", content=content)
    assert answer.status_code == 200
    [entity] = answer.json()
    assert (entity["@type"], entity["commandId"]) == ("currentStatus", "cluster/TerminateCluster/terminate")
    assert entity["commandStatus"]["status"] == "SUCCESS"
    assert entity["ksqlpy"] == {"deletedTopics": ["FOO"]}
    assert engine.terminated == topics
    answer = http.post("/ksql", json={"ksql": "SHOW STREAMS;"})
    assert (answer.status_code, answer.json()["error_code"]) == (503, 50303)


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (b"[]", 40000, "must be a JSON object"),
        (b'{"deleteTopicList": "FOO"}', 40000, "key 'deleteTopicList' of the request body must be a list"),
        (b'{"deleteTopicList": [1]}', 40000, "key 'deleteTopicList.0' of the request body must be text"),
        (b'{"deleteTopicList": ["("]}', 40000, "is no regular expression"),
        (b'{"deleteTopicList": ["broken"]}', 50000, "nobody saw this coming"),
    ],
)
def test_terminate_that_is_refused(
    http: httpx.Client, engine: FakeEngine, content: bytes, code: int, says: str
) -> None:
    answer = http.post("/ksql/terminate", content=content)
    assert (answer.status_code, answer.json()["error_code"]) == (code // 100, code)
    assert says in answer.json()["message"]
    assert engine.terminated is None
    assert http.post("/ksql", json={"ksql": "SHOW STREAMS;"}).status_code == 200
