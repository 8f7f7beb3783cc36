"""How entities and rows look; on a terminal and elsewhere."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest

from ksqlpy.shell.output import Printer, cell_text, escaped


def shown(entity: dict[str, Any]) -> list[str]:
    stream = io.StringIO()
    Printer(stream=stream).entities([entity])
    return [line.rstrip() for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (1.5, "1.5"),
        (Decimal("1.20"), "1.20"),
        ("a b", "a b"),
        ("a\nb\t\x1b[0m", "a\\nb\\t\\x1b[0m"),
        ("\x9b2J\u2028\u202e", "\\x9b2J\\u2028\\u202e"),
        ("päivä 日本 👩‍🚀", "päivä 日本 👩‍🚀"),
        ({"A": [1, None], "B": Decimal("0.10")}, '{"A": [1, null], "B": 0.10}'),
    ],
)
def test_cells(value: object, text: str) -> None:
    assert cell_text(value) == text


def test_line_ends_may_stay() -> None:
    assert escaped("a\nb\r", keep="\n") == "a\nb\\r"


def test_described_source() -> None:
    fields = [
        {"name": "ID", "type": "KEY", "schema": {"type": "BIGINT", "fields": None, "memberSchema": None}},
        {
            "name": "V",
            "schema": {
                "type": "STRUCT",
                "fields": [
                    {
                        "name": "A",
                        "schema": {
                            "type": "ARRAY",
                            "memberSchema": {"type": "DECIMAL", "parameters": {"precision": 4, "scale": 2}},
                        },
                    },
                    {"name": "M", "schema": {"type": "MAP", "memberSchema": {"type": "STRING"}}},
                ],
            },
        },
    ]
    description = {"name": "S", "type": "STREAM", "fields": fields, "extended": True, "topic": "t", "partitions": 4}
    assert shown({"@type": "sourceDescription", "sourceDescription": description}) == [
        "Name : S",
        "Type : STREAM",
        "Field  Type",
        "-----  -----------------------------------------------------  ---",
        "ID     BIGINT                                                 key",
        "V      STRUCT<A ARRAY<DECIMAL(4, 2)>, M MAP<STRING, STRING>>",
        "Topic      : t",
        "Partitions : 4",
    ]


def test_plan_keeps_its_lines() -> None:
    lines = shown(
        {"@type": "queryDescription", "queryDescription": {"id": "Q", "executionPlan": "a\n  b", "fields": []}}
    )
    assert lines == ["Id : Q", "", "Plan", "a", "  b"]


@pytest.mark.parametrize(
    "entity",
    [
        {"@type": "from_the_future", "value": "\x1b"},
        {"@type": "streams", "streams": "of another shape"},
        {"@type": "currentStatus"},
    ],
)
def test_unknown_shapes_are_json(entity: dict[str, Any]) -> None:
    lines = shown(entity)
    assert lines[0] == "{" and lines[-1] == "}"
    assert f'  "@type": "{entity["@type"]}"' in lines[1]


def test_wide_characters_keep_columns_straight() -> None:
    streams = [{"name": n, "topic": "t", "keyFormat": "K", "valueFormat": "V"} for n in ("日本", "abcdef")]
    lines = shown({"@type": "streams", "streams": streams})
    assert lines[2].startswith("日本    t") and lines[3].startswith("abcdef  t")


def test_nothing_and_warnings() -> None:
    assert shown({"@type": "streams", "streams": [], "warnings": [{"message": "take care"}]}) == [
        "(no streams)",
        "warning: take care",
    ]


def test_empty_line_between_blocks_only() -> None:
    stream = io.StringIO()
    printer = Printer(stream=stream)
    done = {"@type": "warning_entity", "message": "done"}
    printer.entities([done, done, {"@type": "streams", "streams": []}, done])
    printer.header({"columnNames": ["A"], "columnTypes": ["BOOLEAN"]})
    assert stream.getvalue().splitlines()[:7] == ["done", "done", "", "(no streams)", "", "done", ""]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    streams = [{"name": "[red]S[/]", "topic": "t" * 60, "keyFormat": "K", "valueFormat": "V"}]
    Printer(stream=stream).entities([{"@type": "streams", "streams": streams}])
    text = stream.getvalue()
    assert "[red]S" in text  # no mark-up
    assert text.count("t") > 59  # folded, not cut
