"""Answers of a schema registry that are too large, too deep, endless or odd: named errors, and soon."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ksqlpy.errors import EngineProblem
from ksqlpy.formats import avroschema, jsonschema
from ksqlpy.formats.subjects import Unsupported
from ksqlpy.registry import SchemaRegistry


@contextmanager
def answering(write: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[SchemaRegistry]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                write(self)
            except OSError:  # the client has had enough
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield SchemaRegistry([f"http://127.0.0.1:{server.server_address[1]}"])
    finally:
        server.shutdown()
        server.server_close()


def whole(body: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    def write(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    return write


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
    with answering(write) as registry, pytest.raises(EngineProblem) as problem:
        registry.latest("rides-value")
    assert problem.value.code == code
    assert said in problem.value.message


@pytest.mark.parametrize("body", [b"[]", b'{"schema": 7, "references": [1]}'])
def test_answer_about_an_id(body: bytes) -> None:
    with answering(whole(body)) as registry, pytest.raises(EngineProblem, match="describes no schema"):
        registry.schema(7)


DEEP = 40


def doubling_avro() -> str:
    """Records that hold the next one twice, forty levels deep."""
    schema: object = {"type": "record", "name": f"R{DEEP}", "fields": [{"name": "x", "type": "int"}]}
    for i in reversed(range(DEEP)):
        fields = [{"name": "a", "type": schema}, {"name": "b", "type": f"R{i + 1}"}]
        schema = {"type": "record", "name": f"R{i}", "fields": fields}
    return json.dumps(schema)


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
