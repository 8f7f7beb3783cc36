"""Answers of a schema registry that are too large, too deep, endless or odd: named errors, and soon."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from ksqlpy.errors import EngineProblem
from ksqlpy.formats import avroschema, jsonschema
from ksqlpy.formats.subjects import Unsupported
from ksqlpy.registry import SchemaRegistry
from tests.hostile.registry import DEEP, answering, doubling_avro, whole


def endless(to: BaseHTTPRequestHandler) -> None:
    to.send_response(200)
    to.end_headers()
    while True:
        to.wfile.write(b" " * 65536)


def circle(to: BaseHTTPRequestHandler) -> None:
    """Each schema refers to the next."""
    number = int(to.path.rpartition("/")[2]) if to.path.rpartition("/")[2].isdigit() else 0
    reference = {"name": f"n{number + 1}", "subject": "s", "version": number + 1}
    whole(json.dumps({"id": 1, "schema": '"int"', "references": [reference]}).encode())(to)


ANSWERS: dict[str, tuple[Callable[[BaseHTTPRequestHandler], None], str, str]] = {
    "endless": (endless, "registry-away", "more than 8388608 bytes"),
    "nested": (whole(b"[" * 200_000), "registry-away", "not the JSON of a schema registry"),
    "infinite id": (whole(b'{"id": 1e999, "schema": "\\"int\\""}'), "registry-refused", "inf is no id"),
    "huge id": (whole(b'{"id": 99999999999, "schema": "\\"int\\""}'), "registry-refused", "99999999999 is no id"),
    "id of text": (whole(b'{"id": "7", "schema": "\\"int\\""}'), "registry-refused", "7 is no id"),
    "no schema": (whole(b'{"id": 7}'), "registry-refused", "it describes no schema"),
    "a list": (whole(b"[]"), "registry-refused", "it describes no schema"),
    "odd references": (whole(b'{"id": 7, "schema": "1", "references": 7}'), "registry-refused", "describes no schema"),
    "endless references": (circle, "registry-refused", "in more than 32 levels"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answer(name: str) -> None:
    write, code, said = ANSWERS[name]
    with answering(write) as url, pytest.raises(EngineProblem) as problem:
        SchemaRegistry([url]).latest("rides-value")
    assert problem.value.code == code
    assert said in problem.value.message


@pytest.mark.parametrize("body", [b"[]", b'{"schema": 7, "references": [1]}'])
def test_answer_about_an_id(body: bytes) -> None:
    with answering(whole(body)) as url, pytest.raises(EngineProblem, match="describes no schema"):
        SchemaRegistry([url]).schema(7)


def doubling_json() -> str:
    part = {f"R{i}": _object(f"#/definitions/R{i + 1}") for i in range(DEEP)}
    definitions = {**part, f"R{DEEP}": {"type": "integer"}}
    return json.dumps({"definitions": definitions, **_object("#/definitions/R0")})


def _object(of: str) -> dict[str, object]:
    return {"type": "object", "properties": {"a": {"$ref": of}, "b": {"$ref": of}}}


@pytest.mark.parametrize(
    "make", [lambda: avroschema.type_of(doubling_avro()), lambda: jsonschema.type_of(doubling_json())],
    ids=["AVRO", "JSON"],
)  # fmt: skip
def test_schema_that_stands_for_too_much(make: Callable[[], object]) -> None:
    with pytest.raises(Unsupported, match="more than 20000 fields"):
        make()


def test_schema_that_is_nested_too_deeply() -> None:
    schema = '{"type":"array","items":' * 5_000 + '"int"' + "}" * 5_000
    with pytest.raises(Unsupported, match="nested too deeply"):
        avroschema.type_of(schema)
