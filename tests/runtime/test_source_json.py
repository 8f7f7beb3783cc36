"""Sources come back from the command log as they were."""

from __future__ import annotations

import json

import pytest

from ksqlpy.catalog import HEADERS_TYPE, Column, Header, Source, WindowKey
from ksqlpy.runtime.commandlog import source_from_json, source_to_json
from ksqlpy.types import BYTES, INTEGER, STRING

KEY, VALUE = Column("ID", INTEGER, True), Column("V", STRING)


@pytest.mark.parametrize(
    "source",
    [
        Source("S", "STREAM", "s", (KEY, VALUE), "KAFKA", "JSON", "CREATE …"),
        Source(
            "S", "STREAM", "s", (KEY, VALUE), "DELIMITED", "DELIMITED", "…", key_delimiter=";", value_delimiter="\t"
        ),
        Source("S", "STREAM", "s", (KEY, Column("H", HEADERS_TYPE, header=Header(None))), "KAFKA", "JSON", "…"),
        Source("S", "STREAM", "s", (KEY, Column("H", BYTES, header=Header("")), VALUE), "KAFKA", "JSON", "…"),
        Source("S", "TABLE", "s", (KEY, VALUE), "KAFKA", "JSON", "…", window=WindowKey("SESSION", None)),
        Source("S", "TABLE", "s", (KEY, VALUE), "KAFKA", "JSON", "…", window=WindowKey("HOPPING", 1000), wrapped=False),
    ],
    ids=["plain", "delimiters", "all headers", "one header", "sessions", "bare"],
)
def test_a_source_comes_back(source: Source) -> None:
    assert source_from_json(json.loads(json.dumps(source_to_json(source)))) == source
