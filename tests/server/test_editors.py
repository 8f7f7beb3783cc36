"""POST /check and POST /complete: what is told of a text while it is written; ``checks.txt``."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.completion.complete import KINDS, complete
from ksqlpy.runtime.editing import Editing
from ksqlpy.server.app import create_app
from ksqlpy.server.places import Places
from tests.access.engine import AccessEngine
from tests.shell.test_completion import CURSOR, EXAMPLES, NAMES

FILE = Path(__file__).with_name("checks.txt")
HEAD, *BLOCKS = FILE.read_text(encoding="utf-8").removesuffix("\n").split("\n\n")

START = """
CREATE STREAM rides (city STRING KEY, id INT, fare DECIMAL(6, 2))
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE zones (id INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = 'zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""


def split(block: str) -> tuple[str, str]:
    """The text of a block, and what is told of it."""
    lines = block.split("\n")
    text = [line for line in lines if not line.startswith("  ")]
    return "\n".join(text), "\n".join(line for line in lines if line.startswith("  "))


CASES = [split(block) for block in BLOCKS]


@pytest.fixture(scope="module")
def engine() -> AccessEngine:
    return AccessEngine(START)


def post(engine: AccessEngine, path: str, **body: Any) -> httpx.Response:
    async def one() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(engine))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post(path, json=body)

    return asyncio.run(one())


def units(text: str) -> list[str]:
    """The text as JavaScript has it: a list of code units."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(data), 2)]


def cut(text: str, told: dict[str, Any]) -> str:
    part = "".join(units(text)[told["start"] : told["end"]])
    return part.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def told(engine: AccessEngine, text: str) -> str:
    answer = post(engine, "/check", text=text).json()
    lines = []
    for part in answer["statements"]:
        lines.append(f"  {part['kind']} {part['name']}".rstrip() + ("" if part["checked"] else ", not checked"))
        assert cut(text, part).strip() == cut(text, part)
    for d in answer["diagnostics"]:
        line = units(text.split("\n")[d["line"] - 1])
        assert "".join(units(text)[d["start"] :]).startswith("".join(line[d["column"] - 1 :]))
        place = cut(text, d).replace("\n", "⏎")
        lines.append(f"  {d['line']}:{d['column']} «{place}» {d['severity']} {d['code']}: {d['message']}")
    return "\n".join(lines)


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text[:60] for text, _ in CASES])
def test_what_is_wrong(text: str, expected: str, engine: AccessEngine) -> None:
    before = engine.catalog
    assert told(engine, text) == expected
    assert engine.catalog is before and len(engine.log) == 2, "nothing is done"


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite(engine: AccessEngine) -> None:
    blocks = [f"{text}\n{told(engine, text)}".strip("\n") for text, _ in CASES]
    FILE.write_text("\n\n".join([HEAD, *blocks]) + "\n", encoding="utf-8")


@pytest.mark.parametrize("text", ["", " \n", "-- nothing", "/* nothing */"])
def test_a_text_without_statements(text: str, engine: AccessEngine) -> None:
    assert post(engine, "/check", text=text).json() == {"diagnostics": [], "statements": []}


def test_properties_and_variables_are_those_of_the_session(engine: AccessEngine) -> None:
    text = "SELECT * FROM ${source} EMIT CHANGES;"
    assert post(engine, "/check", text=text, variables={"source": "rides"}).json()["diagnostics"] == []
    assert post(engine, "/check", text="", properties={"nothing": 1}).json()["error_code"] == 40000
    assert post(engine, "/check", text="", variables={"a": 1}).json()["ksqlpy"]["code"] == "bad-variable"


def test_a_function_in_python_is_not_run(engine: AccessEngine, tmp_path: Path) -> None:
    made = tmp_path / "made"
    text = f"""CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$
open({str(made)!r}, "w")
def f(x):
    return x
$$; SELECT f(id) FROM rides EMIT CHANGES;"""
    answer = post(engine, "/check", text=text).json()
    assert answer["diagnostics"] == [] and [p["checked"] for p in answer["statements"]] == [True, True]
    assert not made.exists()


def test_topics_are_not_asked_for_at_each_key() -> None:
    asked = []
    engine = AccessEngine(START)
    clock = iter(range(1000))
    now = [0.0]

    def topics() -> dict[str, list[int]]:
        asked.append(next(clock))
        return {"rides": [1], "late": [1, 1]}

    editing = Editing(engine, topics, lambda query_id: None, lambda: now[0])
    assert [dict(editing.partitions()) for _ in range(5)][-1] == {"rides": 1, "late": 2}
    assert len(asked) == 1
    engine.execute("DROP TABLE zones;")
    editing.partitions()
    assert len(asked) == 2, "somebody has changed something"
    now[0] += 6
    editing.partitions()
    assert len(asked) == 3, "others may have made topics"


def test_brokers_that_are_away_keep_nobody_waiting() -> None:
    def topics() -> dict[str, list[int]]:
        raise OSError("away")

    engine = AccessEngine(START)
    engine.editing = Editing(engine, topics, lambda query_id: None)
    assert post(engine, "/complete", text="SELECT * FROM ri", offset=16).json()["options"][0]["label"] == "rides"
    assert post(engine, "/check", text="SELECT * FROM rides EMIT CHANGES;").json()["diagnostics"] == []


# ---------------------------------------------------------------- completion


@contextmanager
def named(engine: AccessEngine) -> Iterator[None]:
    """The names of the shell's examples, without the commands of the shell."""
    editing: Any = engine.editing
    editing.names = lambda: SHELL
    try:
        yield
    finally:
        del editing.names


SHELL = type(NAMES)(**{**vars(NAMES), "commands": {}, "arguments": {}, "statements": ()})


def test_every_completion_of_the_shell_appears(engine: AccessEngine) -> None:
    with named(engine):
        for line, _ in EXAMPLES:
            before, after = CURSOR.split(line)
            answer = post(engine, "/complete", text=before + after, offset=len(before), variables=dict(NAMES.variables))
            options = answer.json()["options"]
            expected = complete(before, SHELL, after)
            assert [o.get("apply", o["label"]) for o in options] == [s.text for s in expected], line
            assert {o["type"] for o in options} <= set(KINDS)
            if expected:
                assert answer.json()["from"] == len(before) - expected[0].length


def test_the_kinds_of_options(engine: AccessEngine) -> None:
    answer = post(engine, "/complete", text="SELECT ROUND(fa FROM rides EMIT CHANGES;", offset=15).json()
    assert answer["from"] == 13 and answer["options"][0] == {
        "label": "fare",
        "type": "column",
        "detail": "DECIMAL(6, 2)",
    }
    assert (answer["signature"]["name"], answer["signature"]["active"]) == ("ROUND", 0)
    options = post(engine, "/complete", text="SELECT uca FROM rides", offset=10).json()["options"]
    assert options[0] == {"label": "ucase", "apply": "ucase(", "type": "function", "detail": "(STRING) → STRING"}
    options = post(engine, "/complete", text="SELECT * FROM ", offset=14).json()["options"]
    assert [(o["label"], o["type"], o["detail"]) for o in options] == [
        ("RIDES", "source", "stream"),
        ("ZONES", "source", "table"),
    ]
    assert post(engine, "/complete", text="", offset=0).json()["signature"] is None


def test_offsets_are_of_utf_16(engine: AccessEngine) -> None:
    text = "SELECT '🚕', ci FROM rides EMIT CHANGES;"
    answer = post(engine, "/complete", text=text, offset=15).json()
    assert (answer["from"], answer["options"][0]["label"]) == (13, "city")
    assert post(engine, "/complete", text="x", offset=99).status_code == 200
    assert post(engine, "/complete", text="x", offset=-1).status_code == 400


def test_places() -> None:
    text = "a🚕b\n🚕🚕c"
    places = Places(text)
    flat = units(text)
    for at in range(len(text) + 1):
        unit = places.units(at)
        assert "".join(flat[:unit]).encode("utf-16-le", "surrogatepass").decode("utf-16-le") == text[:at]
        assert places.place(unit) == at
    assert places.place(2) == 1, "between the units of a character"
    assert places.place(100) == len(text)
    assert [places.line(i) for i in (0, 2, 4, 6)] == [(1, 1), (1, 4), (2, 1), (2, 5)]


LONG = {
    "a word": ("x" * 1_000_000, " "),
    "words": ("SELECT x " * 5_000, ""),
    "what is no statement": ("x;" * 20_000, ""),
    "statements, one of them wrong": ("SELEC x; " + "SHOW TABLES;" * 4_000, ""),
    "a wrong one among many": ("SELECT citi FROM rides EMIT CHANGES;" * 1_100, ""),
    "quotes": ("SELECT " + "'" * 199_999, ""),
    "a string without end": ("SELECT '" + "''" * 100_000, "x"),
    "references": ("SELECT " + "${x}," * 5_000, ""),
    "a digit more and more": ("SELECT " + "1" * 500_000 + "x", ""),
    "parentheses": ("SELECT " + "(" * 20_000, ""),
    "a comment": ("/*" + "*" * 500_000, ""),
    "blanks": (" \n" * 250_000, ""),
    "variables": ("".join(f"DEFINE a{n} = '1';CREATE TYPE t{n} AS INT;" for n in range(1_000)), ""),
    "joins": ("SELECT * FROM rides a" + " JOIN rides b" * 4_000, " ON "),
}
"""Texts of one kind of thing, in two pieces; before one of them the server stood still."""


@pytest.mark.parametrize("name", LONG)
def test_long_texts_are_answered(name: str, engine: AccessEngine) -> None:
    text = "".join(LONG[name])
    checked = post(engine, "/check", text=text).json()
    assert len(checked["diagnostics"]) <= 1000
    assert all(one["end"] <= other["start"] for one, other in pairwise(checked["statements"]))
    completed = post(engine, "/complete", text=text, offset=len(text))
    assert completed.status_code == 200 and len(completed.json()["options"]) <= 300


def test_behind_a_thousand_errors_nothing_is_read(engine: AccessEngine) -> None:
    answer = post(engine, "/check", text="SELEC 1;" * 1_100 + "SHOW STREAMS;").json()
    assert len(answer["diagnostics"]) == 1_000 and len(answer["statements"]) == 1_101
    assert [p["checked"] for p in answer["statements"]] == [True] * 1_000 + [False] * 101
    assert {p["kind"] for p in answer["statements"]} == {"unreadable"}


def test_a_statement_that_is_too_long_gets_no_options(engine: AccessEngine) -> None:
    for columns, some in ((4_000, True), (6_000, False)):
        text = "SELECT " + "city, " * columns
        options = post(engine, "/complete", text=f"{text} FROM rides;", offset=len(text)).json()["options"]
        assert ("city" in [option["label"] for option in options]) == some
    text = "SELECT " + "city, " * 6_000 + "; SELECT "
    assert post(engine, "/complete", text=text, offset=len(text)).json()["options"], "it is one of before"


def test_values_that_grow(engine: AccessEngine) -> None:
    """Each of these statements would have a text of some megabytes."""
    grow = "".join(f"DEFINE v{n + 1} = '{f'${{v{n}}}' * 10}';" for n in range(6))
    answer = post(
        engine, "/check", text=grow + "SELECT '${v6}' FROM rides EMIT CHANGES;" * 50, variables={"v0": "abcd"}
    )
    codes = [d["code"] for d in answer.json()["diagnostics"]]
    assert codes.count("text-too-long") > 40 and set(codes) == {"text-too-long"}


def test_a_type_is_told_as_far_as_anybody_reads_it() -> None:
    fields = ", ".join(f"field_{n} STRING" for n in range(1_000))
    made = f"CREATE STREAM s (id INT KEY, wide STRUCT<{fields}>) WITH (KAFKA_TOPIC='s', FORMAT='JSON', PARTITIONS=1);"
    answer = post(AccessEngine(made), "/complete", text="SELECT wi FROM s EMIT CHANGES;", offset=9).json()
    [wide] = [option for option in answer["options"] if option["label"] == "wide"]
    assert len(wide["detail"]) == 200 and wide["detail"].startswith("STRUCT<FIELD_0 STRING, ")


WRONG = {
    "/check": [
        {},
        {"text": None},
        {"text": 1},
        {"text": ["x"]},
        {"text": "", "properties": []},
        {"text": "", "variables": "x"},
    ],
    "/complete": [
        {},
        {"text": "x"},
        {"text": "x", "offset": "1"},
        {"text": "x", "offset": 1.5},
        {"text": "x", "offset": True},
        {"text": "x", "offset": -1},
        {"text": "x", "offset": 2**70},
        {"text": "x", "offset": 1, "variables": {"a": None}},
    ],
}


@pytest.mark.parametrize(("path", "body"), [(path, body) for path, bodies in WRONG.items() for body in bodies], ids=str)
def test_bodies_that_are_wrong(path: str, body: dict[str, Any], engine: AccessEngine) -> None:
    refused = post(engine, path, **body)
    assert (refused.status_code, refused.json()["error_code"]) == (400, 40000)


def test_a_thousand_sources(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints what both cost; no limit is checked, since machines differ."""
    columns = ", ".join(f"c{i} STRING" for i in range(20))
    made = "WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1)"
    engine = AccessEngine(f"CREATE STREAM s (id INT KEY, {columns}) {made};")
    [one] = engine.catalog.sources.values()
    many = {f"S{n}": replace(one, name=f"S{n}", topic=f"t{n}") for n in range(1000)}
    engine.catalog_service.catalog = replace(engine.catalog, sources=many)
    texts = {
        "/check": {"text": "SELECT c1, c2 FROM s7 EMIT CHANGES; CREATE STREAM x AS SELECT UCASE(c1) AS u, id FROM s8;"},
        "/complete": {"text": "SELECT * FROM s", "offset": 15},
    }
    took = {}
    for path, body in texts.items():
        for round in ("first", "then"):
            began = time.process_time()
            assert post(engine, path, **body).status_code == 200
            took[f"{path} {round}"] = (time.process_time() - began) * 1000
    with capsys.disabled():
        print("\nms of a processor at 1,000 sources:", ", ".join(f"{what} {ms:.1f} ms" for what, ms in took.items()))
