"""How functions that are written in Java come into Spark: their names, types, nulls and failures."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from ksqlpy.functions.sparktext import java

pytestmark = pytest.mark.spark

TEXT = """'{"a":1,"b":2}'"""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (java("Urls.Nowhere", "'a'"), "no such function: Urls.Nowhere"),
        (java("Urls.Part", "'a'"), "no such function: Urls.Part"),
        (java("Urls", "'a'"), "no such function: Urls"),
        (java("Tail", "'a'"), "no such function: Tail"),
        (java("Urls.Host", "5"), "Urls.Host takes (string), not (int)"),
        (java("Urls.Host", "'a'", "'b'"), "Urls.Host takes (string), not (string, string)"),
        (java("Masks.Left", "'a'", "1L"), "not (string, bigint)"),
        (java("JsonTexts.Concat", "'a'", "1"), "JsonTexts.Concat takes (string…), not (string, int)"),
        ('ksqlpy.`{"call":"Urls.Host"}`(\'a\')', "it takes a struct"),
        ('ksqlpy.`{"call":"Urls.Host"}`()', "it takes one argument"),
    ],
)
def test_calls_that_do_not_fit_are_refused(spark: SparkSession, call: str, words: str) -> None:
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"select {call}")
    assert words in str(caught.value)


def test_a_row_that_fails_does_not_end_the_query(spark: SparkSession) -> None:
    texts = "values (1, 'http://a'), (2, 'http://a b'), (3, null), (4, 'http://b') as t(n, v)"
    rows = spark.sql(f"select n, {java('Urls.Host', 'v')} as host from {texts} order by n").collect()
    assert [r.host for r in rows] == ["a", None, None, "b"]


def test_a_text_that_is_too_much_for_the_stack_gives_null(spark: SparkSession) -> None:
    call = java("Regexes.Extract", "'(?:a|b)*c'", "concat(repeat('ab', n), 'c')", "0")
    rows = spark.sql(f"select length({call}) as found from values (1), (1000000) as t(n)").collect()
    assert [r.found for r in rows] == [3, None]


def test_patterns_and_paths_may_change_from_row_to_row(spark: SparkSession) -> None:
    texts = """values (1, 'a', '$.a'), (2, 'b', '$.b'), (3, '(', '$'), (4, 'a', '$.a') as t(n, p, q)"""
    calls = f"{java('Regexes.Extract', 'p', TEXT, '0')} as x, {java('JsonTexts.Field', TEXT, 'q')} as y"
    rows = spark.sql(f"select {calls} from {texts} order by n").collect()
    assert [(r.x, r.y) for r in rows] == [("a", "1"), ("b", "2"), (None, '{"a":1,"b":2}'), ("a", "1")]


def test_equal_calls_are_one_for_spark(spark: SparkSession) -> None:
    host = java("Urls.Host", "v")
    rows = spark.sql(
        f"select {host} as h, count(*) as n from values ('http://a'), ('http://a') as t(v) group by {host}"
    )
    assert [(r.h, r.n) for r in rows.collect()] == [("a", 2)]


def test_a_call_is_compiled_with_the_rest_of_its_stage(spark: SparkSession) -> None:
    call = java("Texts.Find", "cast(id as string)", "'1'", "1", "1")
    plan = str(spark.range(3).selectExpr(f"{call} as place")._jdf.queryExecution().executedPlan())
    assert plan.startswith("*(1) Project")
