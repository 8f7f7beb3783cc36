"""Stored plans come back as they were, whatever they are made of; what cannot be read says why."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksqlpy.analysis import typed as t
from ksqlpy.catalog import Column, KeySpec, Schema, Source, ValueSpec
from ksqlpy.functions import FUNCTIONS, Functions
from ksqlpy.plan import Plan, stored
from ksqlpy.plan.stored import codec
from ksqlpy.plan.stored.migrations import migrated
from ksqlpy.plan.stored.names import CLASSES, FIELDS
from ksqlpy.types import BOOLEAN, DOUBLE, INTEGER, STRING, ArrayType, DecimalType, MapType, Scalar, SqlType, StructType
from tests.plan.stored_plans import plans_of, plans_of_streams, sources_of_streams

NAMES = Path(__file__).with_name("stored_names.txt")


def same(value: Any, kind: type) -> None:
    """The value comes back from text, equal also in what == does not see: 1 and True, 1 and 1.0."""
    text = stored.canonical(stored.to_data(value))
    back = stored.from_data(json.loads(text), kind)
    assert back == value
    assert repr(back) == repr(value)
    assert stored.canonical(stored.to_data(back)) == text


def text_of(plan: Plan) -> str:
    return stored.canonical(stored.write(plan))


def read(text: str) -> Plan:
    return stored.read(json.loads(text))


def test_plans_and_sources_of_all_cases_come_back() -> None:
    kinds: set[type] = set()

    def look(data: Any) -> None:
        if isinstance(data, dict):
            kinds.add(data.get("@"))
            data = list(data.values())
        if isinstance(data, list):
            for part in data:
                look(part)

    number = 0
    for name, plan in plans_of_streams():
        number += 1
        text = text_of(plan)
        back = read(text)
        assert back == plan, name
        assert repr(back) == repr(plan), name
        assert text_of(back) == text, name
        look(json.loads(text))
    assert number > 250
    for source in sources_of_streams():
        same(source, Source)
    # All that a plan can be made of is in some case, so that it is known to come back.
    never = {
        "query",
        "view",
        "select",
        "join",
        "grouping",
        "ranking",
        "schema",
    }  # beside plans, or in what they were of
    assert {n for n in CLASSES if n not in kinds} == never


SELECTS = """
CREATE STREAM s (k STRING KEY, v INT, a ARRAY<INT>) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');
CREATE TABLE d (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 'd', VALUE_FORMAT = 'JSON');
CREATE STREAM o AS {};
"""


def test_sources_with_schemas_of_a_registry_come_back() -> None:
    schema = Schema("syntax = 'proto3';", (("a.proto", "enum A { X = 0; }"), ("b.proto", "")))
    key = KeySpec("PROTOBUF", schema_id=3, schema=schema, schema_name="p.K", wrapped=True)
    value = ValueSpec("PROTOBUF", schema_name="p.V", nulls="OPTIONAL")
    columns = (Column("K", STRING, key=True), Column("V", INTEGER))
    same(Source("S", "STREAM", "s", columns, key, value, "CREATE STREAM s …"), Source)


@pytest.mark.parametrize(
    ("before", "after"), [("abs(", ")"), ("CASE WHEN v > 0 THEN ", " END"), ("a[", "]"), ("TRANSFORM(a, x => ", ")[1]")]
)
def test_high_expressions_come_back(before: str, after: str) -> None:
    """As high as the parser takes them."""
    heights = []
    for height in range(10, 101, 5):
        plans, _ = plans_of(SELECTS.format(f"SELECT k, {before * height}v{after * height} AS x FROM s"))
        for plan in plans.values():
            assert read(text_of(plan)) == plan
            heights.append(height)
    assert max(heights) >= 20


def test_long_sums_and_queries_in_queries_come_back() -> None:
    inner = "s"
    for _ in range(30):
        inner = f"(SELECT k, v + 1E0 AS v FROM {inner})"
    for select in (f"SELECT k, {' + '.join(['v'] * 190)} + 1.5 AS x FROM s", f"SELECT k, v FROM {inner} WHERE v > 0"):
        plans, _ = plans_of(SELECTS.format(select))
        assert plans
        for plan in plans.values():
            assert read(text_of(plan)) == plan


# ---------------------------------------------------------------- values

SCALARS = st.sampled_from([Scalar(n) for n in sorted(codec._SCALARS)])
TYPES: st.SearchStrategy[SqlType] = st.recursive(
    SCALARS | st.builds(DecimalType, st.integers(1, 38), st.integers(0, 1)),
    lambda inner: (
        st.builds(ArrayType, inner)
        | st.builds(MapType, inner, inner)
        | st.builds(StructType, st.lists(st.tuples(st.text(), inner), max_size=3).map(tuple))
    ),
    max_leaves=6,
)
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
    | st.binary()
)
LEAVES = st.builds(t.Literal, TYPES, VALUES) | st.builds(t.ColumnRef, TYPES, st.text())
EXPRESSIONS: st.SearchStrategy[t.Expr] = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(t.Logical, st.just(BOOLEAN), st.sampled_from(["AND", "OR"]), inner, inner)
        | st.builds(t.Case, TYPES, st.lists(st.tuples(inner, inner), max_size=3).map(tuple), inner)
        | st.builds(t.StructOf, TYPES, st.lists(st.tuples(st.text(), inner), max_size=3).map(tuple))
        | st.builds(t.Like, st.just(BOOLEAN), inner, inner, st.none() | st.text(max_size=1))
        | st.builds(t.Lambda, TYPES, st.lists(st.text(), max_size=3).map(tuple), inner)
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
@settings(deadline=None)
def test_any_expression_comes_back(expr: t.Expr) -> None:
    same(expr, type(expr))


@pytest.mark.parametrize(
    "value",
    [True, 1, 1.0, -0.0, 1e308, float("inf"), Decimal("1.50"), Decimal("1E+5"), "", "\ud800", b"\x00\xff", None],
)
def test_literals_keep_their_kind(value: Any) -> None:
    same(t.Literal(DOUBLE, value), t.Literal)


# ---------------------------------------------------------------- what cannot be read

SUM = "SELECT k, ABS(v) AS x FROM s WHERE v > 1.5"


def one(sql: str = SUM) -> Plan:
    [plan] = plans_of(SELECTS.format(sql))[0].values()
    return plan


def changed(change: str, to: str) -> str:
    text = text_of(one())
    assert change in text
    return text.replace(change, to)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "it holds no plan"),
        (changed('"version":1', '"version":99'), "it is of version 99 of stored plans, this version of ksqlpy knows 1"),
        (changed('"function":"ABS"', '"function":"NEVER"'), "there is no function NEVER any more"),
        (changed('"parameters":"(INTEGER)"', '"parameters":"(DATE)"'), "function ABS does not take (DATE) any more"),
        (changed('"@":"filter"', '"@":"sieve"'), "its project.input holds 'sieve', which this version does not know"),
        (changed('"kind":"STREAM","root"', '"kind":"HEAP","root"'), "its plan.kind is of a wrong type"),
        (changed('"name":"V"', '"nam":"V"'), "has no field name"),
        (changed('"topic":"s"', '"topic":5'), "its source.topic is of a wrong type"),
        (changed('"topic":"s"', '"topic":"s","weight":5'), "its source has a field weight that this version"),
        (changed('"@":"filter"', '"@":"column-ref"'), "its column-ref has no field type"),
        (changed('"value":"1.5"', '"value":"many"'), "its literal.value holds a decimal that cannot be read"),
        (changed('"op":">"', '"op":["@"]'), "its compare.op is of a wrong type"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read(text)
    assert reason in str(caught.value)


def test_a_function_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of(one())
    assert read(text) == one()
    monkeypatch.setattr(codec, "FUNCTIONS", Functions(f for f in FUNCTIONS.functions.values() if f.name != "ABS"))
    with pytest.raises(ValueError, match="there is no function ABS any more"):
        read(text)


def test_overloads_are_told_apart_by_their_parameters() -> None:
    for function in FUNCTIONS.functions.values():
        shown = [str(s) for s in function.signatures]
        assert len(set(shown)) == len(shown), function.name


# ---------------------------------------------------------------- versions


def test_older_versions_become_those_of_today_step_by_step() -> None:
    def called(data: dict[str, Any]) -> dict[str, Any]:
        return {"@": "book", "title": data["called"]} if data["@"] == "book" else data

    def paged(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "pages": len(data["in"])} if data["@"] == "shelf" else data

    old = {"@": "shelf", "in": [{"@": "book", "called": "a"}, {"@": "pen"}]}
    assert migrated(old, 1, {1: called, 2: paged}, 3) == {
        "@": "shelf", "in": [{"@": "book", "title": "a"}, {"@": "pen"}], "pages": 2,
    }  # fmt: skip
    assert migrated(old, 3, {1: called, 2: paged}, 3) == old


def names() -> list[str]:
    lines = [f"version {stored.VERSION}"]
    for name, kind in CLASSES.items():
        lines.append("")
        lines.append(name)
        for field in codec.fields_of(kind):
            default = "" if field.default is MISSING else f" = {stored.canonical(stored.to_data(field.default))}"
            lines.append(f"  {field.stored}{default}")
    return lines


def test_names_and_defaults_stay() -> None:
    """A name, a field or a default that is another one would make plans of before unreadable, or others.

    Who has to change one: a new version, a step in migrations.py, then the lines here. A new field with a default needs
    its line only.
    """
    assert NAMES.read_text(encoding="utf-8").splitlines() == names()


def test_renamed_fields_are_known() -> None:
    for kind, renamed in FIELDS.items():
        assert set(renamed) <= {f.name for f in fields(kind)}


def test_types_print_as_they_are_stored() -> None:
    kind = StructType((("A", ArrayType(STRING)), ("B", MapType(STRING, DecimalType(4, 2)))))
    assert stored.to_data(t.Literal(kind, None)) == {
        "@": "literal",
        "type": {
            "kind": "STRUCT",
            "fields": [
                ["A", {"kind": "ARRAY", "item": "STRING"}],
                ["B", {"kind": "MAP", "key": "STRING", "item": {"kind": "DECIMAL", "precision": 4, "scale": 2}}],
            ],
        },
        "value": None,
    }
