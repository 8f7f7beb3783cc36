"""Calls that a task sends ahead of their answers: rows in their order, and each call with its failures to itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from ksqlpy.spark.failure import failure_of, is_final
from ksqlpy.spark.rows import Rows, RowShape
from ksqlpy.types import BIGINT, STRING
from tests.udf.calling import function

pytestmark = pytest.mark.spark


def called(
    spark: SparkSession, count: int, *functions: Any, condition: str = "true", argument: str = "id"
) -> list[Row]:
    """Rows of numbers from 0 on, with the values of functions of them, ``v0`` and so on; null without the condition."""
    given = f"CASE WHEN {condition} THEN named_struct('0', {argument}) END"
    frame = spark.range(count, numPartitions=1).selectExpr("id", f"{given} AS a", "id AS at")
    values = [f"v{i}" for i in range(len(functions))]
    described = [json.dumps(f.to_call()) for f in functions]
    rows = Rows(frame, RowShape(("id", "a", "at"))).with_calls(described, ["a"] * len(functions), "at", values)
    return rows.frame.select("id", *values).collect()


def of_number(body: str, gives: Any = STRING, **more: Any) -> Any:
    return function(f"def f(n):\n{body}", gives, [BIGINT], **more)


def test_rows_stay_in_their_order(spark: SparkSession) -> None:
    square, text = of_number("    return n * n", BIGINT), of_number("    return f'row {n}'")
    rows = called(spark, 20_000, square, text)
    assert [tuple(r) for r in rows] == [(n, n * n, f"row {n}") for n in range(20_000)]


def test_a_row_without_a_call_has_no_value(spark: SparkSession) -> None:
    rows = called(spark, 3000, of_number("    return str(n)"), condition="id % 3 = 0")
    assert [r.v0 for r in rows] == [str(n) if n % 3 == 0 else None for n in range(3000)]
    assert [r.v0 for r in called(spark, 5, of_number("    return str(n)"), condition="false")] == [None] * 5


def test_a_call_that_fails_is_null_and_the_next_one_is_made(spark: SparkSession) -> None:
    rows = called(spark, 2000, of_number("    return str(100 // (n % 100))"))
    assert [r.v0 for r in rows] == [str(100 // (n % 100)) if n % 100 else None for n in range(2000)]


def test_a_time_limit_is_that_of_one_call(spark: SparkSession) -> None:
    body = "    while n == 700:\n        pass\n    return str(n)"
    rows = called(spark, 2000, of_number(body, timeout_ms=300))
    assert [r.v0 for r in rows] == [str(n) if n != 700 else None for n in range(2000)]


def test_slow_calls_have_their_time_one_by_one(spark: SparkSession) -> None:
    rows = called(spark, 12, of_number("    import time\n    time.sleep(0.2)\n    return str(n)", timeout_ms=1000))
    assert [r.v0 for r in rows] == [str(n) for n in range(12)]


def test_a_worker_that_dies_costs_no_row(spark: SparkSession, tmp_path: Path) -> None:
    once = f"    import os\n    if n == 1500 and not os.path.exists({str(tmp_path / 'died')!r}):\n"
    body = f"{once}        open({str(tmp_path / 'died')!r}, 'w').close()\n        os._exit(1)\n    return str(n)"
    assert [r.v0 for r in called(spark, 3000, of_number(body))] == [str(n) for n in range(3000)]
    always = "    import os\n    if n == 1500:\n        os._exit(1)\n    return str(n)"
    rows = called(spark, 3000, of_number(always))
    assert [r.v0 for r in rows] == [str(n) if n != 1500 else None for n in range(3000)]


def test_a_function_that_cannot_be_loaded_is_null_for_each_row(spark: SparkSession) -> None:
    broken = function("import no_such_module\ndef f(n):\n    return 'made'", STRING, [BIGINT])
    rows = called(spark, 2000, broken, of_number("    return str(n)"))
    assert [(r.v0, r.v1) for r in rows] == [(None, str(n)) for n in range(2000)]


def test_more_is_asked_and_answered_than_is_held_between_processes(spark: SparkSession) -> None:
    """Each side would wait for the other to read."""
    longer = function("def f(text):\n    return text + text[:10]", STRING, [STRING])
    rows = called(spark, 60, longer, argument="concat(cast(id as string), repeat('x', 400000))")
    assert [(r.v0[:3], len(r.v0)) for r in rows] == [
        (f"{n}xx"[:3], 400_000 + len(str(n)) + 10) for n in range(60)
    ]  # fmt: skip


def test_arguments_that_do_not_fit_beside_others(spark: SparkSession) -> None:
    """Those of a call have a limit of their own, however much of the batch is there: 67,108,864 bytes."""
    length = function("def f(text):\n    return str(len(text))", STRING, [STRING])
    sizes = "CASE id WHEN 0 THEN 100000 WHEN 1 THEN 67050000 WHEN 2 THEN 67200000 ELSE 5 END"
    rows = called(spark, 4, length, argument=f"repeat('x', {sizes})")
    assert [r.v0 for r in rows] == ["100000", "67050000", None, "5"]


def test_what_is_printed_is_no_answer(spark: SparkSession) -> None:
    rows = called(spark, 2000, of_number("    print(n)\n    return str(n)"))
    assert [r.v0 for r in rows] == [str(n) for n in range(2000)]


def test_stop_ends_the_query(spark: SparkSession) -> None:
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:
        called(spark, 2000, of_number("    return str(1 // (n - 900))", on_error="stop"))
    assert is_final(caught.value)
    assert "ZeroDivisionError" in failure_of(caught.value).message


def test_rows_that_fail_to_come_end_the_query(spark: SparkSession) -> None:
    with pytest.raises((PySparkException, Py4JJavaError), match="no row 900"):
        argument = "CASE WHEN id = 900 THEN raise_error('no row 900') ELSE id END"
        called(spark, 2000, of_number("    return str(n)"), argument=argument)
