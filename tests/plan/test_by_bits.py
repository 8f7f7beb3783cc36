"""Which plans tell DOUBLEs apart by their bits, and which go on as they began."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ksqlpy.analysis import analyze_create
from ksqlpy.analysis.statements import CreateAs, Declare
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.plan import Plan, build_plan, going_on, stored, upgrade
from ksqlpy.sql import parse
from ksqlpy.types import holds_double

SOURCES = """
CREATE STREAM s (id INT KEY, d DOUBLE, n INT, r STRUCT<x ARRAY<DOUBLE>>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM o (id INT KEY, d DOUBLE) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');
CREATE TABLE t (d DOUBLE PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE u (id INT PRIMARY KEY, d DOUBLE) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');
"""


def plan_of(query: str) -> Plan:
    catalog, config = Catalog(), Config.of({})
    for parsed in parse(SOURCES):
        declared = analyze_create(parsed, catalog, config)
        assert isinstance(declared, Declare)
        catalog = catalog.with_source(declared.source)
    [parsed] = parse(query)
    made = analyze_create(parsed, catalog, config)
    assert isinstance(made, CreateAs)
    return build_plan(made.query)


BY_BITS = [
    "CREATE TABLE x AS SELECT d, COUNT(*) AS c FROM s GROUP BY d;",
    "CREATE TABLE x WITH (KEY_FORMAT='JSON') AS SELECT n, d, COUNT(*) AS c FROM s GROUP BY n, d;",
    "CREATE TABLE x WITH (KEY_FORMAT='JSON') AS SELECT r, COUNT(*) AS c FROM s GROUP BY r;",
    "CREATE TABLE x AS SELECT d, COUNT(*) AS c FROM s WINDOW SESSION (1 SECOND) GROUP BY d;",
    "CREATE TABLE x AS SELECT * FROM t WHERE n > 1;",
    "CREATE TABLE x AS SELECT n, COUNT(*) AS c FROM t GROUP BY n;",
    "CREATE STREAM x AS SELECT s.id, s.d AS d, t.n FROM s JOIN t ON s.d = t.d;",
    "CREATE STREAM x AS SELECT s.id, s.d AS d FROM s JOIN o WITHIN 1 SECOND ON s.d = o.d;",
    "CREATE TABLE x AS SELECT u.id, t.n FROM u JOIN t ON u.d = t.d;",
    "CREATE TABLE x AS SELECT t.d AS d, u.d AS e FROM t JOIN u ON t.n = u.id;",
    *(
        f"CREATE TABLE x AS SELECT id, {call} AS c FROM s GROUP BY id;"
        for call in ("COLLECT_SET(d)", "COLLECT_SET(r)", "COUNT_DISTINCT(d)", "TOPK(d, 2)", "ATTR(d)")
    ),
]
AS_BEFORE = [
    "CREATE STREAM x AS SELECT * FROM s WHERE d > 1;",
    "CREATE STREAM x AS SELECT * FROM s PARTITION BY d;",
    "CREATE TABLE x AS SELECT id, SUM(d) AS c, COLLECT_LIST(d) AS l, MAX(d) AS m FROM s GROUP BY id;",
    "CREATE TABLE x AS SELECT id, COUNT_DISTINCT(n) AS c FROM s GROUP BY id;",
    "CREATE STREAM x AS SELECT s.id, s.d AS d FROM s JOIN o WITHIN 1 SECOND ON s.id = o.id;",
]


@pytest.mark.parametrize("query", BY_BITS)
def test_a_double_that_is_compared_is_told_apart_by_its_bits(query: str) -> None:
    plan = plan_of(query)
    assert plan.by_bits
    assert stored.read(stored.write(plan)) == plan
    assert '"by_bits":true' in stored.canonical(stored.write(plan))


@pytest.mark.parametrize("query", AS_BEFORE)
def test_other_plans_are_stored_as_before(query: str) -> None:
    plan = plan_of(query)
    assert not plan.by_bits
    assert "by_bits" not in stored.canonical(stored.write(plan))


@pytest.mark.parametrize("query", [*BY_BITS, *AS_BEFORE])
def test_no_state_has_rows_of_a_table_by_doubles_that_are_not_bits(query: str) -> None:
    plan = plan_of(query)
    keys = [k for node in plan.nodes if node.stateful for k in node.identity or ()]
    assert plan.by_bits or not any(holds_double(k.type) for k in keys)


@pytest.mark.parametrize("by_bits", [True, False])
def test_a_query_that_is_replaced_keeps_the_rule_of_its_state(by_bits: bool) -> None:
    old = replace(plan_of("CREATE TABLE x AS SELECT d, COUNT(*) AS c FROM s GROUP BY d;"), by_bits=by_bits)
    new = plan_of("CREATE TABLE x AS SELECT d, COUNT(*) AS c FROM s WHERE n > 1 GROUP BY d;")
    assert new.by_bits
    assert going_on(old, new, anew=upgrade(old, new).anew) == replace(new, by_bits=by_bits)


@pytest.mark.parametrize("query", BY_BITS)
def test_a_query_of_before_goes_on_by_its_rule(query: str) -> None:
    old = replace(plan_of(query), by_bits=False)
    assert "by_bits" not in stored.canonical(stored.write(old))
    assert stored.read(stored.write(old)) == old
    assert going_on(old, plan_of(query), anew=upgrade(old, plan_of(query)).anew) == old


def test_a_state_that_begins_anew_has_the_rule_of_today() -> None:
    old = replace(plan_of("CREATE TABLE x AS SELECT * FROM t WHERE n > 1;"), by_bits=False)
    new = plan_of("CREATE TABLE x AS SELECT * FROM t WHERE n > 2;")
    assert going_on(old, new, anew=upgrade(old, new).anew).by_bits
    without = plan_of("CREATE TABLE x AS SELECT * FROM t;")
    assert not without.by_bits
    assert going_on(without, new, anew=upgrade(without, new).anew).by_bits
