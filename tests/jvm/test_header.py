"""The header and the sink's value are read as they were ever written; java/once/CoordinatesTest.java does the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.spark.header import Coordinates, coordinates, mark, taken_apart

VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("header_vectors.json").read_text("utf-8"))[
    "vectors"
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["what"])
def test_vectors(vector: dict[str, Any]) -> None:
    value = None if vector["value"] is None else bytes.fromhex(vector["value"])
    assert taken_apart(bytes.fromhex(vector["sent"])) == (value, vector["rowtime"])
    if vector["at"] is None:
        assert vector["header"] is None
        return
    header = bytes.fromhex(vector["header"])
    at = vector["at"]
    wanted = Coordinates(
        mark(vector["query"]), at["place"], at["offset"], at["window"], tuple(at["seen"]), tuple(at["group"] or ())
    )
    tag = bytes.fromhex(vector["tag"])
    assert coordinates(header, len(at["seen"]), signed=False) == wanted
    assert coordinates(header + tag, len(at["seen"])) == replace(wanted, tag=tag)
