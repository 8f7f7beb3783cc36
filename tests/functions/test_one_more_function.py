"""A function is one entry that is added: analysis, plans, SHOW and DESCRIBE, the lists and Spark then know it."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from ksqlpy.analysis import typed as t
from ksqlpy.errors import KsqlError
from ksqlpy.functions import FUNCTIONS
from ksqlpy.functions.listing import listing, manual
from ksqlpy.plan import Plan, stored
from ksqlpy.spark.expressions import spark_text
from ksqlpy.sql import parse
from ksqlpy.testing.memory import MemoryEngine
from tests.functions.soundex import SOUNDEX
from tests.plan.stored_plans import plans_of

PEOPLE = (
    "CREATE STREAM people (id INT KEY, name STRING) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
CODES = f"{PEOPLE} CREATE STREAM codes AS SELECT id, soundex(name) AS code FROM people;"


@pytest.fixture(autouse=True)
def soundex(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FUNCTIONS, "functions", FUNCTIONS.functions)  # is put back afterwards
    FUNCTIONS.add(SOUNDEX)


def call_in(plan: Plan) -> t.Expr:
    [call] = [o.expr for o in plan.root.outputs if o.name == "CODE"]
    return call


def test_a_plan_calls_it_and_is_stored() -> None:
    [plan] = plans_of(CODES)[0].values()
    back = stored.read(json.loads(stored.canonical(stored.write(plan))))
    assert back == plan
    assert str(call_in(back).type) == "STRING"
    assert "soundex(`NAME`)" in spark_text(call_in(back))


def test_wrong_arguments_are_refused_by_its_signature() -> None:
    engine = MemoryEngine(None)  # type: ignore[arg-type]  # no session: Spark runs nothing
    with pytest.raises(KsqlError) as refused:
        engine.execute(CODES.replace("soundex(name)", "soundex(id, name)"))
    assert (refused.value.code, refused.value.hint) == ("no-overload", "it takes SOUNDEX(STRING)")


def test_it_is_listed_and_described() -> None:
    engine = MemoryEngine(None)  # type: ignore[arg-type]  # no session: Spark runs nothing
    shown, described = engine.execute("SHOW FUNCTIONS; DESCRIBE FUNCTION soundex;")
    assert {"name": "SOUNDEX", "type": "SCALAR", "category": "STRING"} in shown["functions"]
    assert described["functions"][0]["returnType"] == "STRING"
    assert 'name = "SOUNDEX"' in listing() and "**SOUNDEX** The Soundex code" in manual()


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="function SOUNDEX is defined twice"):
        FUNCTIONS.add(SOUNDEX)
    names = list(FUNCTIONS.functions)
    assert names == sorted(names) and parse("SELECT soundex(name) FROM people EMIT CHANGES;")


@pytest.mark.spark
def test_spark_computes_it(spark: SparkSession) -> None:
    text = SOUNDEX.signatures[0].spark(["name"], [])
    names = spark.sql(f"SELECT {text} AS code FROM VALUES ('Robert'), ('Rupert'), (null) AS (name)")
    assert [row.code for row in names.collect()] == ["R163", "R163", None]
