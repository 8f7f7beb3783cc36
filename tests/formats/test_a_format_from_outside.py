"""A format is one object that is added: statements, Spark, statement files and the codec then know it."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ksqlpy
from ksqlpy.analysis import Declare, analyze_create
from ksqlpy.catalog import Catalog, Column, KeySpec, ValueSpec
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem
from ksqlpy.formats import FORMATS, JSON, Unreadable, codec
from ksqlpy.sql import parse
from ksqlpy.testing import MemoryRunner, check, read_cases
from ksqlpy.testing.memory import MemoryEngine
from ksqlpy.types import BIGINT, STRING
from tests.formats.pairs import Pairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = r"""
=== read, filtered and written
CREATE STREAM s (k STRING KEY, a BIGINT, b STRING) WITH (kafka_topic='s', format='PAIRS', partitions=1);
CREATE STREAM big AS SELECT k, a + 1 AS a, UCASE(b) AS b FROM s WHERE a > 1;
CREATE STREAM j WITH (key_format='KAFKA', value_format='JSON') AS SELECT * FROM s;
CREATE STREAM back WITH (format='PAIRS') AS SELECT * FROM j;
--- input s
K=x A=1|B=one
K=y B=t=wo|A=2
K=y A=many
K=z C=3
K=z A=
null A=7
K=z null
--- output big
K=y A=3|B=T=WO
null A=8
--- output j
x {"A":1,"B":"one"}
y {"A":2,"B":"t=wo"}
z {"A":null,"B":null}
null {"A":7,"B":null}
z null
--- output back
K=x A=1|B=one
K=y A=2|B=t=wo
K=z x''
null A=7
K=z null
--- dead letters
s 2 A: many is no number
s 4 A:  is no number
s 2 A: many is no number
s 4 A:  is no number
"""


@pytest.fixture
def pairs() -> Iterator[Pairs]:
    format_ = Pairs()
    FORMATS.add(format_)
    yield format_
    FORMATS.remove(format_.name)


@pytest.mark.spark
def test_it_runs(pairs: Pairs, spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "pairs.test"
    file.write_text(CASES, encoding="utf-8")
    [case] = read_cases(file)
    check(case, MemoryRunner(spark, tmp_path))


def declared(sql: str) -> Declare:
    [parsed] = parse(sql)
    made = analyze_create(parsed, Catalog(), Config.of({}))
    assert isinstance(made, Declare)
    return made


def test_its_limits_are_asked(pairs: Pairs) -> None:
    with pytest.raises(AnalysisProblem, match="format PAIRS cannot carry the value column V DOUBLE"):
        declared("CREATE STREAM s (v DOUBLE) WITH (kafka_topic='s', value_format='pairs');")
    with pytest.raises(AnalysisProblem, match="format PAIRS knows no WRAP_SINGLE_VALUE = true"):
        declared("CREATE STREAM s (v BIGINT) WITH (kafka_topic='s', value_format='pairs', wrap_single_value=true);")
    with pytest.raises(AnalysisProblem, match="VALUE_DELIMITER is for format DELIMITED"):
        declared("CREATE STREAM s (v BIGINT) WITH (kafka_topic='s', value_format='pairs', value_delimiter=';');")
    assert Config.of({"ksql.persistence.default.format.value": "pairs"})


def test_unknown_before_and_after() -> None:
    with pytest.raises(AnalysisProblem, match="there is no format PAIRS"):
        declared("CREATE STREAM s (v BIGINT) WITH (kafka_topic='s', value_format='pairs');")
    with pytest.raises(ValueError, match="there is a format JSON already"):
        FORMATS.add(JSON)


def test_its_codec(pairs: Pairs) -> None:
    spec = ValueSpec("PAIRS", (Column("A", BIGINT), Column("B", STRING)))
    assert codec(spec).encode((5, "x=y")) == b"A=5\nB=x=y"
    assert codec(spec).decode(b"B=x=y\nA=5") == (5, "x=y")
    assert codec(spec).decode(b"") == (None, None)
    with pytest.raises(Unreadable, match="A: five is no number"):
        codec(spec).decode(b"A=five")
    key = KeySpec("PAIRS", (Column("K", STRING, key=True),))
    assert codec(key).decode(codec(key).encode(("x",))) == ("x",)


# ---------------------------------------------------------------- where columns come from


def test_columns_can_be_inferred(pairs: Pairs) -> None:
    pairs.memory.columns["s", "value"] = (Column("A", BIGINT), Column("B", STRING))
    source = declared("CREATE STREAM s (k STRING KEY) WITH (kafka_topic='s', value_format='pairs');").source
    assert source.columns == (Column("K", STRING, key=True), Column("A", BIGINT), Column("B", STRING))
    listed = declared("CREATE STREAM s (k STRING KEY, a BIGINT) WITH (kafka_topic='s', value_format='pairs');").source
    assert [c.name for c in listed.columns] == ["K", "A"]
    with pytest.raises(AnalysisProblem, match="the records of the topic have a column A already"):
        declared("CREATE STREAM s (a STRING KEY) WITH (kafka_topic='s', value_format='pairs');")
    pairs.memory.columns["s", "key"] = (Column("K", BIGINT),)
    table = declared("CREATE TABLE t WITH (kafka_topic='s', format='pairs');").source
    assert table.schema_text == "`K` BIGINT KEY, `A` BIGINT, `B` STRING"


@pytest.mark.parametrize("format_", ["pairs", "json"])
def test_what_no_place_knows_must_be_listed(pairs: Pairs, format_: str) -> None:
    with pytest.raises(AnalysisProblem) as caught:
        declared(f"CREATE STREAM s WITH (kafka_topic='s', value_format='{format_}');")
    assert caught.value.code == "no-columns"


@pytest.mark.spark
def test_a_new_source_makes_its_columns_known(pairs: Pairs, spark: SparkSession) -> None:
    engine = MemoryEngine(spark)
    engine.execute(
        "CREATE STREAM s (k STRING KEY, a BIGINT) WITH (kafka_topic='s', value_format='JSON', partitions=1);"
    )
    engine.execute("CREATE STREAM o WITH (value_format='PAIRS') AS SELECT k, a AS x FROM s;")
    assert pairs.memory.columns["O", "value"] == (Column("X", BIGINT),)
    engine.execute("CREATE STREAM again (k STRING KEY) WITH (kafka_topic='O', value_format='PAIRS');")
    assert engine.catalog.sources["AGAIN"].values == (Column("X", BIGINT),)


# ---------------------------------------------------------------- one place


def test_no_other_place_names_a_format() -> None:
    root = Path(ksqlpy.__file__).parent
    own = set((root / "formats").rglob("*.py"))
    found = []
    for file in sorted(set(root.rglob("*.py")) - own):
        for token in tokenize.generate_tokens(io.StringIO(file.read_text(encoding="utf-8")).readline):
            if token.type == tokenize.STRING and re.fullmatch(r"[\"'](DELIMITED|KAFKA|AVRO)[\"']", token.string):
                found.append(f"{file.relative_to(root)}: {token.string}")
    # What ksql.persistence.default.format.key is by default; and the schema registry's word for a kind of schemas.
    assert found == ['config/statements.py: "KAFKA"', 'registry/client.py: "AVRO"']
