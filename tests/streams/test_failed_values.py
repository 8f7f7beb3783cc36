"""A case that fails says which of its queries have values that are null since an error made them so."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.testing import CaseFailed, check, read_cases
from ksqlpy.testing.memory import MemoryRunner

CASE = """\
=== prices in tens
CREATE STREAM s (id INT KEY, d DECIMAL(4,2)) WITH (kafka_topic='s', value_format='JSON', partitions=1);
CREATE STREAM tens AS SELECT id, CAST(d * 10 AS DECIMAL(4,2)) AS d FROM s;
CREATE STREAM same AS SELECT id, d FROM s;
--- input s
1 {"d": 1.25}
2 {"d": 12.34}
--- output tens
1 {"D":12.50}
2 {"D":123.40}
"""


@pytest.mark.spark
def test_a_decimal_that_overflows_is_said(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "prices.test"
    file.write_text(CASE, encoding="utf-8")
    [case] = read_cases(file)
    with pytest.raises(CaseFailed) as failed:
        check(case, MemoryRunner(spark, tmp_path))
    assert '+ 2 {"D":null}' in str(failed.value)
    [said] = [line for line in str(failed.value).splitlines() if "an error made null" in line]
    assert "query CSAS_TENS_1" in said and "does not fit its type" in said and said.endswith(": 1")


QUERIES = [
    ("SELECT id, a FROM s WHERE a / z > 0", 1),
    ("SELECT id, a FROM s WHERE CAST(t AS INT) = 5", 1),
    ("SELECT id, a FROM s WHERE a > 0 OR CAST(t AS INT) = 5", 0),
    ("SELECT id, a FROM s WHERE NOT (CAST(t AS INT) = 5)", 1),
    ("SELECT id, a FROM s WHERE CAST(t AS INT) IS NULL", 1),
    ("SELECT id, a FROM s WHERE a / z BETWEEN 1 AND 2", 1),
    ("SELECT id, a FROM s WHERE a / z IN (1, 2)", 1),
    ("SELECT id, a FROM s WHERE ARRAY_LENGTH(TRANSFORM(xs, e => e / z)) = 3", 1),
    ("SELECT id, CASE WHEN a / z > 0 THEN 1 ELSE 2 END AS r FROM s", 1),
    ("SELECT id, CASE WHEN a > 0 THEN a / z ELSE 2 END AS r FROM s", 1),
    ("SELECT id, CASE WHEN a < 0 THEN a / z ELSE 2 END AS r FROM s", 0),
    ("SELECT id, CASE WHEN a < 0 THEN 1 ELSE CAST(t AS INT) END AS r FROM s", 1),
    ("SELECT id, CASE WHEN CAST(t AS INT) = 1 THEN 1 ELSE 2 END AS r FROM s", 1),
    ("SELECT id, COALESCE(CASE WHEN a > 0 THEN a / z ELSE 2 END, 7) AS r FROM s", 1),
    ("SELECT id, TRANSFORM(xs, e => e / z) AS r FROM s", 1),
    ("SELECT id, FILTER(xs, e => e / z > 1) AS r FROM s", 1),
    ("SELECT id, REDUCE(xs, 0, (st, e) => st + e / z) AS r FROM s", 1),
    ("SELECT id, TRANSFORM(ts, e => CAST(e AS INT)) AS r FROM s", 1),
    ("SELECT id, TRANSFORM(m, (k, v) => k, (k, v) => v / z) AS r FROM s", 1),
    ("SELECT id, TRANSFORM(xs, e => e + 1) AS r FROM s", 0),
    ("SELECT id, TRANSFORM(xs, e => CASE WHEN e > 0 THEN e / z ELSE 1 END) AS r FROM s", 1),
    ("SELECT id, ARRAY_LENGTH(TRANSFORM(xs, e => e / z)) AS r FROM s", 1),
    ("SELECT id, TRANSFORM(nx, e => e + 1) AS r FROM s", 1),
    ("SELECT id, TRANSFORM(xs, e => SUBSTRING('ab', e, -1)) AS r FROM s", 0),
    ("SELECT id, TRANSFORM(xs, e => TRANSFORM(xs, f => f / z)) AS r FROM s", 1),
    ("SELECT id, TRANSFORM(ts, e => PARSE_TIMESTAMP(e, 'yyyy')) AS r FROM s", 1),
    ("SELECT id, REDUCE(ts, 0, (st, e) => st + CAST(e AS INT)) AS r FROM s", 1),
    ("SELECT id, COUNT(*) AS n FROM s GROUP BY id HAVING SUM(a) / SUM(z) > 0", 1),
    ("SELECT a / z AS g, COUNT(*) AS n FROM s GROUP BY a / z", 1),
    ("SELECT id, SUM(a / z) AS n FROM s GROUP BY id", 1),
    ("SELECT a / z AS g, id FROM s PARTITION BY a / z", 1),
    ("SELECT id, EXPLODE(TRANSFORM(xs, e => e / z)) AS g FROM s", 1),
    ("SELECT id, a FROM s WHERE ARRAY_LENGTH(TRANSFORM(xs, e => e / z)) IS NULL", 1),
    ("SELECT id, FILTER(xs, e => e > 0 AND e / z > 1) AS r FROM s", 1),
    ("SELECT id, FILTER(xs, e => e < 0 AND e / z > 1) AS r FROM s", 0),
    ("SELECT id, TRANSFORM(xs, e => CASE WHEN e < 0 THEN e / z ELSE 1 END) AS r FROM s", 0),
    ("SELECT id, REDUCE(xs, 0, (st, e) => st + e) AS r FROM s", 0),
    ("SELECT id, COUNT(*) AS n FROM s WINDOW SESSION (1 SECOND) GROUP BY id HAVING SUM(a / z) > 0", 1),
    ("SELECT id, EXPLODE(SPLIT(t, ',')) AS r FROM s", 0),
    ("SELECT id, ABS(STRUCT(x := a / z)->x) AS r FROM s", 1),
    ("SELECT id, ARRAY[a / z, a] AS part FROM s", 1),
    ("SELECT id, STRUCT(x := CAST(t AS INT), y := a) AS part FROM s", 1),
    ("SELECT id, MAP('x' := a / z, 'y' := a) AS part FROM s", 1),
]
"""Queries, and how many of their expressions fail with the record below."""

RECORD = '{"a": 1, "z": 0, "t": "x", "xs": [1, 2, 3], "nx": [1, null], "ts": ["x", "1"], "m": {"a": 1}}'


@pytest.mark.spark
def test_what_fails_is_counted_once_wherever_it_stands(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "failing.test"
    made = "".join(
        f"CREATE {'TABLE' if 'GROUP BY' in query else 'STREAM'} q{i} WITH (query_id='Q{i}') AS {query};\n"
        for i, (query, _) in enumerate(QUERIES)
    )
    file.write_text(
        "=== failing\nCREATE STREAM s (id INT KEY, a INT, z INT, t STRING, xs ARRAY<INT>, nx ARRAY<INT>,"
        " ts ARRAY<STRING>, m MAP<STRING, INT>) WITH (kafka_topic='s', value_format='JSON', partitions=1);\n"
        f"{made}--- input s\n1 {RECORD}\n--- output q0\n(nothing)\n",
        encoding="utf-8",
    )
    [case] = read_cases(file)
    outcome = MemoryRunner(spark, tmp_path).run(case)
    assert outcome.error is None
    counted = [(query, outcome.failed[f"Q{i}"]) for i, (query, _) in enumerate(QUERIES)]
    assert counted == QUERIES
    nulls = [i for i, (query, n) in enumerate(QUERIES) if n and " AS r FROM" in query and "EXPLODE" not in query]
    assert [outcome.records[f"Q{i}"][0].value for i in nulls] == [b'{"R":null}'] * len(nulls)
    parts = [outcome.records[f"Q{i}"][0].value for i, (query, _) in enumerate(QUERIES) if " AS part FROM" in query]
    assert parts == [b'{"PART":[null,1]}', b'{"PART":{"X":null,"Y":1}}', b'{"PART":{"x":null,"y":1}}']
