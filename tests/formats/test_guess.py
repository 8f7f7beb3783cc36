"""What PRINT makes of bytes: the formats that are possible, and the text of each record."""

from __future__ import annotations

import io
import json
import struct

import fastavro
import pytest

from ksqlpy.errors import EngineProblem
from ksqlpy.formats.guess import Guess, time_text
from ksqlpy.registry import SchemaRegistry
from ksqlpy.testing.registry import Registry, shared_registry

MOMENT = 1_700_000_000_000

CASES: list[tuple[list[bytes | None], str, list[str]]] = [
    ([None, None], "not known, no record has any yet", ["<null>", "<null>"]),
    ([b'{"a": 1}', b"[1,\n 2]"], "JSON or KAFKA_STRING", ['{"a": 1}', "[1,  2]"]),
    ([b'{"a": 1}', b"{}"], "JSON or KAFKA_STRING", ['{"a": 1}', "{}"]),
    ([b'{"a": 1}', b"plain"], "KAFKA_STRING", ['{"a": 1}', "plain"]),
    ([b"1,x", b"2,y"], "DELIMITED or KAFKA_STRING", ["1,x", "2,y"]),
    ([struct.pack(">i", 7)], "KAFKA_INT", ["7"]),
    ([struct.pack(">q", 7), struct.pack(">q", -1)], "KAFKA_BIGINT or KAFKA_DOUBLE", ["7", "-1"]),
    ([struct.pack(">q", 7), b"text"], "MIXED", ["7", "text"]),
    ([b"\xff\x00\x01"], "KAFKA_BYTES", ["\\xff0001"]),
    ([b"", b"x"], "KAFKA_STRING", ["", "x"]),
    ([b"12345678"], "KAFKA_STRING or KAFKA_BIGINT or KAFKA_DOUBLE", ["12345678"]),
]


@pytest.mark.parametrize(("records", "formats", "shown"), CASES)
def test_values(records: list[bytes | None], formats: str, shown: list[str]) -> None:
    guess = Guess(None, keys=False)
    found = [guess.show(r) for r in records]
    assert guess.text == formats
    assert not shown or found == shown


@pytest.mark.parametrize(
    ("key", "format", "shown"),
    [
        (b"ann", "KAFKA_STRING", "ann"),
        (struct.pack(">i", 7), "KAFKA_INT", "7"),
        (struct.pack(">i", -1), "KAFKA_INT", "-1"),
        (struct.pack(">q", 7), "KAFKA_BIGINT or KAFKA_DOUBLE", "7"),
        (struct.pack(">d", 0.5), "KAFKA_BIGINT or KAFKA_DOUBLE", str(struct.unpack(">q", struct.pack(">d", 0.5))[0])),
        (b'{"A":1}', "JSON or KAFKA_STRING", '{"A":1}'),
        (b"1,2", "DELIMITED or KAFKA_STRING", "1,2"),
    ],
)
def test_keys_with_windows(key: bytes, format: str, shown: str) -> None:
    for kind, bounds, end in (
        ("TIME WINDOW", struct.pack(">q", MOMENT), "-"),
        ("SESSION", struct.pack(">qq", MOMENT + 5, MOMENT), MOMENT + 5),
    ):
        guess = Guess(None, keys=True)
        assert guess.show(key + bounds) == f"[{shown}@{MOMENT}/{end}]"
        assert guess.text == " or ".join(f"{kind}, {name}" for name in format.split(" or "))
        assert Guess(None, keys=False).show(key + bounds).startswith("\\x")


def test_formats_of_the_registry() -> None:
    registry, name = shared_registry()
    client = SchemaRegistry([registry.url(name)])
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "bytes"}]}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, {"a": 1, "b": b"x"})
    given = (
        (json.dumps(schema), "AVRO"),
        ('{"type":"string"}', "JSON"),
        ('syntax = "proto3"; message M { int32 a = 1; }', "PROTOBUF"),
    )
    avro, text, proto = (b"\0" + registry.put(*each).to_bytes(4) for each in given)
    guess = Guess(client, keys=False)
    assert guess.show(avro + out.getvalue()) == '{"a": 1, "b": "eA=="}'
    assert guess.text == "AVRO"
    assert guess.show(text + b'{"a":1}') == '{"a":1}'
    assert guess.text == "MIXED"
    for data, shown, formats in (
        (text + b'{"a":1}', '{"a":1}', "JSON_SR"),
        (proto + b"\0\x08\x01", '{"a": 1}', "PROTOBUF"),
        (b"\0\x7f\xff\xff\xff1", "\\x007fffffff31", "KAFKA_BYTES"),
        (avro + out.getvalue() + b"!", "\\x" + (avro + out.getvalue() + b"!").hex(), "KAFKA_BYTES"),
    ):
        guess = Guess(client, keys=False)
        assert guess.show(data) == shown
        assert guess.text == formats


def test_a_registry_that_is_away_is_said() -> None:
    away = Registry().start()
    url = away.url()
    away.stop()
    with pytest.raises(EngineProblem) as caught:
        Guess(SchemaRegistry([url]), keys=False).show(b"\0\0\0\0\1\2")
    assert caught.value.code == "registry-away"


def test_times() -> None:
    assert time_text(MOMENT + 7) == "2023/11/14 22:13:20.007 Z"
    assert time_text(-1) == "1969/12/31 23:59:59.999 Z"
    assert time_text(2**62) == str(2**62)
