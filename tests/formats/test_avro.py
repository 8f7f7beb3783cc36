"""AVRO: schemas of columns, columns of schemas, and bytes that codec and Spark take and make alike."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from hypothesis import strategies as st

from ksqlpy.catalog import Column, KeySpec, PartSpec, Schema, ValueSpec
from ksqlpy.errors import AnalysisProblem
from ksqlpy.formats import Unreadable, codec
from ksqlpy.formats.avro import AVRO
from ksqlpy.formats.avroschema import key_name, schema_of, type_of
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
from tests.formats.test_codecs_and_spark import assert_writes_alike, by_spark, in_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AVRO_NAMES = StructType((("A", INTEGER), ("a", STRING), ("B", DecimalType(9, 8)), ("odd_d", DATE)))
TYPES = (*SCALARS, *(t for t in NESTED if not isinstance(t, StructType)), AVRO_NAMES)
FURTHER = pytest.mark.extended("generated values of further types")


def bare(type_: SqlType, number: int | None = None) -> KeySpec:
    return KeySpec("AVRO", (Column("V", type_, key=True),), schema_id=number)


def record(types: Sequence[SqlType], number: int | None = None) -> ValueSpec:
    return ValueSpec(
        "AVRO", tuple(Column("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i], t) for i, t in enumerate(types)), schema_id=number
    )


@pytest.fixture
def registry(spark: SparkSession) -> Iterator[Registry]:
    found, name = shared_registry()
    tell_registry(spark, SchemaRegistry([found.url(name)]))
    yield found


# ---------------------------------------------------------------- schemas


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_a_schema_has_the_columns_that_it_was_made_of(type_: SqlType) -> None:
    if isinstance(type_, StructType):  # of which names in other case stay not apart
        type_ = StructType((("A", INTEGER), ("ODD_D", DATE)))
    elif isinstance(type_, ArrayType) and isinstance(type_.item, StructType):
        type_ = ArrayType(StructType((("K", MapType(STRING, BYTES)), ("T", TIME))))
    spec = record([type_, INTEGER])
    fastavro.parse_schema(json.loads(schema_of(spec)))
    assert type_of(schema_of(spec)) == StructType(tuple((c.name, c.type) for c in spec.columns))
    alone = schema_of(bare(type_))
    fastavro.parse_schema(json.loads(alone))
    assert type_of(alone) == type_


def test_names_of_records() -> None:
    inner = StructType((("X", MapType(STRING, StructType((("Z", INTEGER),)))),))
    schema = json.loads(schema_of(record([ArrayType(inner)]), key_name("MY_COUNTS")))
    assert (schema["namespace"], schema["name"]) == ("io.confluent.ksql.avro_schemas", "MyCountsKey")
    item = schema["fields"][0]["type"][1]["items"][1]
    assert item["name"] == "MyCountsKey_A"
    entry = item["fields"][0]["type"][1]["items"]
    assert (entry["name"], entry["connect.internal.type"]) == ("MyCountsKey_A_X", "MapEntry")
    assert entry["fields"][1]["type"][1]["name"] == "MyCountsKey_A_X_MapValue"


OTHERS: list[tuple[Any, SqlType]] = [
    ("float", DOUBLE),
    (["string", "null"], STRING),
    ({"type": "enum", "name": "e", "symbols": ["a"]}, STRING),
    ({"type": "fixed", "name": "f", "size": 3}, BYTES),
    ({"type": "fixed", "name": "f", "size": 3, "logicalType": "decimal", "precision": 6, "scale": 1},
     DecimalType(6, 1)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 6}, DecimalType(6, 0)),
    ({"type": "int", "logicalType": "date"}, DATE),
    ({"type": "int", "logicalType": "time-millis"}, TIME),
    ({"type": "long", "logicalType": "timestamp-millis"}, TIMESTAMP),
    ({"type": "long", "logicalType": "timestamp-micros"}, BIGINT),
    ({"type": "map", "values": {"type": "array", "items": ["null", "boolean"]}}, MapType(STRING, ArrayType(BOOLEAN))),
    ({"type": {"type": "string", "avro.java.string": "String"}}, STRING),
    ({"type": "array", "items": {"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]}},
     ArrayType(StructType((("X", INTEGER),)))),
    ({"type": "record", "name": "r", "namespace": "n", "fields": [
        {"name": "a", "type": {"type": "enum", "name": "e", "symbols": ["a"]}}, {"name": "b", "type": ["null", "n.e"]},
        {"name": "c", "type": "e"}]}, StructType((("A", STRING), ("B", STRING), ("C", STRING)))),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "type_"), OTHERS)
def test_columns_of_other_schemas(schema: Any, type_: SqlType) -> None:
    assert type_of(json.dumps(schema)) == type_


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (["null", "int", "string"], "a union of several types"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}, "a decimal of 64 digits"),
        ({"type": "record", "name": "r", "fields": [{"name": "n", "type": ["null", "r"]}]},
         "the record r holds itself"),
        ({"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}, {"name": "N", "type": "int"}]},
         "two fields are N"),
        ("null", "the type null"),
    ],
)  # fmt: skip
def test_schemas_without_columns(schema: Any, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        type_of(json.dumps(schema))


# ---------------------------------------------------------------- bytes


@pytest.mark.spark
@pytest.mark.parametrize("type_", of_each(TYPES, FURTHER))
def test_avro_is_written_alike(spark: SparkSession, type_: SqlType, generated: Any, registry: Registry) -> None:
    rows = [[v] for v in drawn(values(type_), generated(200))]
    assert_writes_alike(spark, bare(type_, 7), rows, True)
    assert_writes_alike(spark, record([type_], 70000), rows[:50], True)


def assert_reads_alike(spark: SparkSession, registry: Registry, spec: PartSpec, data: Sequence[bytes]) -> list[str]:
    """Gives the errors."""

    def lookup(number: int) -> Schema:
        found = registry.answer("GET", f"/main/schemas/ids/{number}", None)[1]
        if "schema" not in found:
            raise Unreadable(f"the schema registry has no schema {number}")
        return Schema(str(found["schema"]))

    reader, writer = AVRO.codec(spec, lookup), codec(in_json(spec))
    by_python: list[tuple[bytes | None, str | None]] = []
    for each in data:
        try:
            by_python.append((writer.encode(reader.decode(each)), None))
        except Unreadable as e:
            by_python.append((None, str(e)))
    wrong = [
        f"{d!r}: Spark {s}, Python {p}"
        for d, s, p in zip(data, by_spark(spark, spec, data), by_python, strict=True)
        if s != p
    ]
    assert not wrong, f"{len(wrong)} of {len(data)} as {spec}:\n" + "\n".join(wrong[:20])
    return [e for _, e in by_python if e is not None]


WRITERS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", st.integers(-(2**63), 2**63 - 1) | st.integers(0, 86_400_000_001)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats()),
    ("boolean", st.booleans()),
    ("string", st.text(max_size=5)),
    ("bytes", st.binary(max_size=5)),
    (["string", "null"], st.none() | st.text(max_size=5)),
    (["null", "int", "string"], st.integers(0, 9) | st.text(max_size=5)),
    ({"type": "enum", "name": "e", "symbols": ["a", "B"]}, st.sampled_from(["a", "B"])),
    ({"type": "fixed", "name": "f", "size": 3}, st.binary(min_size=3, max_size=3)),
    ({"type": "int", "logicalType": "date"}, st.integers(-(2**31), 2**31 - 1)),
    ({"type": "int", "logicalType": "time-millis"}, st.integers(-1, 86_400_001)),
    ({"type": "long", "logicalType": "time-micros"}, st.integers(-1, 86_400_001_000)),
    ({"type": "long", "logicalType": "timestamp-millis"},
     st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2 * 10**12)),
    ({"type": "long", "logicalType": "timestamp-micros"}, st.integers(-(2**63), 2**63 - 1)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3}, st.binary(max_size=4)),
    ({"type": "fixed", "name": "f", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 0},
     st.binary(min_size=4, max_size=4)),
    ({"type": "array", "items": ["null", "int"]}, st.lists(st.none() | st.integers(0, 9), max_size=3)),
    ({"type": "map", "values": "double"}, st.dictionaries(st.text(max_size=3), st.floats(-9, 9), max_size=3)),
    ({"type": "array", "items": {"type": "record", "name": "r", "connect.internal.type": "MapEntry", "fields": [
        {"name": "key", "type": ["null", "string"]}, {"name": "value", "type": "double"}]}},
     st.lists(st.fixed_dictionaries({"key": st.none() | st.text(max_size=2), "value": st.floats(-9, 9)}), max_size=3)),
    ({"type": "record", "name": "r", "fields": [
        {"name": "a", "type": "int"}, {"name": "b", "type": {"type": "array", "items": "string"}},
        {"name": "Odd_d", "type": "int"}]},
     st.fixed_dictionaries({"a": st.integers(0, 9), "b": st.lists(st.text(max_size=2), max_size=2),
                            "Odd_d": st.integers(0, 9)})),
]  # fmt: skip


def raw(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {k: raw(v) for k, v in schema.items() if k != "logicalType"}
    return [raw(s) for s in schema] if isinstance(schema, list) else schema


def bytes_of(schema: Any, number: int, value: Any) -> bytes:
    out = io.BytesIO()
    out.write(b"\0" + number.to_bytes(4))
    fastavro.schemaless_writer(out, fastavro.parse_schema(raw(schema)), value)
    return out.getvalue()


@pytest.mark.spark
@pytest.mark.parametrize("type_", of_each(TYPES, FURTHER))
def test_avro_of_other_schemas_is_read_alike(
    spark: SparkSession, type_: SqlType, generated: Any, registry: Registry
) -> None:
    data = []
    for schema, strategy in WRITERS:
        number = registry.put(json.dumps(schema))
        within = {"type": "record", "name": "R", "fields": [
            {"name": "before", "type": schema}, {"name": "v", "type": schema}]}  # fmt: skip
        data += [bytes_of(schema, number, v) for v in drawn(strategy, generated(15))]
        if not isinstance(schema, dict) or "name" not in json.dumps(schema):
            inside = registry.put(json.dumps(within))
            data += [bytes_of(within, inside, {"before": v, "v": v}) for v in drawn(strategy, 5)]
    own = registry.put(schema_of(bare(type_)))
    rows = [v for v in drawn(values(type_), generated(60)) if v is not None]
    data += [w for v in rows if (w := codec(bare(type_, own)).encode([v])) is not None]
    assert 0 < len(assert_reads_alike(spark, registry, bare(type_), data)) < len(data)
    assert_reads_alike(spark, registry, record([type_]), data)
    assert_reads_alike(spark, registry, ValueSpec("AVRO", (Column("V", type_),)), data)


@pytest.mark.spark
@pytest.mark.parametrize("type_", of_each(TYPES, FURTHER))
def test_broken_avro_is_unreadable(spark: SparkSession, type_: SqlType, registry: Registry) -> None:
    own = registry.put(schema_of(record([type_, STRING])))
    rows = [r for r in drawn(st.tuples(values(type_), st.text(min_size=1, max_size=3)), 40) if r[0] is not None]
    whole = [w for r in rows if (w := codec(record([type_, STRING], own)).encode(r)) is not None]
    cut = [w[:-n] for w in whole for n in (1, 2)] + [w + b"\0" for w in whole]
    errors = assert_reads_alike(spark, registry, record([type_, STRING]), cut)
    assert len(errors) == len(cut)
    assert set(errors) <= {f"it ends too early, or is not what schema {own} describes"}


@pytest.mark.spark
def test_headers_that_are_not_avros(spark: SparkSession, registry: Registry) -> None:
    data = [b"", b"\0", b"\0\0\0\0", b"\1\0\0\0\1\0", b"\xff\0\0\0\1", b"\0\x7f\xff\xff\xff\0", b"\0\xff\xff\xff\xff\0"]
    errors = assert_reads_alike(spark, registry, bare(INTEGER), data)
    assert errors[-1] == "the schema registry has no schema -1"
    assert len(errors) == len(data)


@pytest.mark.spark
def test_a_schema_of_another_kind(spark: SparkSession, registry: Registry) -> None:
    number = registry.put('syntax = "proto3"; message M {}', "PROTOBUF")
    [(_, error)] = by_spark(spark, bare(INTEGER), [b"\0" + number.to_bytes(4) + b"\0"])
    assert error == f"schema {number} is of type PROTOBUF, not AVRO"


@pytest.mark.spark
def test_lengths_that_cannot_be_take_no_memory(spark: SparkSession, registry: Registry) -> None:
    text, items = registry.put('"string"'), registry.put('{"type":"array","items":"int"}')
    huge = [b"\xfe\xff\xff\xff\x0f", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x01"]
    for number, type_ in ((text, STRING), (items, ArrayType(INTEGER))):
        found = by_spark(spark, bare(type_), [b"\0" + number.to_bytes(4) + each for each in huge])
        assert [e for _, e in found] == [f"it ends too early, or is not what schema {number} describes"] * 3


# ---------------------------------------------------------------- the registry


@pytest.mark.spark
def test_records_wait_while_the_registry_is_away(spark: SparkSession) -> None:
    import threading

    own = Registry().start()
    number, url = own.put('"int"'), own.url()
    own.away = True
    tell_registry(spark, SchemaRegistry([url]))
    asked = f"GET /schemas/ids/{number}"

    def return_when_missed() -> None:
        while own.asked.count(asked) <= 2 and not own.stopped:
            time.sleep(0.05)
        own.away = False

    back = threading.Thread(target=return_when_missed)
    back.start()
    try:
        assert by_spark(spark, bare(INTEGER), [b"\0" + number.to_bytes(4) + b"\x54"]) == [(b"42", None)]
        assert own.asked.count(asked) > 2
    finally:
        own.stop()
        back.join()


@pytest.mark.spark
def test_columns_are_inferred_and_made_known(spark: SparkSession) -> None:
    engine = MemoryEngine(spark)
    registry, name = shared_registry()[0], engine.config.get("ksql.schema.registry.url").rpartition("/")[2]
    engine.execute(
        "CREATE STREAM s (k STRING KEY, a INT, r STRUCT<x DECIMAL(5, 2)>, m MAP<STRING, TIMESTAMP>)"
        " WITH (kafka_topic='s', format='AVRO', partitions=1);"
    )
    assert [json.loads(s) for s in registry.versions("s-key", name)] == ["string"]
    engine.execute("CREATE STREAM again WITH (kafka_topic='s', format='AVRO');")
    found = engine.catalog.sources["AGAIN"]
    assert found.schema_text == (
        "`ROWKEY` STRING KEY, `A` INTEGER, `R` STRUCT<`X` DECIMAL(5, 2)>, `M` MAP<STRING, TIMESTAMP>"
    )
    assert found.value.schema_id == engine.catalog.sources["S"].value.schema_id is not None
    engine.execute("CREATE STREAM bare WITH (wrap_single_value=false) AS SELECT k, a FROM s;")
    assert [json.loads(s) for s in registry.versions("BARE-value", name)] == ["int"]
    with pytest.raises(AnalysisProblem, match=r"it is no record, but INTEGER.*") as caught:
        engine.execute("CREATE STREAM b (k STRING KEY) WITH (kafka_topic='BARE', format='AVRO');")
    assert caught.value.code == "unusable-schema" and "WRAP_SINGLE_VALUE" in str(caught.value.hint)
    engine.execute("CREATE STREAM b (k STRING KEY) WITH (kafka_topic='BARE', format='AVRO', wrap_single_value=false);")
    assert engine.catalog.sources["B"].schema_text == "`K` STRING KEY, `ROWVAL` INTEGER"
    assert not engine.catalog.sources["B"].value.wrapped


@pytest.mark.spark
def test_an_incompatible_sink_is_refused(spark: SparkSession) -> None:
    engine = MemoryEngine(spark)
    registry, name = shared_registry()[0], engine.config.get("ksql.schema.registry.url").rpartition("/")[2]
    registry.register("refused-value", '"long"', name=name)
    registry.compatibility["refused-value"] = "BACKWARD"
    engine.execute("CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='JSON', partitions=1);")
    with pytest.raises(AnalysisProblem, match="TYPE_MISMATCH") as caught:
        engine.execute("CREATE STREAM o WITH (kafka_topic='refused', value_format='AVRO') AS SELECT * FROM s;")
    assert caught.value.code == "incompatible-schema"
    assert "O" not in engine.catalog.sources


PHYSICAL = {"type": "record", "name": "Order", "namespace": "com.example", "fields": [
    {"name": "id", "type": "long"}, {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
    {"name": "tags", "type": {"type": "map", "values": "string"}},
    {"name": "price", "type": {"type": "fixed", "name": "Price", "size": 4, "logicalType": "decimal", "precision": 6,
                               "scale": 2}},
    {"name": "extra", "type": ["null", "string"], "default": None},
    {"name": "count", "type": "int", "default": 3}]}  # fmt: skip


@pytest.mark.spark
def test_records_are_written_by_the_schema_of_an_id(spark: SparkSession) -> None:
    engine = MemoryEngine(spark)
    registry, name = shared_registry()[0], engine.config.get("ksql.schema.registry.url").rpartition("/")[2]
    number = registry.register("theirs", json.dumps(PHYSICAL), name=name)
    engine.execute(
        f"CREATE STREAM s WITH (kafka_topic='s', value_format='AVRO', value_schema_id={number}, partitions=1);"
    )
    assert registry.asked.count(f"GET /schemas/ids/{number}") == 1  # what its check found is run
    assert engine.catalog.sources["S"].schema_text == (
        "`id` BIGINT, `kind` STRING, `tags` MAP<STRING, STRING>, `price` DECIMAL(6, 2), `extra` STRING, `count` INTEGER"
    )
    engine.execute("INSERT INTO s (`id`, `kind`, `count`, `tags`, `price`) VALUES (7, 'B', 1, MAP('k' := 'v'), -1.5);")
    [stored] = engine.broker.log["s"]
    wanted = {"extra": None, "id": 7, "kind": "B", "count": 1, "tags": {"k": "v"}, "price": b"\xff\xff\xff\x6a"}
    assert stored.record.value == bytes_of(PHYSICAL, number, wanted)
    engine.execute(f"CREATE STREAM o WITH (value_schema_id={number}) AS SELECT `id`, `kind`, `tags`, `price` FROM s;")
    spec = engine.catalog.sources["O"].value
    assert registry.versions("O-value", name) == []
    rows = [[n, k, {"a": "b"}, Decimal("2.50")] for n, k in ((1, "A"), (-1, "B"))]
    assert_writes_alike(spark, spec, rows, True)
    filled = {**wanted, "id": 1, "kind": "A", "count": 3, "tags": {"a": "b"}, "price": b"\0\0\0\xfa"}
    assert codec(spec).encode(rows[0]) == bytes_of(PHYSICAL, number, filled)
    with pytest.raises(ValueError, match="a value is null"):
        codec(spec).encode([None, "A", {}, Decimal(0)])
    for odd in ("`id` AS id", "`kind`, `id`", "`id`, `tags`", "`id`, CAST(`kind` AS BYTES) AS `kind`", "*, 1 AS more"):
        with pytest.raises(AnalysisProblem) as caught:
            engine.execute(f"CREATE STREAM w WITH (value_schema_id={number}) AS SELECT {odd} FROM s;")
        assert caught.value.code == "schema-mismatch"
        assert "it has `id` BIGINT, `kind` STRING" in str(caught.value.hint)
    with pytest.raises(AnalysisProblem, match="no schema 999999") as caught:
        engine.execute("CREATE STREAM x WITH (kafka_topic='s', value_format='AVRO', value_schema_id=999999);")
    assert caught.value.code == "unknown-schema"


@pytest.mark.spark
def test_the_name_of_a_record(spark: SparkSession) -> None:
    engine = MemoryEngine(spark)
    registry, name = shared_registry()[0], engine.config.get("ksql.schema.registry.url").rpartition("/")[2]
    engine.execute(
        "CREATE STREAM s (a INT, r STRUCT<x INT>) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
    )
    engine.execute(
        "CREATE STREAM o WITH (value_format='AVRO', value_schema_full_name='com.example.Order') AS SELECT * FROM s;"
    )
    schema = json.loads(registry.versions("O-value", name)[0])
    assert (schema["namespace"], schema["name"], schema["connect.name"]) == (
        "com.example", "Order", "com.example.Order",
    )  # fmt: skip
    assert schema["fields"][1]["type"][1]["name"] == "Order_R"


@pytest.mark.spark
def test_schemas_that_refer_to_others(spark: SparkSession, registry: Registry) -> None:
    unit = {"type": "enum", "name": "Unit", "namespace": "u", "symbols": ["KG", "LB"]}
    registry.register("units", json.dumps(unit))
    weight = {"type": "record", "name": "Weight", "fields": [{"name": "n", "type": "double"}, {"name": "unit",
              "type": "u.Unit"}]}  # fmt: skip
    number = registry.put(json.dumps(weight), "AVRO", [{"name": "u.Unit", "subject": "units", "version": 1}])
    found = SchemaRegistry([registry.url()]).schema(number)
    assert found is not None and found.references == (("u.Unit", json.dumps(unit)),)
    assert type_of(found.text, found.references) == StructType((("N", DOUBLE), ("UNIT", STRING)))
    tell_registry(spark, SchemaRegistry([registry.url()]))
    spec = ValueSpec("AVRO", (Column("N", DOUBLE), Column("UNIT", STRING)))
    data = b"\0" + number.to_bytes(4) + b"\0" * 6 + b"\x08\x40" + b"\2"
    assert by_spark(spark, spec, [data]) == [(b'{"N":3.0,"UNIT":"LB"}', None)]
    assert AVRO.codec(spec, lambda _: Schema(found.text, found.references)).decode(data) == (3.0, "LB")


@pytest.mark.spark
def test_a_schema_that_is_referred_to_may_come_later(spark: SparkSession, registry: Registry) -> None:
    outer = {"type": "record", "name": "Later", "fields": [{"name": "A", "type": "l.Inner"}]}
    number = registry.put(json.dumps(outer), "AVRO", [{"name": "l.Inner", "subject": "later", "version": 1}])
    spec = ValueSpec("AVRO", (Column("A", StructType((("B", INTEGER),))),))
    data = b"\0" + number.to_bytes(4) + b"\4"
    missing = f"schema {number} refers to version 1 of later, which is not there"
    asked = f"GET /schemas/ids/{number}"
    tell_registry(spark, SchemaRegistry([registry.url()]))
    assert by_spark(spark, spec, [data, data]) == [(None, missing)] * 2
    assert registry.asked.count(asked) == 1
    inner = {"type": "record", "name": "Inner", "namespace": "l", "fields": [{"name": "B", "type": "int"}]}
    registry.register("later", json.dumps(inner))
    for _ in range(50):
        found = by_spark(spark, spec, [data])
        if found != [(None, missing)]:
            break
        time.sleep(0.2)
    assert found == [(b'{"A":{"B":2}}', None)]


@pytest.mark.spark
def test_a_source_over_records_of_others_is_written_once_its_schema_is_known(spark: SparkSession) -> None:
    engine = MemoryEngine(spark)
    registry, name = shared_registry()[0], engine.config.get("ksql.schema.registry.url").rpartition("/")[2]
    registry.register("s-value", '{"type":"record","name":"Theirs","fields":[{"name":"a","type":"int"}]}', name=name)
    engine.execute("CREATE STREAM s (a INT) WITH (kafka_topic='s', value_format='AVRO', partitions=1);")
    assert engine.catalog.sources["S"].value.schema_id is None
    assert len(registry.versions("s-value", name)) == 1
    engine.execute("INSERT INTO s (a) VALUES (1);")
    spec = engine.catalog.sources["S"].value
    assert registry.versions("s-value", name)[1] == schema_of(spec)
    [stored] = engine.broker.log["s"]
    assert stored.record.value == codec(spec).encode([1])
    engine.execute("ALTER STREAM s ADD COLUMN b STRING;")
    engine.execute("INSERT INTO s (a, b) VALUES (2, 'x');")
    assert len(registry.versions("s-value", name)) == 3
    assert codec(engine.catalog.sources["S"].value).decode(engine.broker.log["s"][1].record.value) == (2, "x")
