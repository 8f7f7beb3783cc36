"""Codecs in Python and Spark's texts follow the same rules: what is read or written is the same, byte for byte."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from ksqlpy.catalog import Column, KeySpec, PartSpec, ValueSpec
from ksqlpy.formats import JSON, Unreadable, Written, codec, read, text, write
from ksqlpy.formats.java import double_text
from ksqlpy.types import BIGINT, BYTES, DOUBLE, INTEGER, STRING, ArrayType, MapType, SqlType, StructType
from tests.formats.examples import NESTED, SCALARS, drawn, json_scalars, json_texts, lines, mutated, of_each, values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Generated = Callable[[int], int]
Data = Sequence[bytes | None]
Read = tuple[bytes | None, str | None]
FURTHER = pytest.mark.extended("generated values of further types")

RECORD: tuple[SqlType, ...] = (INTEGER, STRING, DOUBLE)
"""Of names A, B, C: JSON texts have some of them."""


def bare(format_: str, type_: SqlType) -> KeySpec:
    return KeySpec(format_, (Column("V", type_, key=True),))


def record(format_: str, types: Iterable[SqlType], delimiter: str = ",") -> ValueSpec:
    return ValueSpec(format_, tuple(Column("ABCDEFGHIJ"[i], t) for i, t in enumerate(types)), delimiter)


def columns(spec: PartSpec, row: str) -> list[Written]:
    return [
        Written(c.name, c.type, row if spec.bare else text.field(row, i)) for i, c in enumerate(spec.columns)
    ]  # fmt: skip


def in_json(spec: PartSpec) -> PartSpec:
    kind = KeySpec if spec.bare else ValueSpec
    return kind(JSON.name, spec.columns)


def frame(spark: SparkSession, data: Sequence[bytes | None]) -> DataFrame:
    return spark.createDataFrame(list(enumerate(data)), "i INT, value BINARY").coalesce(1)


# ---------------------------------------------------------------- reading


def by_spark(spark: SparkSession, spec: PartSpec, data: Data) -> list[Read]:
    """Of each text what was read, as JSON, and the error."""
    rows = frame(spark, data).selectExpr("i", f"{read(spec, 'value')} AS r")
    as_json = write(in_json(spec), columns(spec, "r.row"))
    found = rows.selectExpr("i", f"CASE WHEN r.row IS NOT NULL THEN {as_json} END AS row", "r.error").collect()
    return [(None if r is None else bytes(r), e) for _, r, e in sorted(found)]


def by_python(spec: PartSpec, data: Data) -> list[Read]:
    reader, writer = codec(spec), codec(in_json(spec))
    found: list[Read] = []
    for each in data:
        try:
            found.append((writer.encode(reader.decode(each)), None))
        except Unreadable as e:
            found.append((None, str(e)))
    return found


_NUMBER = re.compile(rb"-?[0-9]+\.[0-9]+(?:E-?[0-9]+)?")


def plain(data: bytes | None, *, exact: bool) -> bytes | None:
    """``exact`` where Java writes doubles with the fewest digits, as of version 19; else numbers in Python's form."""
    if data is None or exact:
        return data
    return _NUMBER.sub(lambda m: double_text(float(m[0])).encode(), data)


@pytest.fixture(scope="module")
def exact(spark: SparkSession) -> bool:
    version: str = spark._jvm.java.lang.System.getProperty("java.specification.version")  # type: ignore[union-attr]
    return float(version) >= 19


def reason(error: str | None) -> str | None:
    """Jackson's words for what is no JSON are its own."""
    return "not JSON" if error is not None and error.startswith("not JSON: ") else error


def assert_reads_alike(spark: SparkSession, spec: PartSpec, data: Sequence[bytes | None], exact: bool) -> None:
    # Jackson takes a name that begins with FF for the one without, if it has seen that one before.
    data = [d for d in data if d is None or not re.search(rb'"\xff[^"]*"\s*:', d)]
    assert any(e is None for _, e in by_python(spec, data))
    loose = not exact and _holds(spec, DOUBLE)
    wrong = [
        f"{d!r}: Spark {s}, Python {p}"
        for d, s, p in zip(data, by_spark(spark, spec, data), by_python(spec, data), strict=True)
        if (plain(s[0], exact=not loose), reason(s[1])) != (plain(p[0], exact=not loose), reason(p[1]))
    ]
    assert not wrong, f"{len(wrong)} of {len(data)} as {spec}:\n" + "\n".join(wrong[:20])


def _holds(spec: PartSpec, wanted: SqlType) -> bool:
    def inside(t: SqlType) -> bool:
        match t:
            case ArrayType(item) | MapType(_, item):
                return inside(item)
            case StructType(fields):
                return any(inside(f) for _, f in fields)
        return t == wanted

    return any(inside(c.type) for c in spec.columns)


def vectors(name: str) -> list[str]:
    """The cases of a reader in the JVM, whose texts every type has to take or refuse."""
    text_ = (Path(__file__).parents[1] / "jvm" / name).read_text(encoding="utf-8")
    return [line for line in text_.split("\n") if " => " in line]


@cache
def some_json(count: int) -> list[bytes]:
    told = (line.rpartition(" => ")[0].encode() for line in vectors("json_reading.txt"))
    return [*told, *drawn(mutated(json_texts()), count), *drawn(mutated(json_scalars()), count)]


@cache
def some_lines(count: int) -> list[bytes]:
    told = (line.rpartition(" => ")[0].encode() for line in vectors("delimited_reading.txt"))
    return [*told, *drawn(mutated(lines()), count)]


@pytest.mark.parametrize("type_", of_each((*SCALARS, *NESTED), FURTHER))
def test_json_is_read_alike(spark: SparkSession, type_: SqlType, exact: bool, generated: Generated) -> None:
    data = [None, *some_json(generated(400))]
    data += [w for v in drawn(values(type_), 100) if (w := codec(bare("JSON", type_)).encode([v])) is not None]
    assert_reads_alike(spark, bare("JSON", type_), data, exact)


def test_json_records_are_read_alike(spark: SparkSession, exact: bool, generated: Generated) -> None:
    names = ["A", "a", "B", "b", "C", "c", "D"]
    given = st.lists(st.tuples(st.sampled_from(names), json_texts()), max_size=5)
    objects = given.map(lambda m: b"{" + b",".join(b'"' + n.encode() + b'":' + v for n, v in m) + b"}")
    deep = [b'{"B":' + b"[" * n + b"]" * n + b"}" for n in (10, 999, 1000)]
    odd = ['{"A":1}'.encode(e) for e in ("utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-8-sig")]
    loose = [b"\xed\xa0\xbd\xed\xb8\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf7\xbf\xbf\xbf", b"\xf0\x80\x80\x80"]
    odd += [b'{"B":"' + each + b'"}' for each in loose] + [b'{"' + each + b'":1}' for each in loose]
    odd += [b'{"B":{"x":1e99999999999,"x":1}}', b'{"B":{"x":["\xed\xa0\x80"],"x":1}}', b'{"D":{"x":1e99999999999}}']
    data = [*drawn(mutated(objects), generated(600)), *deep, *odd]
    assert_reads_alike(spark, record("JSON", RECORD), data, exact)
    both = ValueSpec("JSON", (Column("A", INTEGER), Column("a", STRING), Column("b", DOUBLE)))
    assert_reads_alike(spark, both, data, exact)


@pytest.mark.parametrize("type_", of_each(SCALARS, FURTHER))
def test_lines_are_read_alike(spark: SparkSession, type_: SqlType, exact: bool, generated: Generated) -> None:
    data = [None, *some_lines(generated(400))]
    data += [w for v in drawn(values(type_), 100) if (w := codec(record("DELIMITED", [type_])).encode([v])) is not None]
    assert_reads_alike(spark, record("DELIMITED", [type_]), data, exact)
    assert_reads_alike(spark, record("DELIMITED", [STRING, type_], delimiter=" "), [b"a 1", b"a true", *data], exact)


@pytest.mark.parametrize("type_", [INTEGER, BIGINT, DOUBLE, STRING, BYTES], ids=str)
def test_kafkas_bytes_are_read_alike(spark: SparkSession, type_: SqlType, exact: bool, generated: Generated) -> None:
    exactly = st.binary(min_size=4, max_size=4) | st.binary(min_size=8, max_size=8)
    data = drawn(st.none() | st.binary(max_size=9) | exactly, generated(300))
    assert_reads_alike(spark, bare("KAFKA", type_), data, exact)


# ---------------------------------------------------------------- writing


def carried(value: Any) -> Any:
    """A value as JSON that brings it to Spark as it is: a DOUBLE as text, since -0.0 as a number is 0."""
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, list):
        return [carried(v) for v in value]
    if isinstance(value, dict):
        return {k: carried(v) for k, v in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if value is None or isinstance(value, bool | int | str) else format(value, "f")


def assert_writes_alike(spark: SparkSession, spec: PartSpec, rows: Sequence[Sequence[Any]], exact: bool) -> None:
    wrapped = ValueSpec(JSON.name, spec.columns)
    names = [c.name for c in spec.columns]
    brought = [json.dumps(dict(zip(names, map(carried, r), strict=True))).encode() for r in rows]
    read_ = frame(spark, brought).selectExpr("i", f"{read(wrapped, 'value')} AS r")
    given = [Written(c.name, c.type, text.field("r.row", i)) for i, c in enumerate(spec.columns)]
    found = read_.selectExpr("i", f"{write(spec, given)} AS out", "r.error").collect()
    assert [e for _, _, e in found if e is not None] == []
    by_codec = [codec(spec).encode(r) for r in rows]
    loose = not exact and _holds(spec, DOUBLE)
    wrong = [
        f"{r!r}: Spark {None if s is None else bytes(s)!r}, Python {p!r}"
        for r, (_, s, _), p in zip(rows, sorted(found), by_codec, strict=True)
        if plain(None if s is None else bytes(s), exact=not loose) != plain(p, exact=not loose)
    ]
    assert not wrong, f"{len(wrong)} of {len(rows)} as {spec}:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("type_", of_each((*SCALARS, *NESTED), FURTHER))
def test_json_is_written_alike(spark: SparkSession, type_: SqlType, exact: bool, generated: Generated) -> None:
    rows = [[v] for v in drawn(values(type_), generated(300))]
    assert_writes_alike(spark, bare("JSON", type_), rows, exact)


def test_json_records_are_written_alike(spark: SparkSession, exact: bool, generated: Generated) -> None:
    for types in (SCALARS[:9], NESTED):
        rows = drawn(st.tuples(*map(values, types)), generated(300))
        assert_writes_alike(spark, record("JSON", types), rows, exact)


def test_lines_are_written_alike(spark: SparkSession, exact: bool, generated: Generated) -> None:
    assert_writes_alike(spark, record("DELIMITED", [STRING]), drawn(st.tuples(values(STRING)), generated(300)), exact)
    for between in (",", "\t", "|", "é"):
        rows = drawn(st.tuples(values(STRING), *map(values, SCALARS[:9])), generated(300))
        assert_writes_alike(spark, record("DELIMITED", [STRING, *SCALARS[:9]], between), rows, exact)
    decimals = SCALARS[9:]
    rows = drawn(st.tuples(*map(values, decimals)), generated(100))
    assert_writes_alike(spark, record("DELIMITED", decimals), rows, exact)


@pytest.mark.parametrize("type_", [INTEGER, BIGINT, DOUBLE, STRING, BYTES], ids=str)
def test_kafkas_bytes_are_written_alike(spark: SparkSession, type_: SqlType, exact: bool, generated: Generated) -> None:
    rows = [[v] for v in drawn(values(type_), generated(200))]
    assert_writes_alike(spark, bare("KAFKA", type_), rows, exact)
