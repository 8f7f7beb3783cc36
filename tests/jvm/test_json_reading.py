"""How ksqlpy.read.JsonReader makes rows of JSON: the cases of json_reading.txt, and random rows."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from ksqlpy.spark.session import SETTINGS
from ksqlpy.types import ALL_DIGITS

_CASES = Path(__file__).with_name("json_reading.txt")

pytestmark = pytest.mark.spark


class Case(NamedTuple):
    line: int
    text: str
    expected: str


def read(value: str, type_: Any, *, bare: bool = False, format_: str = "JSON") -> str:
    """The expression that reads the column ``value``."""
    spec = json.dumps({"read": format_, "bare": bare, "type": type_}, ensure_ascii=False).replace("`", "``")
    return f"ksqlpy.`{spec}`({value})"


def struct(**fields: Any) -> dict[str, Any]:
    return {"kind": "STRUCT", "fields": [[n, t] for n, t in fields.items()]}


def records(spark: SparkSession, values: Sequence[bytes | None]) -> DataFrame:
    return spark.createDataFrame([(i, v) for i, v in enumerate(values)], "i INT, value BINARY").coalesce(1)


def sections() -> Iterator[Any]:
    cases: list[Case] = []
    for number, line in enumerate(_CASES.read_text("utf-8").split("\n"), 1):
        if line.startswith("== "):
            cases = []
            bare = not line.startswith("== row ")
            type_ = json.loads(line.removeprefix("== ").removeprefix("row "))
            yield pytest.param(bare, type_, cases, id=f"line-{number}")
        elif line and not line.startswith("# "):
            text, _, expected = line.rpartition(" => ")
            cases.append(Case(number, text, expected))


@pytest.mark.parametrize(("bare", "type_", "cases"), list(sections()))
def test_cases(spark: SparkSession, bare: bool, type_: Any, cases: list[Case]) -> None:
    frame = records(spark, [c.text.encode() for c in cases])
    frame = frame.selectExpr("i", f"{read('value', type_, bare=bare)} r")
    texts = frame.selectExpr("i", "to_json(struct(r.row), map('ignoreNullFields', 'false')) row", "r.error")
    wrong = []
    for case, (_, row, error) in zip(cases, sorted(texts.collect()), strict=True):
        value = row.removeprefix('{"row":').removesuffix("}")
        got = f"! {error}" if error is not None else value
        words = case.expected.removeprefix("! ")
        fits = error is not None and words in error if case.expected.startswith("!") else got == case.expected
        if not fits or (error is not None and (value != "null" or "\n" in error)):
            wrong.append(f"{_CASES.name}:{case.line}: {case.text} => {got}")
    assert not wrong, "\n".join(wrong)


def test_what_no_text_file_can_hold(spark: SparkSession) -> None:
    deep = b'{"X":' + b"[" * 100_000
    long = b'{"V":"' + b"x" * 100_000 + b'"}'
    digits = b'{"D":"' + b"9" * 100_000 + b'"}'
    many = b"{" + b",".join(b'"n%d":%d' % (i, i) for i in range(5000)) + b',"v":7}'
    marked = [b'\xef\xbb\xbf{"V":1}', '{"V":2}'.encode("utf-16")]
    type_ = struct(V="INTEGER", D={"kind": "DECIMAL", "precision": 4, "scale": 2})
    frame = records(spark, [None, b"\xff", b'{"\xff":1}', deep, long, digits, many, *marked])
    rows = frame.selectExpr("i", f"{read('value', type_)} r").selectExpr("i", "r.row.V", "r.error")
    none, bad, inside, nested, cut, number, *good = [(v, e) for _, v, e in sorted(rows.collect())]
    assert none == (None, None)
    for _, error in (bad, inside, nested):
        assert error.startswith("not JSON: ")
        assert "Source" not in error
    assert cut == (None, f'V: cannot read "{"x" * 60}…" as INTEGER')
    assert number[1].endswith('…" as DECIMAL(4, 2), too long for a number')
    assert good == [(7, None), (1, None), (2, None)]


def test_once_a_record_whatever_is_asked(spark: SparkSession) -> None:
    frame = records(spark, [b'{"V":1}', b"{"]).selectExpr(f"{read('value', struct(V='INTEGER'))} r")
    frame = frame.where("r.error IS NULL AND r.row.V > 0").selectExpr("r.row.V", "r.row.V + 1", "r.error")
    spark.conf.set("spark.sql.debug.maxToStringFields", "100")
    try:
        plan = frame._jdf.queryExecution().executedPlan().toString()
    finally:
        spark.conf.set("spark.sql.debug.maxToStringFields", SETTINGS["spark.sql.debug.maxToStringFields"])
    assert plan.count(".invoke(") == 1
    assert [tuple(r) for r in frame.collect()] == [(1, 2, None)]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("what", "not a specification in JSON"),
        ("[]", '"read" must name a reader'),
        ('{"read":"XML"}', 'must name a reader, not "XML"'),
        ('{"read":"JSON"}', 'no "type"'),
        ('{"read":"JSON","bare":true,"type":"INT"}', 'no such type: "INT"'),
        ('{"read":"JSON","type":"INTEGER"}', "only a bare value can be of type INTEGER"),
        ('{"read":"JSON","bare":true,"type":{"kind":"ARRAY"}}', 'no "item"'),
        ('{"read":"JSON","bare":true,"type":{"kind":"DECIMAL","precision":39,"scale":2}}', "DECIMAL(39, 2)"),
        ('{"read":"JSON","bare":true,"type":{"kind":"DECIMAL","precision":3}}', 'no "scale"'),
        ('{"read":"JSON","type":{"kind":"STRUCT","fields":["A"]}}', 'a field is [name, type], not "A"'),
        ('{"read":"KAFKA","bare":true,"type":"BOOLEAN"}', "does not support type BOOLEAN"),
        ('{"read":"KAFKA","type":{"kind":"STRUCT","fields":[["A","STRING"],["B","STRING"]]}}', "one column, not 2"),
    ],
)
def test_a_wrong_specification_is_an_analysis_error(spark: SparkSession, spec: str, words: str) -> None:
    with pytest.raises(AnalysisException) as e:
        spark.range(1).selectExpr(f"ksqlpy.`{spec}`(CAST('x' AS BINARY))")
    assert words in str(e.value)


def random_value(rng: random.Random, type_: Any) -> Any:
    if rng.random() < 0.1:
        return None
    kind = type_ if isinstance(type_, str) else type_["kind"]
    if kind == "STRUCT":
        return {n: random_value(rng, t) for n, t in type_["fields"]}
    if kind == "ARRAY":
        return [random_value(rng, type_["item"]) for _ in range(rng.randrange(4))]
    if kind == "MAP":
        return {random_text(rng): random_value(rng, type_["item"]) for _ in range(rng.randrange(4))}
    if kind == "DECIMAL":
        most = 10 ** type_["precision"] - 1
        return Decimal(rng.randint(-most, most)).scaleb(-type_["scale"], ALL_DIGITS)
    if kind == "BYTES":
        return bytearray(rng.randbytes(rng.randrange(20)))
    scalars: dict[str, Callable[[], Any]] = {
        "BOOLEAN": lambda: rng.random() < 0.5,
        "INTEGER": lambda: rng.randrange(-(2**31), 2**31),
        "BIGINT": lambda: rng.randrange(-(2**63), 2**63) >> rng.randrange(63),
        "DOUBLE": lambda: rng.choice([rng.gauss(0, 1), rng.random() * 10.0 ** rng.randrange(-300, 300), 0.0]),
        "STRING": lambda: random_text(rng),
    }
    return scalars[kind]()


def random_text(rng: random.Random) -> str:
    return "".join(rng.choice('ab"\\\n\t\u00e9\u20ac\U0001f600 {}[],:\x00') for _ in range(rng.randrange(12)))


class Plain(json.JSONEncoder):
    def default(self, o: Any) -> Any:
        return base64.b64encode(o).decode()


def written(value: Any, rng: random.Random) -> str:
    """``value`` as JSON, in one of the ways in which others could write it."""
    if isinstance(value, dict):
        fields = [json.dumps(k, ensure_ascii=rng.random() < 0.5) + ":" + written(v, rng) for k, v in value.items()]
        return "{" + rng.choice([",", " , ", ",\n"]).join(fields) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(v, rng) for v in value) + "]"
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, cls=Plain, ensure_ascii=rng.random() < 0.5)
    as_text = isinstance(value, int | float | Decimal) and not isinstance(value, bool) and rng.random() < 0.2
    return f'"{text}"' if as_text else text


def test_random_rows_come_back(spark: SparkSession) -> None:
    rng = random.Random(20261120)
    decimal = {"kind": "DECIMAL", "precision": 20, "scale": 5}
    inner = struct(S="STRING", D=decimal, L={"kind": "ARRAY", "item": "BIGINT"})
    type_ = struct(
        B="BOOLEAN", I="INTEGER", L="BIGINT", D="DOUBLE", S="STRING", Y="BYTES", X=inner,
        A={"kind": "ARRAY", "item": inner}, M={"kind": "MAP", "item": {"kind": "ARRAY", "item": "DOUBLE"}},
    )  # fmt: skip
    rows = [{n: random_value(rng, t) for n, t in type_["fields"]} for _ in range(300)]
    texts = []
    for row in rows:
        fields = [*row.items(), ("unknown", {"B": [1, {"I": "x"}]})]
        rng.shuffle(fields)
        texts.append(written({n if rng.random() < 0.5 else n.lower(): v for n, v in fields}, rng).encode())
    got = records(spark, texts).selectExpr("i", f"{read('value', type_)} r").orderBy("i").collect()
    for row, text, (_, result) in zip(rows, texts, got, strict=True):
        assert result["error"] is None, text
        assert result["row"].asDict(recursive=True) == row, text
