"""The definition of a function in Python: its data, its hash, and the types of its calls."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ksqlpy.functions.python import python_function
from ksqlpy.types import BIGINT, DOUBLE, STRING, ArrayType, DecimalType, StructType
from ksqlpy.udfs.definition import Definition

SHOUT = Definition("SHOUT", "SCALAR", (("text", STRING),), STRING, "def shout(text): return text.upper()", "shout")
MEAN = Definition(
    "MEAN",
    "AGGREGATE",
    (("x", DOUBLE),),
    DOUBLE,
    "class Mean: ...",
    "Mean",
    state=StructType((("N", BIGINT), ("SUM", DecimalType(20, 2)))),
    undo=True,
)


@pytest.mark.parametrize("definition", [SHOUT, MEAN, replace(SHOUT, kind="TABLE", on_error="stop", timeout_ms=5)])
def test_comes_back_from_its_data(definition: Definition) -> None:
    data = json.loads(json.dumps(definition.to_json()))
    assert Definition.from_json(data) == definition
    assert Definition.from_json(data).hash == definition.hash


@pytest.mark.parametrize("data", [{}, {**SHOUT.to_json(), "returns": "TEXT"}, {**SHOUT.to_json(), "colour": "red"}])
def test_refuses_other_data(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not a (function|type)"):
        Definition.from_json(data)


def test_hash_goes_by_what_results_depend_on() -> None:
    assert replace(SHOUT, help="Louder.", timeout_ms=9).hash == SHOUT.hash
    assert replace(SHOUT, body=SHOUT.body + "\n").hash != SHOUT.hash
    assert replace(SHOUT, on_error="stop").hash != SHOUT.hash
    assert replace(SHOUT, module_digest="ab").hash != SHOUT.hash


def test_types_of_the_calls_of_an_aggregate() -> None:
    assert MEAN.signature("init") == ((), MEAN.state)
    assert MEAN.signature("undo") == ((MEAN.state, DOUBLE), MEAN.state)
    assert MEAN.signature("result") == ((MEAN.state,), DOUBLE)
    with pytest.raises(ValueError, match="MEAN has no method merge"):
        MEAN.signature("merge")


def test_a_table_function_gives_all_rows_at_once() -> None:
    words = replace(SHOUT, kind="TABLE")
    assert words.signature() == ((STRING,), ArrayType(STRING))
    assert python_function(words).kind == "TABLE"
