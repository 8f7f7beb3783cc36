"""Records that are read in bulk are the rows that are made one by one, for all types and odd values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksqlpy.analysis.result import Output, Relation
from ksqlpy.catalog import Source
from ksqlpy.errors import KsqlError
from ksqlpy.formats import Unreadable
from ksqlpy.reading import Record, Rows, projection_of
from ksqlpy.reading.bulk import Bulk, Raw, bulk_of
from ksqlpy.reading.pieces import Piece, Reading
from ksqlpy.session.arrow import table
from ksqlpy.session.rows import Column
from ksqlpy.testing.memory import MemoryEngine

BLOCKS = [
    b.split("\n  ") for b in Path(__file__).with_name("bulk.txt").read_text(encoding="utf-8").strip().split("\n\n")
]
VALUES = [(type_, value) for type_, *values in BLOCKS for value in values]


class Ways:
    """The two ways from records of a source to columns of Arrow."""

    def __init__(self, columns: str, options: str = "VALUE_FORMAT='JSON'", kind: str = "STREAM") -> None:
        engine = MemoryEngine(None)  # type: ignore[arg-type]  # nothing is run
        engine.execute(f"CREATE {kind} s ({columns}) WITH (KAFKA_TOPIC='s', PARTITIONS=1, {options});")
        self.source: Source = engine.catalog.sources["S"]
        self.relation = Relation(self.source, "S", joined=False)
        self.outputs = [Output(c.name, self.relation.ref(c)) for c in (*self.source.keys, *self.source.values)]
        self.columns = [Column(o.name, o.expr.type) for o in self.outputs]

    @property
    def bulk(self) -> Bulk | None:
        return bulk_of(self.relation, self.outputs)

    def rows(self, records: Sequence[Record]) -> list[list[Any]]:
        """Those that are made one by one; a record that cannot be read, or has no value, has none."""
        names = {o.expr.name for o in self.outputs}  # type: ignore[attr-defined]  # all are columns
        reader, project = Rows(self.relation, names), projection_of(self.outputs)
        assert project is not None
        found = []
        for record in records:
            try:
                if self.source.kind == "TABLE" and record.key is None:
                    raise Unreadable("no key")
                row = reader.row(record)
            except Unreadable:
                continue
            if row is not None:
                found.append(project(row))
        return found

    def one_by_one(self, records: Sequence[Record]) -> pa.Table | str:
        return made(self.columns, [self.rows(records)])

    def in_bulk(self, records: Sequence[Record]) -> pa.Table | str:
        bulk = self.bulk
        if bulk is None:
            return self.one_by_one(records)
        piece = Piece(records, Reading(self.rows, raw, bulk))
        return made(self.columns, piece.batches())

    def reads(self, *records: Record) -> bool:
        """Whether these records are read in bulk."""
        return self.bulk is not None and self.bulk.read(raw(records)) is not None


ways_of = lru_cache(Ways)


def made(columns: Sequence[Column], taken: Any) -> pa.Table | str:
    """The table; of values that Arrow does not hold, what is said of them."""
    try:
        found = table(columns, taken)
    except KsqlError as e:
        return e.code
    found.validate(full=True)
    return found.combine_chunks()


def raw(records: Sequence[Record]) -> Raw:
    return Raw([r.key for r in records], [r.value for r in records], [r.time for r in records])


def record(value: str | bytes | None, key: bytes | None = None, time: int = 0) -> Record:
    return Record(key, value.encode() if isinstance(value, str) else value, time, 0, 0)


def same(one: pa.Table | str, other: pa.Table | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    # NaN is not equal to itself; -0.0 is to 0.0, but not as text.
    return one.schema == other.schema and repr(values(one)) == repr(values(other))


def values(found: pa.Table) -> list[Any]:
    """Those of all columns; times as numbers, since Python has not all of them."""
    return [found.column(n).cast(numbers(found.schema.field(n).type)).to_pylist() for n in found.column_names]


def numbers(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_list(type_):
        return pa.list_(numbers(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([(f.name, numbers(f.type)) for f in type_])
    if pa.types.is_timestamp(type_):
        return pa.int64()
    return pa.int32() if pa.types.is_date(type_) or pa.types.is_time(type_) else type_


@pytest.mark.parametrize(("type_", "value"), VALUES, ids=[f"{t} {v}" for t, v in VALUES])
def test_a_value(type_: str, value: str) -> None:
    how, text = value.split(" ", 1)
    ways = ways_of(f"v {type_}")
    one = record(f'{{"V": {text}}}')
    assert ways.reads(one) == (how == "+")
    assert same(ways.in_bulk([one]), ways.one_by_one([one]))


@pytest.mark.parametrize("block", BLOCKS, ids=[b[0] for b in BLOCKS])
def test_values_among_many(block: list[str]) -> None:
    type_, *values = block
    texts = [v.split(" ", 1)[1] for v in values if v.startswith("+") or len(values) < 4]
    ways = Ways(f"v {type_}, id INT")
    records = [record(f'{{"V":{texts[n % len(texts)]},"ID":{n}}}') if texts else record("{}") for n in range(3_000)]
    assert same(ways.in_bulk(records), ways.one_by_one(records))
    odd = [v.split(" ", 1)[1] for v in values if v.startswith("-")]
    for place, text in enumerate(odd):
        records[place * 300 % 3_000] = record(f'{{"V":{text},"ID":{place}}}')
    assert same(ways.in_bulk(records), ways.one_by_one(records))


TEXTS = [
    "", " ", "null", "1", "[]", "{", "}", "{}", "{} ", ' {"V":1}', '{"V":1}\n', '{"V":1} {"V":2}', '{"V":1}{"V":2}',
    '{"V":1}\n{"V":2}', '{"V":1', '"V":2}', '{"V":1},', '{"V":1}}', '{"v":1}', '{"V":1,"v":2}', '{"v":1,"V":2}',
    '{"V":1,"V":2}', '{"W":1}', '{"W":NaN}', '{"W":{"V":[1,{"V":"NaN"}]}}', '{"W":"\\ud800"}', '{"V":1,"W":01}',
    '{"V":1,}', "{'V':1}", '{"V":1/**/}', '{"V":+1}', '{"V":.5}', '{"V":1.}', '{"\\u0056":1}', '{"V":1,"":2}',
    '{"V":1,"W":' + "9" * 400 + "}", '{"V":1,"W":0.' + "9" * 1200 + "}", '{"V":1,"W":' + "[" * 1100 + "]" * 1100 + "}",
    '{"V":1,"W":"' + "x" * 2000 + '"}', "\ufeff" + '{"V":1}',
]  # fmt: skip
BYTES = [b'{"V":1,"W":"\xff"}', b'{"V":1,"W\xff":2}', b'{"V":1,"W":"\xed\xa0\x80"}', b'{"V":1}\x00', b"\x00{\x00}"]


def test_texts_that_are_no_usual_objects() -> None:
    ways = Ways("v INT, w2 STRING")
    texts = [t.encode() for t in TEXTS] + BYTES
    usual = record('{"V":7,"W2":"x"}')
    for text in texts:
        odd = record(text)
        for records in ([odd], [usual, odd, usual], [odd, odd], [odd, record("")]):
            assert same(ways.in_bulk(records), ways.one_by_one(records)), text
    for one in texts:
        for other in texts[:18]:  # what may be taken for a part of the next one, or for two
            records = [record(one), record(other)]
            assert same(ways.in_bulk(records), ways.one_by_one(records)), (one, other)


def test_names_that_mean_no_column_are_passed_over_in_bulk() -> None:
    ways = Ways("v INT")
    assert ways.reads(record('{"V":1,"more":"x","other":{"V":"y"}}'), record('{"even":[1],"V":2}'))
    assert not Ways("v INT, `v` INT").reads(record('{"V":1}'))


KEYS: list[tuple[str, str, list[bytes | None], bool]] = [
    ("INT", "KAFKA", [b"\0\0\0\1", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"], True),
    ("INT", "KAFKA", [b"\0\0\0\1", b"\1", b"\0\0\0\0\1"], False),
    ("INT", "KAFKA", [None, None], True),
    ("INT", "KAFKA", [None, b"\0\0\0\1"], False),
    ("BIGINT", "KAFKA", [b"\x80" + bytes(7), bytes(7) + b"\1"], True),
    ("DOUBLE", "KAFKA", [b"\x7f\xf8" + bytes(6), b"\x3f\xe0" + bytes(6), b"\xff\xf0" + bytes(6)], True),
    ("DOUBLE", "KAFKA", [b"\x80" + bytes(7), bytes(8)], False),
    ("STRING", "KAFKA", [b"a", None, b"", "é".encode()], True),
    ("STRING", "KAFKA", [b"a", b"\xff"], False),
    ("BYTES", "KAFKA", [b"\0\xff", None, b""], True),
    ("INT", "JSON", [b"1", b"-5"], True),
    ("INT", "JSON", [b"1", b"2 3"], False),
    ("INT", "JSON", [b'1}\n{"K":2', b""], False),
    ("INT", "JSON", [b'1,"K":2', b'1,"z":2'], False),
    ("STRING", "JSON", [b'"a"', b'"\\n"'], True),
    ("STRING", "JSON", [b'"a', b'"'], False),
    ("STRING", "JSON", [b"null", b'"a"'], True),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "format_", "keys", "bulk"), KEYS)
def test_keys(type_: str, format_: str, keys: list[bytes | None], bulk: bool) -> None:
    for kind, column in (("STREAM", "KEY"), ("TABLE", "PRIMARY KEY")):
        ways = Ways(f"k {type_} {column}, v INT", f"KEY_FORMAT='{format_}', VALUE_FORMAT='JSON'", kind)
        records = [record(f'{{"V":{n}}}', key) for n, key in enumerate(keys)]
        assert ways.reads(*records) == (bulk and not (kind == "TABLE" and None in keys))
        assert same(ways.in_bulk(records), ways.one_by_one(records))


def test_keys_of_several_columns() -> None:
    ways = Ways("a INT KEY, b STRING KEY, v INT", "FORMAT='JSON'")
    records = [record(f'{{"V":{n}}}', b'{"A":%d,"B":"x"}' % n) for n in range(3)]
    assert ways.reads(*records)
    assert same(ways.in_bulk(records), ways.one_by_one(records))


def test_records_without_a_row() -> None:
    ways = Ways("k STRING KEY, v INT")
    records = [record('{"V":1}', b"a"), record(None, b"b"), record('{"V":2}', b"c"), record('{"V":3}', b"d", -1)]
    assert ways.reads(*records[:3]) and not ways.reads(*records)
    assert same(ways.in_bulk(records), ways.one_by_one(records))
    assert same(ways.in_bulk([record(None)]), ways.one_by_one([record(None)]))
    assert same(ways.in_bulk([]), ways.one_by_one([]))


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ("v INT", "VALUE_FORMAT='DELIMITED'"),
        ("v BYTES", "VALUE_FORMAT='JSON'"),
        ("v INT, made BIGINT", "VALUE_FORMAT='JSON', TIMESTAMP='made'"),
        ("k STRING KEY, v INT", "VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION'"),
    ],
)
def test_what_is_never_read_in_bulk(columns: str, options: str) -> None:
    assert Ways(columns, options).bulk is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text(max_size=3)
    | st.sampled_from([0, 1, 2**31 - 1, 2**31, -(2**31), 86_400_000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("AaBz"), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
TYPES = [
    "INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN", "DECIMAL(6, 2)", "DATE", "TIME", "TIMESTAMP", "ARRAY<INT>",
    "ARRAY<STRING>", "STRUCT<A INT, B STRING>", "ARRAY<STRUCT<A DOUBLE>>", "STRUCT<A ARRAY<BIGINT>>",
]  # fmt: skip
WAYS = {type_: Ways(f"v {type_}, a INT") for type_ in TYPES}


@given(st.sampled_from(TYPES), st.lists(JSON, min_size=1, max_size=3))
@settings(max_examples=300, derandomize=True)
def test_any_values(type_: str, values: list[Any]) -> None:
    records = [record(json.dumps({"V": v})) for v in values]
    assert same(WAYS[type_].in_bulk(records), WAYS[type_].one_by_one(records))
