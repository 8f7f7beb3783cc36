"""JSON of values that need care."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from ksqlpy.server.wire import BEHIND, behind_text, encode


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1.20"), "1.20"),
        (Decimal("0E-10"), "0.0000000000"),
        (Decimal("1E+3"), "1000"),
        (Decimal("-12345678901234567890.123456789"), "-12345678901234567890.123456789"),
        (Decimal("1E+300"), "1E+300"),
        (10**30, "1" + "0" * 30),
        (
            ["é\u2028", None, True, {"k": [10**20, Decimal("0.10")]}],
            '["é\u2028",null,true,{"k":[100000000000000000000,0.10]}]',
        ),
        ("\ud800", '"\\ud800"'),
    ],
)
def test_values(value: object, text: str) -> None:
    assert encode([1, value]).decode() == f"[1,{text}]"
    json.loads(encode(value))


def test_no_json() -> None:
    with pytest.raises(TypeError):
        encode([object()])


def test_a_header_has_some_queries_in_ascii() -> None:
    text = behind_text({"CSAS_\u00c9_1": None, **{f"Q{i}": i for i in range(1_000)}})
    assert text.isascii() and len(text) < 1_000
    assert json.loads(text) == {"CSAS_\u00c9_1": None, **{f"Q{i}": i for i in range(BEHIND - 1)}}
