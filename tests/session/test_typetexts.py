"""Types as servers write them."""

from __future__ import annotations

import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.session.typetexts import type_of
from ksqlpy.types import DATE, STRING, ArrayType, DecimalType, MapType, SqlType, StructType

TYPES = [
    STRING,
    DecimalType(38, 0),
    ArrayType(ArrayType(DATE)),
    MapType(STRING, DecimalType(4, 2)),
    StructType((("a `b`>,", STRING), ("C", MapType(STRING, ArrayType(StructType(())))))),
]


@pytest.mark.parametrize("type_", TYPES[:-1], ids=str)
def test_a_type_comes_back(type_: SqlType) -> None:
    assert type_of(str(type_)) == type_
    assert str(type_of(str(type_))) == str(type_)


def test_names_in_backquotes_and_no_fields() -> None:
    assert type_of("STRUCT<`a ``b``>,` STRING, `C` MAP<STRING, ARRAY<STRUCT< >>>>") == TYPES[-1]


ODD = ["", "NOPE", "ARRAY<STRING", "ARRAY<STRING>>", "DECIMAL(4)", "DECIMAL(a, b)", "!", "MAP<STRING>"]


@pytest.mark.parametrize("text", ODD)
def test_texts_that_are_no_types(text: str) -> None:
    with pytest.raises(KsqlError) as odd:
        type_of(text)
    assert odd.value.code == "bad-answer"
