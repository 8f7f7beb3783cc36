"""A source as a server describes it, for records that are invented."""

from __future__ import annotations

from typing import Any

import pytest

from ksqlpy.datagen.remote import described
from ksqlpy.errors import AnalysisProblem
from ksqlpy.types import BIGINT, INTEGER, StructType


class Answers:
    """Stands in for a client of a server that has one source."""

    def __init__(self, statement: str, kind: str) -> None:
        self._description = {
            "name": "S",
            "type": kind,
            "topic": "t",
            "keyFormat": "KAFKA",
            "valueFormat": "JSON",
            "windowType": None,
            "timestamp": "",
            "statement": statement,
            "writeQueries": [],
            "fields": [
                {"name": "ROWKEY", "type": "KEY", "schema": {"type": "INTEGER"}},
                {"name": "odd name", "schema": {"type": "BIGINT"}},
                {"name": "R", "schema": {"type": "STRUCT", "fields": [{"name": "a", "schema": {"type": "BIGINT"}}]}},
            ],
        }

    def statements(self, sql: str) -> list[Any]:
        if sql.startswith("DESCRIBE"):
            return [{"sourceDescription": self._description}]
        return [{"types": {}}, {"properties": [{"name": "bootstrap.servers", "value": "b:1"}]}]


@pytest.mark.parametrize("kind", ["STREAM", "TABLE"])
def test_columns_that_the_server_has_inferred(kind: str) -> None:
    answers: Any = Answers(f"CREATE {kind} s WITH (kafka_topic='t');", kind)
    source, servers = described(answers, "s")
    assert [(c.name, c.type, c.key) for c in source.columns] == [
        ("ROWKEY", INTEGER, True),
        ("odd name", BIGINT, False),
        ("R", StructType((("a", BIGINT),)), False),
    ]
    assert (source.kind, source.key.format, source.value.format, servers) == (kind, "KAFKA", "JSON", "b:1")


def test_change_events_are_not_invented() -> None:
    statement = "CREATE TABLE s WITH (kafka_topic='t', value_envelope='DEBEZIUM');"
    answers: Any = Answers(statement, "TABLE")
    with pytest.raises(AnalysisProblem) as caught:
        described(answers, "s")
    assert caught.value.code == "read-only"
