"""Sources come back from the command log as they were."""

from __future__ import annotations

import json

import pytest

from ksqlpy.catalog import HEADERS_TYPE, Column, Header, KeySpec, Source, ValueSpec, WindowKey
from ksqlpy.runtime.commandlog import source_from_json, source_to_json
from ksqlpy.types import BYTES, INTEGER, STRING

KAFKA, JSON = KeySpec("KAFKA"), ValueSpec("JSON")
KEY, VALUE = Column("ID", INTEGER, True), Column("V", STRING)


@pytest.mark.parametrize(
    "source",
    [
        Source("S", "STREAM", "s", (KEY, VALUE), KAFKA, JSON, "CREATE …"),
        Source("S", "TABLE", "s", (KEY, VALUE), KeySpec("JSON", wrapped=True), JSON, "…", envelope="DEBEZIUM"),
        Source(
            "S",
            "STREAM",
            "s",
            (KEY, VALUE),
            KeySpec("DELIMITED", delimiter=";"),
            ValueSpec("DELIMITED", delimiter="\t"),
            "…",
        ),
        Source(
            "S",
            "STREAM",
            "s",
            (KEY, Column("H", HEADERS_TYPE, header=Header(None))),
            KAFKA,
            JSON,
            "…",
        ),
        Source(
            "S",
            "STREAM",
            "s",
            (KEY, Column("H", BYTES, header=Header("")), VALUE),
            KAFKA,
            JSON,
            "…",
        ),
        Source("S", "TABLE", "s", (KEY, VALUE), KAFKA, JSON, "…", window=WindowKey("SESSION", None)),
        Source(
            "S",
            "TABLE",
            "s",
            (KEY, VALUE),
            KAFKA,
            ValueSpec("JSON", wrapped=False),
            "…",
            window=WindowKey("HOPPING", 1000),
        ),
    ],
    ids=["plain", "envelope", "delimiters", "all headers", "one header", "sessions", "bare"],
)
def test_a_source_comes_back(source: Source) -> None:
    assert source_from_json(json.loads(json.dumps(source_to_json(source)))).source() == source
