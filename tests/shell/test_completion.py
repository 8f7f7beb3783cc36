"""What is offered at the cursor: ``completion.txt``; and that it is quick where there are many sources."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from ksqlpy.analysis.properties import _READERS
from ksqlpy.completion.complete import complete
from ksqlpy.completion.names import Field, Names, Source, functions
from ksqlpy.completion.vocabulary import WITH_PROPERTIES
from ksqlpy.config import PROPERTIES
from ksqlpy.shell.help import topics
from ksqlpy.shell.listed import listed, read_source
from ksqlpy.shell.special import arguments, commands

FILE = Path(__file__).with_name("completion.txt")
HEAD, *BLOCKS = FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")
EXAMPLES = [tuple((block + "\n").split("\n", 1)) for block in BLOCKS]
CURSOR = re.compile(r"(?<!\|)\|(?!\|)")


def sources() -> list[Source]:
    home = Field("HOME", "STRUCT<ZIP INTEGER, ROAD STRING>", (Field("ZIP", "INTEGER"), Field("ROAD", "STRING")))
    who = Field("WHO", "STRUCT<…>", (Field("NAME", "STRING"), home))
    stop = Field("", "STRUCT<AT TIMESTAMP, ZONE INTEGER>", (Field("AT", "TIMESTAMP"), Field("ZONE", "INTEGER")))
    stops = Field("STOPS", "ARRAY<…>", item=stop)
    rides = (
        Field("ID", "INTEGER", key=True),
        Field("CITY", "STRING"),
        Field("FARE", "DECIMAL(10, 2)"),
        who,
        stops,
    )
    zones = (Field("ID", "INTEGER", key=True), Field("NAME", "STRING"))
    mixed = (Field("aB", "INTEGER"),)
    visits = tuple(Field(n, "INTEGER") for n in ("KM", "FROM_ID", "ZONE_ID"))
    return [
        Source("RIDES", "STREAM", "rides", rides),
        Source("ZONES", "TABLE", "zones", zones),
        Source("Mixed", "STREAM", "mixed", mixed),
        Source("VISITS", "STREAM", "visits", visits),
    ]


SOME = ("ABS", "CEIL", "COLLECT_LIST", "CONCAT", "COUNT", "DATESUB", "EXPLODE", "SUBSTRING", "SUM", "UCASE", "UUID")

NAMES = Names(
    sources={s.name: s for s in sources()},
    functions={n: functions()[n] for n in SOME},
    topics=("rides", "zones", "other topic"),
    types={"ADDRESS": "STRUCT<STREET STRING>"},
    queries={"CTAS_PER_CITY_3": "RUNNING", "CSAS_FAR_1": "ERROR"},
    roles={"READER": True, "ADMIN": True, "PAYMENTS": False, "Odd role": False},
    properties={n: PROPERTIES[n].help for n in ("auto.offset.reset", "commit.interval.ms", "processing.guarantee")},
    variables={"TOWN": "Oslo", "TOPIC": "rides"},
    statements=[*topics()],
    commands=commands(),
    arguments=arguments(),
)


def offered(line: str) -> str:
    before, after = CURSOR.split(line)
    found = [s.text for s in complete(before, NAMES, after)]
    return "  ".join(found[:12]) + (f"  … {len(found)} in all" if len(found) > 12 else "") + "\n"


@pytest.mark.parametrize(("line", "expected"), EXAMPLES, ids=[e[0][:60] for e in EXAMPLES])
def test_offers_are_as_written(line: str, expected: str) -> None:
    assert offered(line).rstrip() == expected.rstrip()


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    blocks = [f"{line}\n{offered(line)}".rstrip() for line, _ in EXAMPLES]
    FILE.write_text("\n\n".join([HEAD, *blocks]) + "\n", encoding="utf-8")


def test_with_properties_are_those_of_the_language() -> None:
    assert set(WITH_PROPERTIES) == {n for n in _READERS if "CONNECTOR" not in n and "AVRO" not in n}


def many(count: int) -> Names:
    columns = [tuple(Field(f"COLUMN_{i}_{n}", "STRING") for i in range(20)) for n in range(count)]
    names = {f"SOURCE_{n}": Source(f"SOURCE_{n}", "STREAM", "t", columns[n]) for n in range(count)}
    return Names(sources=names, functions=functions(), commands=commands(), arguments=arguments())


def test_a_thousand_sources(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints how long completion takes; no limit is checked, since machines differ."""
    names = many(1000)
    assert len(names.columns) == 20_000  # worked out by the watcher, before a key is pressed
    took = {}
    for line in ("SELECT ", "SELECT col", "SELECT * FROM ", "SELECT * FROM sou", "SELECT * FROM source_7 WHERE c"):
        began = time.perf_counter()
        found = complete(line, names)
        took[line] = (time.perf_counter() - began) * 1000
        assert found
    with capsys.disabled():
        print("\ncompletion at 1,000 sources:", ", ".join(f"{line!r} {ms:.1f} ms" for line, ms in took.items()))


def test_names_of_what_the_server_answers() -> None:
    names = listed(
        Names(),
        [
            {"@type": "streams", "streams": [{"name": "S", "topic": "t"}]},
            {"@type": "tables", "tables": [{"name": "T", "topic": "u"}]},
            {"@type": "queries", "queries": [{"id": "Q", "state": "RUNNING"}]},
            {"@type": "kafka_topics", "topics": [{"name": "t"}]},
            {"@type": "type_list", "types": {"A": {"type": "STRUCT", "fields": []}}},
            {"@type": "roles", "roles": [{"name": "READER", "builtIn": True}, {"name": "R", "builtIn": False}]},
        ],
    )
    assert [(s.name, s.kind, s.columns) for s in names.sources.values()] == [
        ("S", "STREAM", None),
        ("T", "TABLE", None),
    ]
    assert (names.queries, names.topics, names.types) == ({"Q": "RUNNING"}, ("t",), {"A": "STRUCT<>"})
    assert names.roles == {"READER": True, "R": False}
    number = {"type": "INTEGER", "fields": None, "memberSchema": None}
    item = {"type": "STRUCT", "fields": [{"name": "X", "schema": number}]}
    fields = [
        {"name": "ID", "schema": number, "type": "KEY"},
        {"name": "L", "schema": {"type": "ARRAY", "memberSchema": item}},
    ]
    described = read_source({"sourceDescription": {"name": "S", "type": "STREAM", "topic": "t", "fields": fields}})
    assert described is not None
    names = names.with_source(described)
    assert [s.text for s in complete("SELECT l[1]->", names, " FROM s")] == ["x", "*"]
    again = listed(names, [{"@type": "streams", "streams": [{"name": "S", "topic": "t"}]}])
    assert again.sources["S"].columns == described.columns and "T" not in again.sources
    moved = listed(names, [{"@type": "streams", "streams": [{"name": "S", "topic": "other"}]}])
    assert moved.sources["S"].columns is None


@pytest.mark.parametrize(
    "text", ["SELECT 'it''s", "SELECT `a``b", "é", "SELECT é", "$", "SELECT ((((", "; ;", "\\", "x" * 5000]
)
def test_odd_texts_do_no_harm(text: str) -> None:
    assert all(s.length <= len(text) for s in complete(text, NAMES))
