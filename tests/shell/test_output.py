"""How entities and rows look; on a terminal and elsewhere."""

from __future__ import annotations

import io
import json
import re
import time
from decimal import Decimal
from typing import Any

import pytest

from ksqlpy.shell.output import Printer, cell_text, escaped
from ksqlpy.shell.pieces import is_whole
from ksqlpy.shell.times import shown_time


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


class Encoded(io.StringIO):
    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


@pytest.mark.parametrize(
    ("encoding", "line"),
    [
        ("utf-8", '{"NÅMN": "päivä 日本 🚕", "RAW": "\\u001b[2J \\u009b \\u202e \\ud800 \\u007f"}'),
        (
            "ascii",
            '{"N\\u00c5MN": "p\\u00e4iv\\u00e4 \\u65e5\\u672c \\ud83d\\ude95",'
            ' "RAW": "\\u001b[2J \\u009b \\u202e \\ud800 \\u007f"}',
        ),
    ],
)
def test_json_is_utf_8_and_moves_no_cursor(encoding: str, line: str) -> None:
    stream = Encoded(encoding)
    printer = Printer("json", stream)
    printer.header({"columnNames": ["NÅMN", "RAW"]})
    values = ["päivä 日本 🚕", "\x1b[2J \x9b \u202e \ud800 \x7f"]
    printer.row(values)
    printer.entities([dict(zip(["NÅMN", "RAW"], values, strict=True))])
    printer.data(dict(zip(["NÅMN", "RAW"], values, strict=True)))
    assert stream.getvalue().splitlines() == [line] * 3
    assert json.loads(line)["NÅMN"] == values[0]


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


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"state": "RUNNING", "since": 0, "tries": 0, "nextTry": None}, None),
        ({"state": "STARTING", "since": 0, "tries": 0, "nextTry": None}, "Q: STARTING since 1970-01-01 00:00:00 UTC"),
        (
            {"state": "RETRYING", "since": 0, "tries": 2, "nextTry": 4000},
            "Q: RETRYING since 1970-01-01 00:00:00 UTC, 2 tries failed, next at 1970-01-01 00:00:04 UTC: USER: no room",
        ),
        (
            {"state": "RETRYING", "since": 0, "tries": 1, "nextTry": None},
            "Q: RETRYING since 1970-01-01 00:00:00 UTC, 1 try failed, the next is being made: USER: no room",
        ),
        ({"state": "ERROR"}, "Q: ERROR: USER: no room"),  # ksqlDB's server
    ],
)
def test_a_query_that_does_not_run_says_since_when_and_why(fields: dict[str, Any], line: str | None) -> None:
    errors = [{"type": "USER", "errorMessage": "no room"}]
    query = {"id": "Q", "queryType": "PERSISTENT", "queryString": "SELECT 1;", "queryErrors": errors, **fields}
    assert shown({"@type": "queries", "queries": [query]})[3:] == ([] if line is None else [line])


@pytest.mark.parametrize(
    ("statement", "cell"),
    [
        ("CREATE STREAM a AS SELECT 1 FROM b;", "CREATE STREAM a AS SELECT 1 FROM b;"),
        ("CREATE STREAM a AS\n  SELECT 1\n  FROM b;\n", "CREATE STREAM a AS …"),
        ("\n-- far ones\n  CREATE STREAM a AS SELECT 1;\n", "CREATE STREAM a AS SELECT 1;"),
        ("", ""),
    ],
)
def test_of_a_statement_queries_show_the_first_line(statement: str, cell: str) -> None:
    query = {"id": "Q", "state": "RUNNING", "sinks": ["A"], "queryString": statement}
    lines = shown({"@type": "queries", "queries": [query]})
    assert lines[2].split("A", 1)[1].strip() == cell


def test_roles_grants_and_owners() -> None:
    roles = {"@type": "roles", "roles": [{"name": "READER", "builtIn": True}, {"name": "PAY", "builtIn": False}]}
    assert [line.split() for line in shown(roles)][2:] == [["READER", "built", "in"], ["PAY"]]
    grant = {"role": "PAY", "rights": ["SELECT", "DROP"], "on": "ALL LIKE 'pay%'"}
    assert shown({"@type": "grants", "grants": [grant]}) == [
        "Role  Rights        On",
        "----  ------------  ---------------",
        "PAY   SELECT, DROP  ALL LIKE 'pay%'",
    ]
    assert shown({"@type": "grants", "grants": []}) == ["(no grants)"]
    query = {"id": "Q", "owner": "ann", "statementText": "SELECT 1;", "queryType": "PUSH"}
    assert "Owner     : ann" in shown({"@type": "queryDescription", "queryDescription": query})
    described = {
        "name": "S",
        "fields": [],
        "extended": True,
        "writeQueries": [{"id": "Q", "owner": "ann"}, {"id": "R"}],
    }
    assert "Written by : Q of ann, R" in shown({"@type": "sourceDescription", "sourceDescription": described})


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


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> tuple[Printer, Terminal]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    return Printer(stream=stream), stream


FACTS = (("A", "Long name"), [("1", "x" * 30), ("22", "päivä")])


def test_finished_table_is_folded_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    printer, stream = on_terminal(monkeypatch, 24)
    printer.table(*FACTS)
    assert stream.getvalue().splitlines() == [
        "A   Long name",
        "──  ────────────────────",
        "1   xxxxxxxxxxxxxxxxxxxx",
        "    xxxxxxxxxx",
        "22  päivä",
    ]


def test_table_is_cut_where_wrap_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    printer, stream = on_terminal(monkeypatch, 24)
    printer.wrap = False
    printer.table(*FACTS)
    assert stream.getvalue().splitlines()[2] == "1   xxxxxxxxxxxxxxxxxxx…"
    printer.column_width = 3
    printer.table(*FACTS)
    assert stream.getvalue().splitlines()[4:] == ["A    Lo…", "───  ───", "1    xx…", "22   pä…"]


def test_table_stands_upright_where_it_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    printer, stream = on_terminal(monkeypatch, 12)
    printer.table(*FACTS)
    assert stream.getvalue().splitlines() == [
        "─[ 1 ]──────",
        "A    | 1",
        "Lon… | xxxxxxxx",
        "     | xxxxxxxx",
        "     | xxxxxxxx",
        "     | xxxxxx",
        "─[ 2 ]──────",
        "A    | 22",
        "Lon… | päivä",
    ]


def test_facts_are_folded_at_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    printer, stream = on_terminal(monkeypatch, 30)
    printer.facts({"Statement": "SELECT id, name FROM somewhere WHERE id > 7", "Empty": "", "Lines": "a\n\nb"})
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == [
        "Statement : SELECT id, name",
        "            FROM somewhere",
        "            WHERE id > 7",
        "Lines     : a",
        "",
        "            b",
    ]


def test_rows_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    printer, stream = on_terminal(monkeypatch, 50)
    header = {"columnNames": ["ID", "NAME", "OK"], "columnTypes": ["INTEGER", "STRING", "BOOLEAN"]}
    printer.header(header)
    printer.row([1, "日本" * 12, True])
    printer.row([2, None, False])
    assert stream.getvalue().splitlines() == [
        "ID          | NAME                       | OK",
        "────────────┼────────────────────────────┼────────",
        "          1 | 日本日本日本日本日本日本日 | true",
        "            | 本日本日本日本日本日本     |",
        "          2 | NULL                       | false",
    ]


TIMED = {
    "columnNames": ["K", "WINDOWSTART", "A_ROWTIME", "SEEN", "ROWTIME_OF_K"],
    "columnTypes": ["BIGINT", "BIGINT", "BIGINT", "TIMESTAMP", "BIGINT"],
}
AT = 1_714_979_289_012


@pytest.mark.parametrize(
    ("mode", "zone", "row"),
    [
        ("millis", "UTC", "1 | 1714979289012 | 1714979289012 | 2024-05-06T07:08:09.012 | 1714979289012"),
        (
            "utc",
            "Europe/Oslo",
            "1 | 2024-05-06T07:08:09.012Z | 2024-05-06T07:08:09.012Z | 2024-05-06T07:08:09.012Z | 1714979289012",
        ),
        (
            "local",
            "Europe/Oslo",
            "1 | 2024-05-06T09:08:09.012+02:00 | 2024-05-06T09:08:09.012+02:00 | 2024-05-06T09:08:09.012+02:00"
            " | 1714979289012",
        ),
    ],
)
def test_times(monkeypatch: pytest.MonkeyPatch, mode: str, zone: str, row: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    printer, stream = on_terminal(monkeypatch, 160)
    printer.times = mode
    printer.header(TIMED)
    printer.row([1, AT, AT, "2024-05-06T07:08:09.012", AT])
    _, rule, line = stream.getvalue().splitlines()
    assert re.sub(" +", " ", line).strip() == row
    assert [at for at, c in enumerate(rule) if c == "┼"] == [at for at, c in enumerate(line) if c == "|"]
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("value", [None, -62_135_596_800_001, 10**15, -(2**63), "+10000-01-01T00:00:00.000"])
@pytest.mark.parametrize("mode", ["utc", "local"])
def test_a_time_that_is_none_stays_as_it_is(value: object, mode: str) -> None:
    assert shown_time(value, mode) == value


@pytest.mark.parametrize("output", ["json", "csv"])
def test_programs_get_times_as_the_server_gives_them(output: str) -> None:
    stream = io.StringIO()
    printer = Printer(output, stream)
    printer.times = "utc"
    printer.header(TIMED)
    printer.row([1, AT, AT, "2024-05-06T07:08:09.012", AT])
    assert stream.getvalue().splitlines()[-1].count(str(AT)) == 3


@pytest.mark.parametrize("vertical", ["auto", "on"])
def test_rows_stand_upright(monkeypatch: pytest.MonkeyPatch, vertical: str) -> None:
    printer, stream = on_terminal(monkeypatch, 30 if vertical == "auto" else 90)
    printer.vertical = vertical
    printer.header({"columnNames": ["A", "B", "C"], "columnTypes": ["BIGINT", "BIGINT", "STRING"]})
    printer.row([1, 2, "x"])
    printer.row([3, 4, "y"])
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("─[ 1 ]─") and lines[1:4] == ["A | 1", "B | 2", "C | x"]
    assert lines[4].startswith("─[ 2 ]─")


def test_rows_are_whole_where_they_shall_not_stand_upright(monkeypatch: pytest.MonkeyPatch) -> None:
    printer, stream = on_terminal(monkeypatch, 20)
    printer.vertical = "off"
    printer.header({"columnNames": ["A", "B"], "columnTypes": ["STRING", "STRING"]})
    printer.row(["x" * 40, "y"])
    assert f"{'x' * 40} | y" in stream.getvalue()


def test_very_long_value_is_counted_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    printer, stream = on_terminal(monkeypatch, 40)
    header = {"columnNames": ["A", "B"], "columnTypes": ["STRING", "STRING"]}
    printer.header(header)
    printer.row(["x" * 1_000_000, "y"])
    text = stream.getvalue()
    assert len(text.splitlines()) < 30 and "… (1,000,000" in text
    file = io.StringIO()
    elsewhere = Printer(stream=file)
    elsewhere.header(header)
    elsewhere.row(["x" * 1_000_000, "y"])
    assert "x" * 1_000_000 in file.getvalue()


def test_csv() -> None:
    stream = io.StringIO()
    printer = Printer("csv", stream)
    printer.header({"columnNames": ["A", "b,c"], "columnTypes": ["STRING", "STRING"]})
    for row in (["", None], ['say "hi"', "two\nlines"], [Decimal("1.20"), {"X": [1, None]}]):
        printer.row(row)
    printer.entities([{"@type": "streams", "streams": []}])
    assert stream.getvalue() == (
        'A,"b,c"\n"",\n"say ""hi""","two\nlines"\n1.20,"{""X"": [1, null]}"\n'
        "Name,Topic,Key format,Value format,Windowed\n"
    )


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        ("-- a comment", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';", False),
        ("SELECT ';'", False),
        ("SELECT 1; -- ;", True),
        ("SELECT 1 -- ;", False),
        ("SELECT /* ; ", False),
        ("SELECT `a;", False),
        ("SELECT ü;", True),
        ("SELECT ü", False),
        ("a; b", False),
    ],
)
def test_statement_has_its_end(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


def test_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    streams = [{"name": "[red]S[/]", "topic": "t" * 60, "keyFormat": "K", "valueFormat": "V"}]
    Printer(stream=stream).entities([{"@type": "streams", "streams": streams}])
    text = stream.getvalue()
    assert "[red]S" in text  # no mark-up
    assert text.count("t") > 59  # folded, not cut
