"""What a plan says: the cases of ``plans.txt``, against an engine without Kafka and Spark.

Set KSQLPY_REWRITE to rewrite the plans, and read the difference.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.project import show
from ksqlpy.project.apply import check_on_server, run_steps
from ksqlpy.project.files import File
from ksqlpy.project.mirror import replacing
from ksqlpy.project.plan import Plan, Step, make_plan
from ksqlpy.project.state import read_state
from ksqlpy.sql import parse
from tests.project.engine_server import EngineServer

FILE = Path(__file__).with_name("plans.txt")
INTRODUCTION, *TEXTS = FILE.read_text(encoding="utf-8").split("\n=== ")


@dataclass
class Case:
    name: str
    server: str
    files: list[File]
    options: str
    expected: str

    @classmethod
    def read(cls, text: str) -> Case:
        name, *sections = text.split("\n--- ")
        case = cls(name.strip(), "", [], "", "")
        for section in sections:
            head, _, body = section.partition("\n")
            kind, _, rest = head.partition(" ")
            if kind == "server":
                case.server = body
            elif kind == "file":
                case.files.append(File(rest, body))
            else:
                assert kind == "plan"
                case.options, case.expected = rest, body.strip("\n")
        return case

    def plan(self, server: EngineServer) -> Plan:
        return make_plan(self.files, read_state(server), {"stage": "dev"}, prune="prune" in self.options)

    def shown(self, plan: Plan) -> str:
        return "\n\n".join(f.render() for f in plan.faults) or show.text(plan)

    def start(self) -> EngineServer:
        server = EngineServer()
        for statement in parse(self.server):
            server.statements(statement.text)
        return server


CASES = [Case.read(text) for text in TEXTS]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_plan_is_as_written(case: Case) -> None:
    server = case.start()
    plan = case.plan(server)
    assert case.shown(plan) == case.expected
    if plan.faults:
        return
    before = server.engine.catalog
    check_on_server(server, plan.steps)
    assert server.engine.catalog is before
    told: list[str] = []
    run_steps(server, plan.steps, told.append)
    assert len(told) == len(plan.steps)
    again = case.plan(server)
    assert not again.faults and not again.steps


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    out = [INTRODUCTION]
    for text, case in zip(TEXTS, CASES, strict=True):
        head = text.split("\n--- plan")[0]
        options = f" {case.options}" if case.options else ""
        out.append(f"{head}\n--- plan{options}\n{case.shown(case.plan(case.start()))}\n")
    FILE.write_text("\n=== ".join(out), encoding="utf-8")


def test_what_only_the_server_understands_is_compared_by_its_text() -> None:
    """A real ksqlDB has functions and formats that are not known here."""
    source = "CREATE STREAM s (id INT KEY, v INT) WITH (kafka_topic = 's', value_format = 'JSON', partitions = 1);\n"
    server = EngineServer()
    server.statements(source)
    server.statements("CREATE STREAM t AS SELECT id, v FROM s;")
    theirs = "CREATE STREAM T AS SELECT ID, THEIR_FUNCTION(V) AS V FROM S EMIT CHANGES;"
    state = read_state(server)
    state.sources["T"] = replace(state.sources["T"], statement=theirs)
    state.queries = {i: replace(q, statement=theirs) for i, q in state.queries.items()}
    plan = make_plan([File("a.sql", f"{source}CREATE STREAM t AS SELECT id, v FROM s;")], state)
    assert show.text(plan).splitlines()[0] == "! stream T (state lost: its query cannot be compared here)"
    plan = make_plan([File("a.sql", source)], state, prune=True)
    assert [s.sql for s in plan.steps] == ["DROP STREAM T;"]


OWN_TEXT = """create stream if not exists Rides (id int key, km int) -- all of them
  with (kafka_topic='rides', value_format='json', partitions=1);
create or replace stream  far as
  select id, km from rides where km > ${least};
"""


def test_the_server_keeps_statements_as_they_are_written() -> None:
    server = EngineServer()
    for least, action in (("5", "+"), ("6", "~")):
        plan = make_plan([File("a.sql", OWN_TEXT)], read_state(server), {"least": least})
        assert show.text(plan).splitlines()[-3 if action == "+" else 0].startswith(action)
        run_steps(server, plan.steps, lambda line: None)
    shown = read_state(server)
    rides, far = OWN_TEXT.replace("${least}", " 6 ").split(";\n")[:2]
    assert shown.sources["RIDES"].statement == f"{rides};"
    assert shown.sources["FAR"].statement == f"{far};"


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("create stream s as select 1;", "create OR REPLACE stream s as select 1;"),
        ("CREATE OR REPLACE TABLE t AS SELECT 1;", "CREATE OR REPLACE TABLE t AS SELECT 1;"),
        ("create /* so */ table\n if not exists t as select 1;", "create OR REPLACE /* so */ table\n t as select 1;"),
        ("create or replace stream if not  exists `if` as select 1;", "create or replace stream `if` as select 1;"),
    ],
)
def test_what_is_replaced_is_written_so_too(written: str, sent: str) -> None:
    assert replacing(written) == sent


def test_the_server_says_what_is_wrong_with_a_step() -> None:
    server = EngineServer()
    steps = [Step("SHOW STREAMS;", {"auto.offset.reset": "earliest"}), Step("DROP STREAM nobody;")]
    with pytest.raises(KsqlError) as refused:
        check_on_server(server, steps)
    assert refused.value.render().splitlines()[1:4] == [
        "  --> line 1, column 13",
        "   |",
        " 1 | DROP STREAM nobody;",
    ]
    assert server.done == []
