"""PROTOBUF and PROTOBUF_NOSR: schemas of columns, columns of schemas, and bytes that codec and Spark take alike."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import message_factory
from hypothesis import strategies as st

from ksqlpy.catalog import Column, Nulls, PartSpec, ValueSpec
from ksqlpy.errors import AnalysisProblem
from ksqlpy.formats import FORMATS, Unreadable, codec
from ksqlpy.formats.protobuf import PROTOBUF
from ksqlpy.formats.protofile import ProtoFile, proto_file
from ksqlpy.formats.protoschema import nested, schema_of, type_of
from ksqlpy.formats.subjects import Unsupported
from ksqlpy.registry import SchemaRegistry
from ksqlpy.spark.clients import tell_registry
from ksqlpy.testing.memory import MemoryEngine
from ksqlpy.testing.registry import Registry, shared_registry
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)
from tests.formats.examples import NESTED, SCALARS, drawn, of_each, values
from tests.formats.test_codecs_and_spark import assert_writes_alike, by_python, by_spark, in_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMED = StructType((("A", INTEGER), ("a", STRING), ("B", DecimalType(9, 8)), ("odd_d", DATE)))
TYPES = (*SCALARS, *(t for t in NESTED if nested(t) is None and not isinstance(t, StructType)), NAMED, ArrayType(NAMED))
FURTHER = pytest.mark.extended("generated values of further types")
NULLS: tuple[Nulls, ...] = ("", "OPTIONAL", "WRAPPER")


def record(
    types: Sequence[SqlType], number: int | None = None, format_: str = "PROTOBUF", nulls: Nulls = ""
) -> ValueSpec:
    columns = tuple(Column("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i], t) for i, t in enumerate(types))
    return ValueSpec(format_, columns, schema_id=number, nulls=nulls)


@pytest.fixture
def registry(spark: SparkSession) -> Iterator[Registry]:
    found, name = shared_registry()
    tell_registry(spark, SchemaRegistry([found.url(name)]))
    yield found


# ---------------------------------------------------------------- schemas


@pytest.mark.parametrize("nulls", NULLS)
def test_a_schema_has_the_columns_that_it_was_made_of(nulls: Nulls) -> None:
    spec = record(TYPES, nulls=nulls)
    message = proto_file(schema_of(spec)).first()
    assert type_of(message) == StructType(tuple((c.name, c.type) for c in spec.columns))


def test_the_text_of_a_schema() -> None:
    inner = StructType((("ID", BIGINT), ("AT", TIMESTAMP)))
    columns = (Column("NAME", STRING), Column("VISITS", ArrayType(inner)), Column("SCORES", MapType(STRING, DOUBLE)))
    spec = ValueSpec("PROTOBUF", columns, schema_name="com.example.Guest", nulls="OPTIONAL")
    assert schema_of(spec).splitlines() == [
        'syntax = "proto3";',
        "package com.example;",
        "",
        'import "google/protobuf/timestamp.proto";',
        "",
        "message Guest {",
        "  optional string NAME = 1;",
        "  repeated ConnectDefault1 VISITS = 2;",
        "  map<string, double> SCORES = 3;",
        "",
        "  message ConnectDefault1 {",
        "    optional int64 ID = 1;",
        "    google.protobuf.Timestamp AT = 2;",
        "  }",
        "}",
    ]


def test_maps_as_kafka_connect_prints_them() -> None:
    columns = (Column("M", MapType(STRING, StructType((("X", INTEGER),)))), Column("N", MapType(STRING, BIGINT)))
    assert schema_of(ValueSpec("PROTOBUF_NOSR", columns), entries=True).splitlines()[2:] == [
        "message ConnectDefault1 {",
        "  repeated ConnectDefault2Entry M = 1;",
        "  repeated ConnectDefault4Entry N = 2;",
        "",
        "  message ConnectDefault2Entry {",
        "    string key = 1;",
        "    ConnectDefault3 value = 2;",
        "",
        "    message ConnectDefault3 {",
        "      int32 X = 1;",
        "    }",
        "  }",
        "",
        "  message ConnectDefault4Entry {",
        "    string key = 1;",
        "    int64 value = 2;",
        "  }",
        "}",
    ]


def test_names_that_are_the_same_in_json() -> None:
    proto_file(schema_of(ValueSpec("PROTOBUF", (Column("A_B", INTEGER), Column("AB", INTEGER)))))


OTHERS: list[tuple[str, SqlType]] = [
    ("message M { sint32 a = 1; sfixed32 b = 2; uint32 c = 3; fixed64 d = 4; float e = 5; }",
     StructType((("a", INTEGER), ("b", INTEGER), ("c", BIGINT), ("d", BIGINT), ("e", DOUBLE)))),
    ("message M { E e = 1; repeated E l = 2; enum E { X = 0; } }",
     StructType((("e", STRING), ("l", ArrayType(STRING))))),
    ("message M { int32 a = 1; oneof choice { string s = 2; N n = 3; } message N { bool b = 1; } }",
     StructType((("choice_0", StructType((("s", STRING), ("n", StructType((("b", BOOLEAN),)))))), ("a", INTEGER)))),
    ('import "google/protobuf/wrappers.proto"; message M { google.protobuf.StringValue s = 1;'
     " repeated google.protobuf.UInt32Value l = 2; map<string, google.protobuf.FloatValue> m = 3; }",
     StructType((("s", STRING), ("l", ArrayType(BIGINT)), ("m", MapType(STRING, DOUBLE))))),
    ('import "confluent/type/decimal.proto"; import "confluent/meta.proto"; message M { confluent.type.Decimal d = 1'
     ' [(confluent.field_meta) = { params: [ { key: "precision", value: "4" }, { value: "2", key: "scale" } ] }]; }',
     StructType((("d", DecimalType(4, 2)),))),
    ("package p; message M { confluent.type.Decimal d = 1 [(confluent.field_meta) = { doc: \"price\", params: {"
     ' key: "precision", value: "9" } params: { key: "scale", value: "3" } }]; google.type.Date on = 2;'
     ' google.protobuf.Timestamp at = 3; google.protobuf.BoolValue b = 4 [(confluent.field_meta).doc = "maybe"]; }',
     StructType((("d", DecimalType(9, 3)), ("on", DATE), ("at", TIMESTAMP), ("b", BOOLEAN)))),
    ("message M { optional int64 a = 1; map<string, N> m = 2; } message N { bytes b = 1; }",
     StructType((("a", BIGINT), ("m", MapType(STRING, StructType((("b", BYTES),))))))),
    ('import "google/type/timeofday.proto"; message M { repeated google.type.TimeOfDay t = 4; }',
     StructType((("t", ArrayType(TIME)),))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "type_"), OTHERS)
def test_columns_of_other_schemas(text: str, type_: SqlType) -> None:
    assert type_of(proto_file(f'syntax = "proto3"; {text}').first()) == type_


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("message M { M m = 1; }", "message M holds itself"),
        ("message M { }", "message M has no fields"),
        ("enum E { X = 0; }", "it has no message"),
        ("message M { map<int32, string> m = 1; }", "the keys of m are no strings"),
        ("message M { N n = 1; }", 'it is no schema of Protobuf: 1:32: "N" is not defined'),
        ("message M {", "it is no schema of Protobuf: "),
        ('import "confluent/type/decimal.proto"; message M { confluent.type.Decimal d = 1; }', "decimal of 64 digits"),
    ],
)
def test_schemas_without_columns(text: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        type_of(proto_file(f'syntax = "proto3"; {text}').first())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("message M { int32 a = 1; } enum E { X = 0; }", "M"),
        ("message Address { string city = 1; } message Guest { repeated Address at = 1; }", "Guest"),
        (
            "message Guest { Trip t = 1; message Trip { Address to = 1; } } message Address { string city = 1; }",
            "Guest",
        ),
        ("message A { B b = 1; } message B { A a = 1; }", "A"),
    ],
)
def test_the_message_of_records_is_the_one_that_no_other_holds(text: str, name: str) -> None:
    file = proto_file(f'syntax = "proto3"; {text}')
    assert (file.only().full_name, file.chief().full_name) == (name, name)


def test_of_several_messages_none_is_taken() -> None:
    file = proto_file('syntax = "proto3"; package p; message A { C c = 1; } message B { C c = 1; } message C { }')
    with pytest.raises(Unsupported, match=r"it has several messages: p\.A, p\.B"):
        file.only()
    assert file.chief().full_name == "p.A"


def test_columns_that_it_does_not_carry() -> None:
    lists = FORMATS["PROTOBUF"].refusal("value", [Column("L", ArrayType(ArrayType(INTEGER)))])
    assert lists is not None and "no ARRAY<INTEGER> within an ARRAY or MAP: column L" in lists.message
    odd = FORMATS["PROTOBUF_NOSR"].refusal("value", [Column("A", StructType((("x y", INTEGER),)))])
    assert odd is not None and "x y" in odd.message


# ---------------------------------------------------------------- bytes


def several(value: Any) -> bool:
    """Whether a map in it has entries that may stand in several orders."""
    if isinstance(value, dict):
        return (len(value) > 1 and not set(value) <= {"A", "a", "B", "odd_d"}) or any(map(several, value.values()))
    return isinstance(value, list) and any(map(several, value))


@pytest.mark.spark
@pytest.mark.parametrize("type_", of_each(TYPES, FURTHER))
def test_it_is_written_alike(spark: SparkSession, type_: SqlType, generated: Any) -> None:
    rows = [[v] for v in drawn(values(type_), generated(200)) if not several(v)]
    for nulls in NULLS:
        assert_writes_alike(spark, record([type_], 70000, nulls=nulls), rows, True)
    assert_writes_alike(spark, record([type_], format_="PROTOBUF_NOSR"), rows, True)


@pytest.mark.spark
@pytest.mark.parametrize("type_", of_each(TYPES, FURTHER))
def test_what_is_written_is_read(spark: SparkSession, type_: SqlType, generated: Any) -> None:
    rows = drawn(values(type_), generated(100))
    for nulls in NULLS:
        spec = record([type_], format_="PROTOBUF_NOSR", nulls=nulls)
        data = [codec(spec).encode([v]) for v in rows]
        found, wanted = by_spark(spark, spec, data), by_python(spec, data)
        assert [error for _, error in found + wanted if error is not None] == []
        # Entries of a map have no order.
        assert [json.loads(row or b"null") for row, _ in found] == [json.loads(row or b"null") for row, _ in wanted]


def assert_reads_alike(spark: SparkSession, registry: Registry, spec: PartSpec, data: Sequence[bytes]) -> list[str]:
    """Gives the errors."""

    def lookup(number: int) -> ProtoFile:
        found = registry.answer("GET", f"/main/schemas/ids/{number}", None)[1]
        if "schema" not in found:
            raise Unreadable(f"the schema registry has no schema {number}")
        return proto_file(str(found["schema"]))

    reader, writer = PROTOBUF.codec(spec, lookup), codec(in_json(spec))
    by_codec: list[tuple[bytes | None, str | None]] = []
    for each in data:
        try:
            by_codec.append((writer.encode(reader.decode(each)), None))
        except Unreadable as e:
            by_codec.append((None, str(e)))
    wrong = [
        f"{d!r}: Spark {s}, Python {p}"
        for d, s, p in zip(data, by_spark(spark, spec, data), by_codec, strict=True)
        if s != p
    ]
    assert not wrong, f"{len(wrong)} of {len(data)} as {spec}:\n" + "\n".join(wrong[:20])
    return [e for _, e in by_codec if e is not None]


WHOLE = st.integers(-(2**31), 2**31 - 1)
LARGE = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 86_400_001)
WRITERS: list[tuple[str, st.SearchStrategy[Any]]] = [
    ("int32", WHOLE), ("sint32", WHOLE), ("sfixed32", WHOLE), ("uint32", st.integers(0, 2**32 - 1)),
    ("fixed32", st.integers(0, 2**32 - 1)), ("int64", LARGE), ("sint64", LARGE), ("sfixed64", LARGE),
    ("uint64", st.integers(0, 2**64 - 1)), ("fixed64", st.integers(0, 2**64 - 1)),
    ("float", st.floats(width=32, allow_nan=False)), ("double", st.floats()), ("bool", st.booleans()),
    ("string", st.text(max_size=5)), ("bytes", st.binary(max_size=5)), ("E", st.sampled_from([0, 1, 5])),
    ("optional int32", st.integers(0, 3)), ("optional string", st.text(max_size=2)),
    ("repeated int32", st.lists(WHOLE, max_size=3)), ("repeated string", st.lists(st.text(max_size=3), max_size=3)),
    ("repeated double", st.lists(st.floats(-9, 9), max_size=3)),
    ("map<string, double>", st.dictionaries(st.text(max_size=3), st.floats(-9, 9), max_size=1)),
    ("N", st.fixed_dictionaries({"a": st.integers(0, 9), "Odd_d": st.integers(0, 9)})),
    ("google.type.Date", st.fixed_dictionaries({"year": st.integers(-2000, 12000), "month": st.integers(0, 13),
                                                "day": st.integers(0, 32)})),
    ("google.type.TimeOfDay", st.fixed_dictionaries({"hours": st.integers(-1, 25), "minutes": st.integers(0, 60),
                                                     "nanos": st.integers(0, 10**9 - 1)})),
    ("google.protobuf.Timestamp", st.fixed_dictionaries({"seconds": LARGE, "nanos": st.integers(0, 10**9 - 1)})),
    ("confluent.type.Decimal", st.fixed_dictionaries({"value": st.binary(max_size=5), "scale": st.integers(-2, 12)})),
    ("google.protobuf.Int32Value", st.fixed_dictionaries({"value": WHOLE})),
    ("google.protobuf.StringValue", st.fixed_dictionaries({"value": st.text(max_size=3)})),
]  # fmt: skip
IMPORTS = "".join(
    f'import "{name}.proto"; '
    for name in ("google/type/date", "google/type/timeofday", "google/protobuf/timestamp", "google/protobuf/wrappers",
                 "confluent/type/decimal")
)  # fmt: skip
INNER = "message N { int32 a = 1; sint32 Odd_d = 2; } enum E { X = 0; Y = 1; }"


def bytes_of(text: str, number: int, value: Any) -> bytes:
    make = message_factory.GetMessageClass(proto_file(text).first())
    return b"\0" + number.to_bytes(4) + b"\0" + make(before=7, v=value).SerializeToString()


@pytest.mark.spark
@pytest.mark.parametrize("type_", of_each(TYPES, FURTHER))
def test_other_schemas_are_read_alike(spark: SparkSession, type_: SqlType, generated: Any, registry: Registry) -> None:
    data = []
    for field, strategy in WRITERS:
        text = f'syntax = "proto3"; package q; {IMPORTS} message M {{ int32 before = 3; {field} v = 500; {INNER} }}'
        number = registry.put(text, "PROTOBUF")
        data += [bytes_of(text, number, v) for v in drawn(strategy, generated(15))]
    spec = ValueSpec("PROTOBUF", (Column("V", type_), Column("BEFORE", BIGINT)))
    assert 0 < len(assert_reads_alike(spark, registry, spec, data)) < len(data)


@pytest.mark.spark
def test_messages_are_found_by_their_place(spark: SparkSession, registry: Registry) -> None:
    text = 'syntax = "proto3"; enum E { X = 0; } message A { message B { string v = 1; } } message C { int32 v = 1; }'
    front = b"\0" + registry.put(text, "PROTOBUF").to_bytes(4)
    data = [front + b"\2\2\x08\x05", front + b"\4\0\0\x0a\1x", front + b"\0", front + b"\2\4", front + b"\1",
            front + b"\x88\x80", front]  # fmt: skip
    found = by_spark(spark, record([STRING]), data)
    number = int.from_bytes(front[1:])
    assert found[:3] == [(b'{"A":null}', None)] * 3
    spec = ValueSpec("PROTOBUF", (Column("V", STRING),))
    assert by_spark(spark, spec, data) == [
        (b'{"V":"5"}', None),
        (b'{"V":"x"}', None),
        (b'{"V":null}', None),
        (None, f"it names no message of schema {number}"),
        (None, f"it names no message of schema {number}"),
        (None, "it ends too early, or is no message of Protobuf"),
        (None, "it ends too early, or is no message of Protobuf"),
    ]


@pytest.mark.spark
def test_what_a_oneof_holds(spark: SparkSession, registry: Registry) -> None:
    text = 'syntax = "proto3"; message M { oneof which { string s = 1; int32 n = 2; } int32 a = 3; }'
    front = b"\0" + registry.put(text, "PROTOBUF").to_bytes(4) + b"\0"
    chosen = Column("WHICH_0", StructType((("S", STRING), ("N", INTEGER))))
    data = [front + b"\x0a\1x\x18\1", front + b"\x10\5", front + b"\x0a\1x\x10\0", front]
    spec = ValueSpec("PROTOBUF", (chosen, Column("A", INTEGER)))
    assert assert_reads_alike(spark, registry, spec, data) == []
    assert [row for row, _ in by_spark(spark, spec, data)] == [
        b'{"WHICH_0":{"S":"x","N":null},"A":1}',
        b'{"WHICH_0":{"S":null,"N":5},"A":0}',
        b'{"WHICH_0":{"S":null,"N":0},"A":0}',
        b'{"WHICH_0":null,"A":0}',
    ]
    flat = ValueSpec("PROTOBUF", (Column("N", INTEGER), Column("S", STRING)))
    assert assert_reads_alike(spark, registry, flat, data) == []
    assert by_spark(spark, flat, data)[0] == (b'{"N":null,"S":"x"}', None)


@pytest.mark.spark
def test_what_a_schema_imports(spark: SparkSession, registry: Registry) -> None:
    registry.register("units.proto", 'syntax = "proto3"; package u; enum Unit { KG = 0; LB = 1; }', "PROTOBUF")
    imported = {"name": "units.proto", "subject": "units.proto", "version": 1}
    middle = 'syntax = "proto3"; import "units.proto"; message Weight { double n = 1; u.Unit unit = 2; }'
    name = SchemaRegistry([registry.url()])
    registry.register("weight", middle, "PROTOBUF", references=[imported])
    text = 'syntax = "proto3"; import "weight.proto"; message Parcel { Weight w = 1; }'
    number = registry.put(text, "PROTOBUF", [{"name": "weight.proto", "subject": "weight", "version": 1}])
    found = name.schema(number)
    assert found is not None
    assert [n for n, _ in found.references] == ["units.proto", "weight.proto"]
    weight = StructType((("n", DOUBLE), ("unit", STRING)))
    assert type_of(proto_file(found.text, found.references).first()) == StructType((("w", weight),))
    tell_registry(spark, name)
    spec = ValueSpec("PROTOBUF", (Column("W", weight),))
    data = b"\0" + number.to_bytes(4) + b"\0" + b"\x0a\x0b\x09" + b"\0" * 6 + b"\x08\x40" + b"\x10\1"
    assert by_spark(spark, spec, [data]) == [(b'{"W":{"n":3.0,"unit":"LB"}}', None)]


@pytest.mark.spark
def test_a_schema_that_is_a_descriptor(spark: SparkSession, registry: Registry) -> None:
    text = (
        'syntax = "proto3"; package p; import "google/type/date.proto"; message M { optional int32 a = 1; E e = 2;'
        " map<string, N> m = 3; oneof which { string s = 4; N n = 5; } repeated google.type.Date d = 6;"
        " message N { sint64 x = 1; } } enum E { ZERO = 0; ONE = 1; }"
    )
    message = proto_file(text).first()
    described = base64.b64encode(message.file.serialized_pb).decode()
    type_ = type_of(message)
    assert type_of(proto_file(described).first()) == type_
    number = registry.put(described, "PROTOBUF")
    spec = ValueSpec("PROTOBUF", tuple(Column(n, t) for n, t in type_.fields))
    written = message_factory.GetMessageClass(message)(
        e=1, m={"k": {"x": -5}}, n={"x": 7}, d=[{"year": 2024, "month": 2, "day": 29}]
    )
    data = b"\0" + number.to_bytes(4) + b"\0" + written.SerializeToString()
    assert assert_reads_alike(spark, registry, spec, [data]) == []
    assert by_spark(spark, spec, [data])[0][0] == (
        b'{"which_0":{"s":null,"n":{"x":7}},"a":null,"e":"ONE","m":{"k":{"x":-5}},"d":[19782]}'
    )


@pytest.mark.spark
def test_broken_messages_are_unreadable(spark: SparkSession, registry: Registry) -> None:
    own = registry.put(schema_of(record([STRING, BIGINT])), "PROTOBUF")
    spec = record([STRING, BIGINT], own)
    whole = codec(spec).encode(["abc", 2**40])
    assert whole is not None
    front = whole[:6]
    data = [whole[:-1], whole[:9], front + b"\x0a\x7fabc", front + b"\x08\1", front + b"\x0a\2\xc3(", front + b"\x0c",
            front + b"\x0b\x0b", front + b"\0"]  # fmt: skip
    errors = assert_reads_alike(spark, registry, spec, data)
    assert errors == [
        *["it ends too early, or is no message of Protobuf"] * 3,
        "field 1 (A) is of another type than in its schema",
        *["it ends too early, or is no message of Protobuf"] * 4,
    ]


@pytest.mark.spark
def test_headers_that_are_not_those_of_a_registry(spark: SparkSession, registry: Registry) -> None:
    avro = registry.put('"string"')
    data = [b"", b"\0", b"\1\0\0\0\1\0", b"\0\x7f\xff\xff\xff\0", b"\0" + avro.to_bytes(4) + b"\0"]
    assert [e for _, e in by_spark(spark, record([INTEGER]), data)] == [
        "not Protobuf of a schema registry: it has 0 bytes",
        "not Protobuf of a schema registry: it has 1 bytes",
        "not Protobuf of a schema registry: it begins with byte 1, not 0",
        "the schema registry has no schema 2147483647",
        f"schema {avro} is of type AVRO, not PROTOBUF",
    ]


@pytest.mark.spark
def test_a_schema_that_is_none_is_no_end_of_a_query(spark: SparkSession, registry: Registry) -> None:
    wrong = registry.put("message {", "PROTOBUF")
    good = registry.put(schema_of(record([INTEGER])), "PROTOBUF")
    data = [
        b"\0" + number.to_bytes(4) + rest for number, rest in ((wrong, b"\0"), (wrong, b"\2\2"), (good, b"\0\x08\2"))
    ]
    (_, first), (_, second), last = by_spark(spark, record([INTEGER]), data)
    assert first == second and str(first).startswith(f"schema {wrong}: ")
    assert last == (b'{"A":2}', None)


# ---------------------------------------------------------------- the registry


@pytest.mark.spark
def test_columns_are_inferred_and_made_known(spark: SparkSession) -> None:
    engine = MemoryEngine(spark)
    registry, name = shared_registry()[0], engine.config.get("ksql.schema.registry.url").rpartition("/")[2]
    engine.execute(
        "CREATE STREAM s (k STRING KEY, a INT, r STRUCT<x DECIMAL(5, 2)>, m MAP<STRING, TIMESTAMP>)"
        " WITH (kafka_topic='s', format='PROTOBUF', partitions=1);"
    )
    [key] = registry.versions("s-key", name)
    assert "string K = 1;" in key
    engine.execute("CREATE STREAM again WITH (kafka_topic='s', format='PROTOBUF');")
    found = engine.catalog.sources["AGAIN"]
    assert found.schema_text == "`K` STRING KEY, `A` INTEGER, `R` STRUCT<`X` DECIMAL(5, 2)>, `M` MAP<STRING, TIMESTAMP>"
    assert not found.key.bare
    engine.execute("INSERT INTO s (k, a) VALUES ('x', 1);")
    [stored] = engine.broker.log["s"]
    assert codec(found.key).decode(stored.record.key) == ("x",)
    assert codec(found.value).decode(stored.record.value) == (1, None, {})


@pytest.mark.spark
def test_a_message_that_is_named(spark: SparkSession) -> None:
    engine = MemoryEngine(spark)
    registry, name = shared_registry()[0], engine.config.get("ksql.schema.registry.url").rpartition("/")[2]
    text = 'syntax = "proto3"; package p; message Old { int32 a = 1; } message New { int64 a = 5; string b = 6; }'
    number = registry.register("s-value", text, "PROTOBUF", name)
    for given in ("", f", value_schema_id={number}"):
        with pytest.raises(AnalysisProblem, match=r"it has several messages: p\.Old, p\.New") as several:
            engine.execute(f"CREATE STREAM f WITH (kafka_topic='s', value_format='PROTOBUF', partitions=1{given});")
        assert (several.value.code, several.value.hint) == (
            "unusable-schema",
            "VALUE_SCHEMA_FULL_NAME names one of them",
        )
    engine.execute(
        "CREATE STREAM f WITH (kafka_topic='s', value_format='PROTOBUF', value_schema_full_name='Old', partitions=1);"
    )
    assert engine.catalog.sources["F"].schema_text == "`A` INTEGER"
    engine.execute(
        f"CREATE STREAM n WITH (kafka_topic='s', value_format='PROTOBUF', value_schema_id={number},"
        " value_schema_full_name='p.New');"
    )
    found = engine.catalog.sources["N"]
    assert found.schema_text == "`a` BIGINT, `b` STRING"
    engine.execute("INSERT INTO n (`a`, `b`) VALUES (7, 'x');")
    [stored] = engine.broker.log["s"]
    assert stored.record.value == b"\0" + number.to_bytes(4) + b"\2\2" + b"\x28\7" + b"\x32\1x"
    engine.execute(
        f"CREATE STREAM o WITH (kafka_topic='o', value_schema_id={number}, value_schema_full_name='New') AS"
        " SELECT `a` FROM n;"
    )
    sink = engine.catalog.sources["O"]
    assert registry.versions("o-value", name) == []
    assert codec(sink.value).encode([5]) == b"\0" + number.to_bytes(4) + b"\2\2" + b"\x28\5"
    for selected, odd in (
        ("`b`, `a`", "`b` STRING, `a` BIGINT"),
        ("`b`", "`b` STRING"),
        ("`a`, `b`, `a` AS c", "`C` BIGINT"),
    ):
        with pytest.raises(AnalysisProblem) as caught:
            engine.execute(
                f"CREATE STREAM w WITH (kafka_topic='w', value_schema_id={number}, value_schema_full_name='New') AS"
                f" SELECT {selected} FROM n;"
            )
        assert caught.value.code == "schema-mismatch"
        assert caught.value.message == f"schema {number} does not have these value columns at their places: {odd}"
    with pytest.raises(AnalysisProblem, match="it has no message Newer"):
        engine.execute(
            "CREATE STREAM x WITH (kafka_topic='s', value_format='PROTOBUF', value_schema_full_name='Newer');"
        )
