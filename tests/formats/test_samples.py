"""The type of keys and values by a sample of them."""

from __future__ import annotations

import json
import struct

import pytest

from ksqlpy.formats import DELIMITED, JSON, KAFKA
from ksqlpy.formats.events import key_of_events, row_of_events
from ksqlpy.types import DOUBLE


@pytest.mark.parametrize(
    ("texts", "type_"),
    [
        (['{"a":1}', '{"a":-9223372036854775808}'], "STRUCT<`A` BIGINT>"),
        (['{"a":1}', '{"a":9223372036854775808}'], "STRUCT<`A` DOUBLE>"),
        (['{"a":1}', '{"a":1e2}'], "STRUCT<`A` DOUBLE>"),
        (['{"a":true}', '{"a":null}', "null"], "STRUCT<`A` BOOLEAN>"),
        (['{"a":true}', '{"a":1}', '{"a":true}'], "STRUCT<`A` STRING>"),
        (['{"a":null,"b":[],"c":{}}'], "STRUCT<`A` STRING, `B` ARRAY<STRING>, `C` STRING>"),
        (['{"a":[1,null,2.5]}', '{"a":[]}'], "STRUCT<`A` ARRAY<DOUBLE>>"),
        (['{"a":[1]}', '{"a":{"x":1}}'], "STRUCT<`A` STRING>"),
        (
            ['{"b":{"x":1}}', '{"a":"t","b":{"y":[{"z":1}]}}'],
            "STRUCT<`B` STRUCT<`X` BIGINT, `Y` ARRAY<STRUCT<`Z` BIGINT>>>, `A` STRING>",
        ),
        (['{"id":1}', '{"ID":"x"}', '{"":1}'], "STRUCT<`ID` STRING>"),
        (['{"id":1,"Id":2.5}'], "STRUCT<`ID` DOUBLE>"),
        (['"a"', '"b"'], "STRING"),
        (["[1]", "[2]"], "ARRAY<BIGINT>"),
        (['{"a":1}', "{nonsense", '{"a":2'], "STRUCT<`A` BIGINT>"),
        (["nonsense", "null"], "None"),
    ],
)
def test_json(texts: list[str], type_: str) -> None:
    assert str(JSON.sampled([t.encode() for t in texts])) == type_


def test_json_that_is_nested_deeply_is_text_from_some_level_on() -> None:
    found = str(JSON.sampled([b'{"a":' * 900 + b"1" + b"}" * 900]))
    assert found.count("STRUCT") == 30
    assert "`A` STRING>" in found


@pytest.mark.parametrize(
    ("records", "type_"),
    [
        ([b"abc", "Bodø".encode()], "STRING"),
        ([b"abcd", b"\0\0\0\1"], "INTEGER"),
        ([struct.pack(">q", n) for n in (0, 7, -1, 2**53)], "BIGINT"),
        ([struct.pack(">d", n) for n in (0.0, 2.5, -1e9)], "DOUBLE"),
        ([bytes(8)], "BIGINT"),
        ([b"\0\1", b"\0\0\0\1"], "BYTES"),
        ([], "None"),
    ],
)
def test_kafka(records: list[bytes], type_: str) -> None:
    assert str(KAFKA.sampled(records)) == type_


def test_fields_of_delimited_have_no_names() -> None:
    assert DELIMITED.sampled([b"1,Oslo"]) is None


# ---------------------------------------------------------------- change events of Debezium

_SCHEMA = {
    "type": "struct",
    "fields": [
        {"type": "struct", "field": "before", "fields": []},
        {
            "type": "struct",
            "field": "after",
            "fields": [
                {"type": "int16", "field": "small"},
                {"type": "int32", "field": "day", "name": "org.apache.kafka.connect.data.Date"},
                {"type": "int32", "field": "clock", "name": "io.debezium.time.Time"},
                {"type": "int64", "field": "at", "name": "org.apache.kafka.connect.data.Timestamp"},
                {"type": "int64", "field": "micros", "name": "io.debezium.time.MicroTimestamp"},
                {"type": "bytes", "field": "price", "name": "org.apache.kafka.connect.data.Decimal"},
                {"type": "map", "field": "more", "values": {"type": "boolean"}},
                {"type": "struct", "field": "at_home", "fields": [{"type": "float", "field": "x"}]},
            ],
        },
        {"type": "string", "field": "op"},
    ],
}


def test_a_row_by_the_schema_of_its_event() -> None:
    event = {"schema": _SCHEMA, "payload": {"before": None, "after": None, "op": "d"}}
    assert str(row_of_events([json.dumps(event).encode()])) == (
        "STRUCT<`SMALL` INTEGER, `DAY` DATE, `CLOCK` TIME, `AT` TIMESTAMP, `MICROS` BIGINT, `PRICE` BYTES,"
        " `MORE` MAP<STRING, BOOLEAN>, `AT_HOME` STRUCT<`X` DOUBLE>>"
    )


@pytest.mark.parametrize(
    ("events", "type_"),
    [
        (
            ['{"op":"d","before":{"a":1},"after":null}', '{"op":"c","after":{"b":"x"}}'],
            "STRUCT<`A` BIGINT, `B` STRING>",
        ),
        (['{"schema":null,"payload":{"op":"c","after":{"a":1.5}}}'], "STRUCT<`A` DOUBLE>"),
        (['{"op":"d","before":null}'], "None"),
        (['{"after":{"a":1}}', "7"], "None"),
    ],
)
def test_a_row_by_its_values(events: list[str], type_: str) -> None:
    assert str(row_of_events([e.encode() for e in events])) == type_


@pytest.mark.parametrize(
    ("keys", "type_"),
    [
        (['{"id":1,"at":"x"}'], "STRUCT<`ID` BIGINT, `AT` STRING>"),
        (
            ['{"schema":{"type":"struct","fields":[{"type":"int32","field":"id"}]},"payload":{"id":1}}'],
            "STRUCT<`ID` INTEGER>",
        ),
        (
            ['{"schema":1,"payload":{"id":1},"third":0}'],
            "STRUCT<`SCHEMA` BIGINT, `PAYLOAD` STRUCT<`ID` BIGINT>, `THIRD` BIGINT>",
        ),
        (["1"], "None"),
    ],
)
def test_keys(keys: list[str], type_: str) -> None:
    assert str(key_of_events([k.encode() for k in keys])) == type_


def test_zero_is_of_both_numbers() -> None:
    assert KAFKA.sampled([bytes(8), struct.pack(">d", 0.5)]) == DOUBLE
