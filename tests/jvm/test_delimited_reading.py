"""How ksqlpy.read.DelimitedReader makes rows of delimited text: the cases of delimited_reading.txt."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

_CASES = Path(__file__).with_name("delimited_reading.txt")
_NAMED = {"SPACE": " ", "TAB": "\t"}

pytestmark = pytest.mark.spark


class Case(NamedTuple):
    line: int
    text: str
    expected: str


def read(types: list[Any], delimiter: str) -> str:
    """The expression that reads the column ``value``."""
    kind = {"kind": "STRUCT", "fields": [[f"C{i}", t] for i, t in enumerate(types)]}
    spec = json.dumps({"read": "DELIMITED", "bare": False, "type": kind, "delimiter": delimiter})
    return f"ksqlpy.`{spec.replace('`', '``')}`(value)"


def sections() -> Iterator[Any]:
    cases: list[Case] = []
    for number, line in enumerate(_CASES.read_text("utf-8").split("\n"), 1):
        if line.startswith("== "):
            cases = []
            delimiter, types = line.removeprefix("== ").split(" ", 1)
            yield pytest.param(_NAMED.get(delimiter, delimiter), json.loads(types), cases, id=f"line-{number}")
        elif line and not line.startswith("# "):
            text, _, expected = line.rpartition(" => ") if " => " in line else ("", "", line.removeprefix("=> "))
            for name, character in (("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t")):
                text = text.replace(name, character)
            cases.append(Case(number, text, expected))


@pytest.mark.parametrize(("delimiter", "types", "cases"), list(sections()))
def test_cases(spark: SparkSession, delimiter: str, types: list[Any], cases: list[Case]) -> None:
    frame = spark.createDataFrame([(i, c.text.encode()) for i, c in enumerate(cases)], "i INT, value BINARY")
    frame = frame.selectExpr("i", f"{read(types, delimiter)} r")
    texts = frame.selectExpr("i", "to_json(r.row, map('ignoreNullFields', 'false')) row", "r.error")
    wrong = []
    for case, (_, row, error) in zip(cases, sorted(texts.collect()), strict=True):
        got = f"! {error}" if error is not None else _listed(row)
        words = case.expected.removeprefix("! ")
        fits = error is not None and words in error if case.expected.startswith("!") else got == case.expected
        if not fits or (error is not None and (row is not None or "\n" in error)):
            wrong.append(f"{_CASES.name}:{case.line}: {case.text!r} => {got}")
    assert not wrong, "\n".join(wrong)


def _listed(row: str) -> str:
    """The values of a JSON object as a JSON array, each as it was written."""
    decoder = json.JSONDecoder(parse_float=lambda digits: f"\0{digits}\0")
    texts = json.dumps(list(decoder.decode(row).values()), ensure_ascii=False, separators=(",", ":"))
    return texts.replace('"\\u0000', "").replace('\\u0000"', "")


def test_what_others_write_comes_back(spark: SparkSession) -> None:
    rng = random.Random(20261120)
    rows = [
        ["".join(rng.choice('ab" ,;\n\r\té€😀') for _ in range(rng.randrange(1, 9))) for _ in "abc"] for _ in range(300)
    ]
    texts = []
    for row in rows:
        out = io.StringIO()
        csv.writer(out, quoting=rng.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])).writerow(row)
        texts.append(out.getvalue().encode())
    frame = spark.createDataFrame([(i, v) for i, v in enumerate(texts)], "i INT, value BINARY").coalesce(1)
    got = frame.selectExpr("i", f"{read(['STRING'] * 3, ',')} r").orderBy("i").collect()
    for row, text, (_, result) in zip(rows, texts, got, strict=True):
        assert result["error"] is None, text
        assert list(result["row"]) == row, text


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"type": "STRING", "bare": True}, 'must be one character, not ""'),
        ({"type": "STRING", "bare": True, "delimiter": "||"}, 'must be one character, not "||"'),
        (
            {"type": {"kind": "ARRAY", "item": "STRING"}, "bare": True, "delimiter": ","},
            "not support type ARRAY<STRING>",
        ),
    ],
)
def test_a_wrong_specification_is_an_analysis_error(spark: SparkSession, spec: dict[str, Any], words: str) -> None:
    with pytest.raises(AnalysisException) as e:
        spark.range(1).selectExpr(f"ksqlpy.`{json.dumps({'read': 'DELIMITED', **spec})}`(CAST('x' AS BINARY))")
    assert words in str(e.value)
