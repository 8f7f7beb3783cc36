"""``functions/*.py`` of a project: what its decorators declare is checked, planned and made as CREATE FUNCTION."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.project.apply import check_on_server, run_steps
from ksqlpy.project.check import check_files
from ksqlpy.project.functions import read_project
from ksqlpy.project.plan import Plan, make_plan
from ksqlpy.project.show import summary
from ksqlpy.project.state import read_state
from tests.project.engine_server import EngineServer

SQL = """\
CREATE STREAM rides (id INT KEY, city STRING, fare DOUBLE, km DOUBLE)
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM priced AS SELECT id, per_km(fare, km) AS price, greeting(city) AS hello FROM rides;
"""
PYTHON = '''\
"""Prices."""
import ksqlpy

RATE = 1.2


@ksqlpy.udf
def per_km(fare: float, km: float) -> float:
    """The price of a kilometre."""
    return fare * RATE / km


@ksqlpy.udf(name="greeting")
def hello(city: str) -> str:
    return f"hello {city}"
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "streams.sql").write_text(SQL, encoding="utf-8")
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "prices.py").write_text(PYTHON, encoding="utf-8")
    (tmp_path / "tool.py").write_text("raise SystemExit('not of the project')\n", encoding="utf-8")
    return tmp_path


def applied(project: Path, server: EngineServer) -> Plan:
    plan = make_plan(read_project([project]), read_state(server))
    assert not plan.faults, [f.render() for f in plan.faults]
    check_on_server(server, plan.steps)
    run_steps(server, plan.steps, lambda text: None)
    return plan


def test_a_project_with_functions_is_checked_and_applied(project: Path) -> None:
    report = check_files(read_project([project]))
    assert not report.faults, [f.render() for f in report.faults]
    server = EngineServer()
    first = applied(project, server)
    assert [f"{c.action.value} {c.kind} {c.name}" for c in first.changes][-1] == "+ stream PRICED"
    assert {c.name for c in first.changes if c.kind == "function"} == {"PER_KM", "GREETING"}
    assert server.engine.catalog.functions["PER_KM"].help == "The price of a kilometre."
    assert summary(applied(project, server)) == "Nothing to do: 4 unchanged"
    file = project / "functions" / "prices.py"
    file.write_text(PYTHON.replace("hello {city}", "hi {city}"), encoding="utf-8")
    changed = applied(project, server)
    # The functions of a file share what stands in it.
    assert {c.name for c in changed.changes if c.action.value == "~"} == {"PER_KM", "GREETING"}
    assert "hi {city}" in server.engine.catalog.functions["GREETING"].body


def test_what_is_wrong_with_a_file_is_told_with_its_line(project: Path) -> None:
    file = project / "functions" / "prices.py"
    file.write_text(PYTHON.replace("import ksqlpy\n", "import ksqlpy\nimport nowhere_at_all\n"), encoding="utf-8")
    with pytest.raises(KsqlError, match=r"prices\.py:3: .*nowhere_at_all") as refused:
        read_project([project])
    assert refused.value.code == "bad-functions-file"


def test_a_call_that_does_not_fit_is_told_at_its_place(project: Path) -> None:
    (project / "streams.sql").write_text(SQL.replace("per_km(fare, km)", "per_km(fare)"), encoding="utf-8")
    [fault] = check_files(read_project([project])).faults
    assert fault.render().startswith(f"{project}/streams.sql:3:36: error[no-overload]: PER_KM does not take (DOUBLE)")
