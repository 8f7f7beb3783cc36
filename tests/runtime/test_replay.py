"""Odd entries of the command log are left out and named, and what does not depend on them starts: odd_entries.txt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.analysis import CreateAs, Declare, analyze_create, analyze_insert_select
from ksqlpy.catalog import Catalog, PersistentQuery
from ksqlpy.config import Config
from ksqlpy.runtime.commandlog import FORMAT_VERSION, Entry, query_to_json, source_to_json
from ksqlpy.runtime.replay import Replay, replayed
from ksqlpy.sql import nodes, parse

FILE = Path(__file__).with_name("odd_entries.txt")


def cases() -> Iterator[Any]:
    name, lines = "", []
    for line in [*FILE.read_text().splitlines(), "## "]:
        if line.startswith("## "):
            if name:
                yield pytest.param(lines, id=name)
            name, lines = line[3:], []
        elif name and line and not line.startswith("# "):
            lines.append(line)


class Log:
    """Entries as an engine would write them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._catalog = Catalog()

    def add(self, line: str) -> None:
        offset = len(self.entries)
        if line.startswith("|"):
            text = line[1:].strip()
            value = None if text in ("NULL", "DELETED") else text.encode()
            self.entries.append(Entry(offset, value, deleted=text == "DELETED"))
            return
        statement, _, changes = line.partition(" -- ")
        body: dict[str, Any] = {"version": FORMAT_VERSION, **self._logged(statement, offset)}
        for change in filter(None, changes.split(", " if "without" in changes else "\0")):
            self._change(body, change)
        self.entries.append(Entry(offset, json.dumps(body).encode()))

    def _logged(self, statement: str, offset: int) -> dict[str, Any]:
        [parsed] = parse(statement)
        if isinstance(parsed.node, nodes.InsertSelect):
            into = analyze_insert_select(parsed, self._catalog, Config.of())
            return {"op": "insert", "query": self._query(f"INSERTQUERY_{offset}", statement, into.source.name)}
        made = analyze_create(parsed, self._catalog, Config.of())
        source, query = made.source, None
        if isinstance(made, CreateAs):
            query = self._query(f"CSAS_{source.name}_{offset}", statement, source.name)
            source = replace(source, query=query["id"])
        else:
            assert isinstance(made, Declare)
        self._catalog = self._catalog.with_source(source)
        return {"op": "create", "source": source_to_json(source), "query": query}

    @staticmethod
    def _query(query_id: str, statement: str, sink: str) -> dict[str, Any]:
        return query_to_json(PersistentQuery(query_id, statement, sink, ("S",), offsets={"s": {"0": 0}}))

    @staticmethod
    def _change(body: dict[str, Any], change: str) -> None:
        if change.startswith("without "):
            *path, last = change.removeprefix("without ").split(".")
            place = body
            for part in path:
                place = place[part]
            del place[last]
        else:
            name, _, value = change.partition(" = ")
            *path, last = name.split(".")
            place = body
            for part in path:
                place = place[part]
            place[last] = json.loads(value)


def told(replay: Replay) -> list[str]:
    """What the replay says, in the words of the file."""
    lines = []
    for text in replay.left_out:
        which, _, reason = text.partition(" of the command log ")
        lines.append(f"{which.split()[-1]}: {reason.partition(' left out: ')[2].partition(' (hint')[0]}")
    running = [q for q in replay.catalog.queries if ("query", q) not in replay.catalog.blocked]
    assert set(running) == set(replay.plans)
    if running:
        lines.append(f"runs {', '.join(running)}")
    if replay.catalog.blocked:
        lines.append(f"blocked {', '.join(sorted(f'{kind} {name}' for kind, name in replay.catalog.blocked))}")
    return lines


@pytest.mark.parametrize("lines", list(cases()))
def test_an_odd_entry_is_named_and_the_others_count(lines: list[str]) -> None:
    middle = lines.index("==>")
    log = Log()
    for line in lines[:middle]:
        log.add(line)
    assert told(replayed(log.entries, Config.of())) == lines[middle + 1 :]
