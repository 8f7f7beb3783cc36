"""GET /openapi.json says what the routes are, and its examples get the answers that it promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest
from jsonschema import Draft202012Validator

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.app import create_app
from ksqlpy.server.openapi import ENDPOINTS, described
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeCommands, FakeEngine
from tests.support.real_server import real_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = described(create_app(FakeEngine()).state.endpoints)
OPERATIONS = [(method, path) for path, methods in TEXT["paths"].items() for method in methods]
LAST = ("post", "/ksql/terminate")


def test_each_route_stands_in_the_table_and_the_other_way_round() -> None:
    assert {(method.upper(), path) for method, path in OPERATIONS} == ENDPOINTS.keys()


def test_it_is_served(http: httpx.Client) -> None:
    answer = http.get("/openapi.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == TEXT
    assert http.get("/openapi.json", headers={"Accept": "text/html"}).status_code == 406


def test_it_has_the_form_of_openapi() -> None:
    assert TEXT["openapi"].startswith("3.1.")
    names = [o["operationId"] for methods in TEXT["paths"].values() for o in methods.values()]
    assert len(set(names)) == len(names)
    for path, methods in TEXT["paths"].items():
        for operation in methods.values():
            named = {p["name"] for p in operation.get("parameters", ()) if p["in"] == "path"}
            assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}
            assert operation["summary"] and operation["description"]
            for body in (operation.get("requestBody", {"content": {}}), *operation["responses"].values()):
                for content in body.get("content", {}).values():
                    Draft202012Validator.check_schema(content["schema"])


def run(http: httpx.Client, method: str, path: str, *, once: bool = False) -> None:
    """Sends the example, with each media type of an answer, and holds the answer against what is said of it.

    ``once``: with the first one only.
    """
    operation = TEXT["paths"][path][method]
    parameters = operation.get("parameters", ())
    for parameter in parameters:
        path = path.replace(f"{{{parameter['name']}}}", quote(parameter["example"]))
    more: dict[str, Any] = {"params": {p["name"]: p["example"] for p in parameters if p["in"] == "query"}}
    for content in operation.get("requestBody", {"content": {}})["content"].values():
        example = content["example"]
        more |= {"content": example} if isinstance(example, str) else {"json": example}
        if not isinstance(example, str):
            Draft202012Validator(content["schema"]).validate(example)
    wanted = ENDPOINTS[method.upper(), TEXT_PATHS.get(path, path)].status
    promised = operation["responses"][str(wanted)]
    for media_type in [*promised.get("content", {"*/*": {}})][: 1 if once else None]:
        accepted = media_type if wanted == 200 else "*/*"
        answer = http.request(method, path, headers={"Accept": accepted}, **more)
        assert answer.status_code == wanted, answer.text
        if "content" not in promised:
            continue
        assert answer.headers["content-type"] == media_type
        schema = {**promised["content"][media_type]["schema"], "components": TEXT["components"]}
        value = answer.text if schema.get("type") == "string" else answer.json()
        Draft202012Validator(schema).validate(value)


TEXT_PATHS = {
    "/is_valid_property/auto.offset.reset": "/is_valid_property/{name}",
    "/status/stream/%60RIDES%60/create": "/status/{kind}/{entity}/{action}",
    "/ui/flow": "/ui/{path}",
    "/queries/CTAS_N_1/log": "/queries/{query}/log",
}
"""Paths of examples, and what they are examples of."""


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_examples(http: httpx.Client, monkeypatch: pytest.MonkeyPatch, method: str, path: str) -> None:
    done = {"status": "SUCCESS", "message": "Stream created", "queryId": None}
    monkeypatch.setattr(FakeCommands, "one", lambda self, kind, entity, *others: done if entity == "`RIDES`" else None)
    run(http, method, path, once=(method, path) == LAST)


@pytest.fixture(scope="module")
def real(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerThread]:
    with real_server(broker, tmp_path_factory.mktemp("data"), "openapi_") as running:
        running.backend.engine.execute(
            "CREATE STREAM rides (city STRING KEY, id INT)"
            " WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"
            "INSERT INTO rides VALUES ('Oslo', 1);"
        )
        yield running


@pytest.mark.kafka
@pytest.mark.spark
def test_examples_on_a_real_server(real: ServerThread) -> None:
    with httpx.Client(base_url=real.url, timeout=60, trust_env=False) as http:
        for method, path in OPERATIONS:
            if (method, path) != LAST:  # which has a test of its own
                run(http, method, path)
