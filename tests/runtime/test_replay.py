"""Odd entries of the command log are left out and named, and what does not depend on them starts: odd_entries.txt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.analysis import CreateAs, Declare, TypedQuery, analyze_create, analyze_insert_select
from ksqlpy.analysis.functions import analyze_function
from ksqlpy.catalog import Catalog, PersistentQuery
from ksqlpy.config import Config
from ksqlpy.plan import build_plan, stored
from ksqlpy.plan.calls import definitions_of
from ksqlpy.runtime.commandlog import FORMAT_VERSION, Entry, query_to_json, source_to_json
from ksqlpy.runtime.replay import Replay, replayed
from ksqlpy.sql import nodes, parse

FILE = Path(__file__).with_name("odd_entries.txt")


def cases() -> Iterator[Any]:
    name, lines = "", []
    for line in [*FILE.read_text().splitlines(), "## "]:
        if line.startswith("## "):
            for how, planned in (("with plans", True), ("without plans", False)):
                if name and (name.startswith(how) or not name.startswith(("with plans", "without plans"))):
                    yield pytest.param(lines, planned, id=f"{name}, {how}")
            name, lines = line[3:], []
        elif name and line and not line.startswith("# "):
            lines.append(line)


class Log:
    """Entries as an engine would write them."""

    def __init__(self, *, planned: bool) -> None:
        self._planned = planned
        self.entries: list[Entry] = []
        self._catalog = Catalog()
        self._callers: dict[str, list[str]] = {}
        """By the name of a function in Python, the ids of the queries that call it."""

    def add(self, line: str) -> None:
        offset = len(self.entries)
        if line.startswith("|"):
            text = line[1:].strip()
            value = None if text in ("NULL", "DELETED") else text.encode()
            self.entries.append(Entry(offset, value, deleted=text == "DELETED"))
            return
        statement, _, changes = line.partition(" -- ")
        body: dict[str, Any] = {"version": FORMAT_VERSION, **self._logged(statement, offset)}
        if not self._planned:
            body.pop("plan", None)
        for change in filter(None, changes.split(", " if "without" in changes else "\0")):
            self._change(body, change)
        self.entries.append(Entry(offset, json.dumps(body).encode()))

    def _logged(self, statement: str, offset: int) -> dict[str, Any]:
        [parsed] = parse(statement)
        if isinstance(parsed.node, nodes.CreateFunction):
            definition = analyze_function(parsed, self._catalog)
            self._catalog = self._catalog.with_function(definition)
            queries = list(self._callers.get(definition.name, ()))
            return {"op": "function", "definition": definition.to_json(), "queries": queries}
        if isinstance(parsed.node, nodes.InsertSelect):
            into = analyze_insert_select(parsed, self._catalog, Config.of())
            query = self._query(f"INSERTQUERY_{offset}", statement, into.source.name, into.query)
            return {"op": "insert", "query": query, "plan": stored.write(build_plan(into.query))}
        made = analyze_create(parsed, self._catalog, Config.of())
        source, query, plan = made.source, None, {}
        if isinstance(made, CreateAs):
            query = self._query(f"CSAS_{source.name}_{offset}", statement, source.name, made.query)
            source = replace(source, query=query["id"])
            plan = {"plan": stored.write(build_plan(made.query))}
            for name in definitions_of(build_plan(made.query)):
                self._callers.setdefault(name, []).append(query["id"])
        else:
            assert isinstance(made, Declare)
        self._catalog = self._catalog.with_source(source)
        return {"op": "create", "source": source_to_json(source), "query": query, **plan}

    @staticmethod
    def _query(query_id: str, statement: str, sink: str, query: TypedQuery) -> dict[str, Any]:
        sources = tuple(s.name for s in query.sources)
        return query_to_json(PersistentQuery(query_id, statement, sink, sources, offsets={"s": {"0": 0}}))

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
        said = reason.partition(" left out: ")[2].partition(" (hint")[0]
        lines.append(f"{which.split()[-1]}: {re.sub('^line [0-9:]+: (?=[A-Z] cannot be used)', '', said)}")
    running = [q for q in replay.catalog.queries if ("query", q) not in replay.catalog.blocked]
    assert set(running) == set(replay.plans)
    if running:
        lines.append(f"runs {', '.join(running)}")
    if replay.catalog.blocked:
        lines.append(f"blocked {', '.join(sorted(f'{kind} {name}' for kind, name in replay.catalog.blocked))}")
    return lines


@pytest.mark.parametrize(("lines", "planned"), list(cases()))
def test_an_odd_entry_is_named_and_the_others_count(lines: list[str], planned: bool) -> None:
    middle = lines.index("==>")
    log = Log(planned=planned)
    for line in lines[:middle]:
        log.add(line)
    assert told(replayed(log.entries, Config.of())) == lines[middle + 1 :]


STATEMENTS = """\
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');
CREATE TABLE listed AS SELECT k, COLLECT_LIST(v) AS vs, COLLECT_SET(v) AS some FROM s GROUP BY k;
CREATE TABLE windowed AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k;
CREATE TABLE final AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k EMIT FINAL;
""".splitlines()


def test_properties_of_the_server_change_no_plan_that_was_made() -> None:
    log = Log(planned=True)
    for statement in STATEMENTS:
        log.add(statement)
    before = replayed(log.entries, Config.of())
    assert len(before.plans) == 3 and not before.left_out
    changed = {
        "ksql.functions.collect_list.limit": "5",
        "ksql.functions.collect_set.limit": "5",
        "ksql.late.records.topic": "late",
        "ksql.emit.final.idle.ms": "5000",
        "ksqlpy.emit.final.forgetful": "true",
        "ksql.persistence.wrap.single.values": "false",
        "ksql.query.parallelism": "7",
    }
    after = replayed(log.entries, Config.of(changed))
    assert after.plans == before.plans and after.catalog == before.catalog
    unplanned = Log(planned=False)
    for statement in STATEMENTS:
        unplanned.add(statement)
    assert replayed(unplanned.entries, Config.of(changed)).plans != before.plans


def test_nothing_is_parsed_or_analysed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(planned=True)
    for statement in STATEMENTS:
        log.add(statement)

    def never(*_: object) -> None:
        raise AssertionError("not needed")

    for name in ("parse", "analyze_create", "analyze_insert_select", "build_plan"):
        monkeypatch.setattr(f"ksqlpy.runtime.replay.{name}", never)
    assert len(replayed(log.entries, Config.of()).plans) == 3
