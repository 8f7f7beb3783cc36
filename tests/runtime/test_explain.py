"""What EXPLAIN shows: queries inside queries, joins and windows.

``explain.txt`` is a list of blocks: a statement, ``----``, the text. Set KSQLPY_REWRITE to rewrite the texts, and
read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ksqlpy.analysis import CreateAs, Declare, Text, analyze_create, analyze_query
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.plan import build_plan, plan_json, plan_text
from ksqlpy.sql import Parsed, nodes, parse

FILE = Path(__file__).with_name("explain.txt")
BLOCKS = [block.split("\n----", 1) for block in FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")]

SOURCES = """
CREATE STREAM rides (id INT KEY, city STRING, km INT, stops ARRAY<STRING>)
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON');
CREATE STREAM walks (id INT KEY, town STRING, metres INT) WITH (KAFKA_TOPIC = 'walks', VALUE_FORMAT = 'JSON');
CREATE TABLE cities (name STRING PRIMARY KEY, land STRING) WITH (KAFKA_TOPIC = 'cities', VALUE_FORMAT = 'JSON');
CREATE TABLE towns (name STRING PRIMARY KEY, souls INT) WITH (KAFKA_TOPIC = 'towns', VALUE_FORMAT = 'JSON');
CREATE TABLE buses (id INT PRIMARY KEY, city STRING) WITH (KAFKA_TOPIC = 'buses', VALUE_FORMAT = 'JSON');
"""


def shown(sql: str) -> str:
    catalog, config = Catalog(), Config.of({})
    for parsed in parse(SOURCES):
        made = analyze_create(parsed, catalog, config)
        assert isinstance(made, Declare)
        catalog = catalog.with_source(made.source)
    statement = parse(sql)[0].node.args["statement"]
    if isinstance(statement, nodes.CreateSource):
        made = analyze_create(Parsed(statement, sql, sql, 0), catalog, config)
        assert isinstance(made, CreateAs)
        plan = build_plan(made.query)
    else:
        plan = build_plan(analyze_query(statement, catalog, Text(sql), persistent=False))
    assert plan_json(plan)["exactlyOnce"] == plan_text(plan).rsplit(": ", 1)[1]
    return plan_text(plan)


@pytest.mark.parametrize(("sql", "expected"), BLOCKS, ids=[block[0][:60] for block in BLOCKS])
def test_plan_is_shown_as_written(sql: str, expected: str) -> None:
    assert shown(sql) == expected.strip("\n")


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    FILE.write_text("\n\n".join(f"{sql}\n----\n{shown(sql)}" for sql, _ in BLOCKS) + "\n", encoding="utf-8")
