"""JSON_SR: schemas of columns, types of schemas, and bytes that codec and Spark take and make alike."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ksqlpy.catalog import Column, KeySpec, ValueSpec
from ksqlpy.errors import AnalysisProblem, EngineProblem
from ksqlpy.formats import codec
from ksqlpy.formats.jsonschema import schema_of, type_of
from ksqlpy.formats.jsonsr import JSON_SR
from ksqlpy.formats.subjects import Unsupported
from ksqlpy.registry import SchemaRegistry
from ksqlpy.spark.clients import tell_registry
from ksqlpy.testing.memory import MemoryEngine
from ksqlpy.testing.registry import shared_registry
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)
from tests.formats.examples import NESTED, SCALARS, drawn, of_each, values
from tests.formats.test_codecs_and_spark import assert_writes_alike, by_python, by_spark, reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UPPER = StructType((("A", INTEGER), ("B", ArrayType(DATE)), ("C", MapType(STRING, DecimalType(9, 2)))))
TYPES = (*SCALARS, *(t for t in NESTED if "STRUCT" not in str(t)), UPPER)
FURTHER = pytest.mark.extended("generated values of further types")


def bare(type_: SqlType, number: int | None = None) -> KeySpec:
    return KeySpec("JSON_SR", (Column("V", type_, key=True),), schema_id=number)


def record(type_: SqlType, number: int | None = None) -> ValueSpec:
    return ValueSpec("JSON_SR", (Column("V", type_), Column("N", INTEGER)), schema_id=number)


# ---------------------------------------------------------------- schemas


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_a_schema_has_the_type_that_it_was_made_of(type_: SqlType) -> None:
    assert type_of(schema_of(bare(type_))) == type_
    assert type_of(schema_of(record(type_))) == StructType((("V", type_), ("N", INTEGER)))


def test_columns_have_an_order_and_may_be_null() -> None:
    schema = json.loads(schema_of(record(BIGINT)))
    assert schema["properties"]["N"] == {
        "connect.index": 1,
        "oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}],
    }


OTHERS: list[tuple[Any, SqlType]] = [
    ({"type": "integer"}, BIGINT),
    ({"type": "number"}, DOUBLE),
    ({"type": ["null", "boolean"]}, BOOLEAN),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, STRING),
    ({"enum": ["a", "b"]}, STRING),
    ({"type": "string", "format": "date-time"}, STRING),
    ({"type": "string", "connect.type": "bytes"}, BYTES),
    ({"type": "array", "items": {"type": "integer", "connect.type": "int16"}}, ArrayType(INTEGER)),
    ({"type": "object", "additionalProperties": {"type": "number"}}, MapType(STRING, DOUBLE)),
    ({"type": "array", "connect.type": "map", "items": {"type": "object", "properties": {
        "key": {"type": "string"}, "value": {"type": "boolean"}}}}, MapType(STRING, BOOLEAN)),
    ({"type": "integer", "title": "org.apache.kafka.connect.data.Timestamp", "connect.type": "int64"}, TIMESTAMP),
    ({"type": "number", "title": "org.apache.kafka.connect.data.Decimal", "connect.type": "bytes",
      "connect.parameters": {"scale": "3"}}, DecimalType(38, 3)),
    ({"type": "object", "properties": {"b": {"connect.index": 1, "$ref": "#/definitions/x"},
                                       "a": {"connect.index": 0, "type": "string"}},
      "definitions": {"x": {"type": "object", "properties": {"y": {"type": "integer"}}}}},
     StructType((("A", STRING), ("B", StructType((("Y", BIGINT),)))))),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "type_"), OTHERS)
def test_types_of_other_schemas(schema: Any, type_: SqlType) -> None:
    assert type_of(json.dumps(schema)) == type_


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": ["integer", "string"]}, "a union of several types"),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "a union of several types"),
        ({"$ref": "other.json"}, "refers to other.json, which the schema registry does not give"),
        ({"type": "array", "items": {"$ref": "#"}}, "# holds itself"),
        ({"type": "array"}, "describes nothing"),
        ({}, "has no type"),
        ({"type": "object", "properties": {"a": {"type": "string"}, "A": {"type": "string"}}}, "two fields are A"),
    ],
)
def test_schemas_without_a_type(schema: Any, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        type_of(json.dumps(schema))


# ---------------------------------------------------------------- bytes


@pytest.mark.spark
@pytest.mark.parametrize("type_", of_each(TYPES, FURTHER))
def test_it_is_written_alike(spark: SparkSession, type_: SqlType, generated: Any) -> None:
    rows = [[v] for v in drawn(values(type_), generated(50))]
    assert_writes_alike(spark, bare(type_, 7), rows, True)
    assert_writes_alike(spark, record(type_, 70000), [[*r, 1] for r in rows[:20]], True)


@pytest.mark.spark
def test_it_is_read_alike(spark: SparkSession) -> None:
    registry, name = shared_registry()
    tell_registry(spark, SchemaRegistry([registry.url(name)]))
    number = registry.put(schema_of(record(STRING)), "JSON")
    front = b"\0" + number.to_bytes(4)
    texts = [b'{"V":"a","N":1}', b'{"v":"b"}', b"null", b"7", b"{", b"", b'{"N":"x"}']
    data = [None, *(front + t for t in texts), b"", b"\0\0", b'{"V":"a"}']
    found, wanted = by_spark(spark, record(STRING), data), by_python(record(STRING), data)
    assert [(row, reason(error)) for row, error in found] == [(row, reason(error)) for row, error in wanted]
    assert [e for _, e in found][-3:] == [
        "not JSON of a schema registry: it has 0 bytes",
        "not JSON of a schema registry: it has 2 bytes",
        "not JSON of a schema registry: it begins with byte 123, not 0",
    ]


@pytest.mark.spark
def test_ids_of_nothing_and_of_other_kinds(spark: SparkSession) -> None:
    registry, name = shared_registry()
    tell_registry(spark, SchemaRegistry([registry.url(name)]))
    avro = registry.put('"string"')
    found = by_spark(spark, bare(STRING), [b"\0\x7f\xff\xff\xff1", b"\0" + avro.to_bytes(4) + b'"a"'])
    assert [e for _, e in found] == [
        "the schema registry has no schema 2147483647",
        f"schema {avro} is of type AVRO, not JSON",
    ]


# ---------------------------------------------------------------- the registry


@pytest.mark.spark
def test_columns_are_inferred_and_made_known(spark: SparkSession) -> None:
    engine = MemoryEngine(spark)
    registry, name = shared_registry()[0], engine.config.get("ksql.schema.registry.url").rpartition("/")[2]
    engine.execute("CREATE STREAM s (k STRING KEY, a INT) WITH (kafka_topic='s', format='JSON_SR', partitions=1);")
    assert type_of(registry.versions("s-value", name)[0]) == StructType((("A", INTEGER),))
    engine.execute("CREATE STREAM again WITH (kafka_topic='s', format='JSON_SR');")
    found = engine.catalog.sources["AGAIN"]
    assert found.schema_text == "`ROWKEY` STRING KEY, `A` INTEGER"
    assert found.value.schema_id == engine.catalog.sources["S"].value.schema_id is not None
    engine.execute("INSERT INTO s (k, a) VALUES ('x', 1);")
    [stored] = engine.broker.log["s"]
    assert stored.record.value == codec(found.value).encode([1])
    with pytest.raises(AnalysisProblem, match="it is of type JSON") as caught:
        engine.execute("CREATE STREAM avro WITH (kafka_topic='s', format='AVRO');")
    assert caught.value.code == "unusable-schema"


def test_nothing_is_written_without_an_id() -> None:
    with pytest.raises(EngineProblem) as caught:
        JSON_SR.codec(record(STRING)).encode(["a", 1])
    assert caught.value.code == "unregistered-schema"
