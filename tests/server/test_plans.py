"""POST /plan and /plan/apply: a project of SQL is shown, and done as it was shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.access import asking
from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.server.plans import Apply, Project, _applied, _shown
from tests.access.engine import AccessEngine, somebody
from tests.server.test_editors import START, post

MADE = "CREATE STREAM oslo AS SELECT * FROM rides WHERE city = 'Oslo';"
RIDES = START.strip()


@pytest.fixture
def engine() -> AccessEngine:
    return AccessEngine(START)


def files(*texts: str) -> list[dict[str, str]]:
    return [{"name": f"{number}.sql", "sql": text} for number, text in enumerate(texts)]


def answer(engine: AccessEngine, path: str, **body: Any) -> httpx.Response:
    return post(engine, path, **body)


def test_a_plan_is_shown_and_done(engine: AccessEngine) -> None:
    shown = answer(engine, "/plan", files=files(RIDES, MADE)).json()
    [new] = [c for c in shown["changes"] if c["action"] != "keep"]
    assert (new["action"], new["kind"], new["name"], new["before"]) == ("create", "stream", "OSLO", None)
    assert new["diff"] and all(line.startswith("+ ") for line in new["diff"])
    assert shown["summary"] == "Plan: 1 to create, 2 unchanged" and shown["errors"] == []
    assert "OSLO" not in engine.catalog.sources, "nothing is done yet"
    done = answer(engine, "/plan/apply", files=files(RIDES, MADE), id=shown["id"])
    assert (done.status_code, len(done.json()["done"])) == (200, 1) and "OSLO" in engine.catalog.sources
    again = answer(engine, "/plan", files=files(RIDES, MADE)).json()
    assert again["summary"] == "Nothing to do: 3 unchanged" and again["statements"] == []


def test_a_plan_that_is_not_what_was_shown_is_not_done(engine: AccessEngine) -> None:
    shown = answer(engine, "/plan", files=files(MADE)).json()
    refused = answer(engine, "/plan/apply", files=files(MADE.replace("Oslo", "Bergen")), id=shown["id"])
    assert (refused.status_code, refused.json()["ksqlpy"]["code"]) == (409, "plan-changed")
    engine.execute(MADE)
    late = answer(engine, "/plan/apply", files=files(MADE), id=shown["id"])
    assert late.json()["ksqlpy"]["code"] == "plan-changed", "somebody was quicker"


def test_state_is_lost_only_by_who_says_so(engine: AccessEngine) -> None:
    counted = "CREATE TABLE n AS SELECT city, COUNT(*) AS n FROM rides GROUP BY city;"
    engine.execute(counted, {"auto.offset.reset": "earliest"})
    body = {"files": files(RIDES), "prune": True}
    shown = answer(engine, "/plan", **body).json()
    assert shown["losesState"] and [c["action"] for c in shown["changes"] if c["name"] == "N"] == ["remove"]
    refused = answer(engine, "/plan/apply", **body, id=shown["id"]).json()
    assert refused["ksqlpy"]["code"] == "needs-yes" and "N" in engine.catalog.sources
    assert answer(engine, "/plan/apply", **body, id=shown["id"], losesState=True).status_code == 200
    assert "N" not in engine.catalog.sources


def test_files_with_errors(engine: AccessEngine) -> None:
    shown = answer(engine, "/plan", files=files("CREATE STREAM x AS SELECT\n citi FROM rides;", RIDES)).json()
    [error] = shown["errors"]
    assert (error["file"], error["line"], error["column"], error["code"]) == ("0.sql", 2, 2, "unknown-column")
    refused = answer(engine, "/plan/apply", files=files("CREATE STREAM x AS SELECT citi FROM rides;"), id="x")
    assert refused.json()["ksqlpy"]["code"] == "unknown-column"


def test_folders_of_the_machine_are_those_that_are_allowed(engine: AccessEngine, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "oslo.sql").write_text(MADE, encoding="utf-8")
    (tmp_path / "secret.sql").write_text("SHOW STREAMS;", encoding="utf-8")
    inside, allowed = str(tmp_path / "project"), {"ksqlpy.project.folders": f"/nowhere, {tmp_path / 'project'}"}
    refused = answer(engine, "/plan", folder=inside).json()
    assert refused["ksqlpy"]["code"] == "folder-not-allowed", "none is, unless the server says so"
    engine.brokers.config = Config.of(allowed)
    assert answer(engine, "/plan", folder=inside).json()["summary"] == "Plan: 1 to create, 0 unchanged"
    (tmp_path / "project" / "way").symlink_to(tmp_path)
    for outside in (f"{inside}/..", str(tmp_path / "secret.sql"), "project", "", f"{inside}/way/secret.sql"):
        assert answer(engine, "/plan", folder=outside).json()["ksqlpy"]["code"] == "folder-not-allowed", outside
    for wrong in ({}, {"folder": inside, "files": []}):
        assert answer(engine, "/plan", **wrong).json()["ksqlpy"]["code"] == "bad-request"
    with asking(somebody("payments")), pytest.raises(KsqlError) as e:
        _shown(engine, Project(folder=inside))
    assert e.value.message == "ann has no right CREATE on ALL"


def test_functions_of_a_folder_are_of_the_project_for_administrators(engine: AccessEngine, tmp_path: Path) -> None:
    (tmp_path / "functions").mkdir()
    code = "import ksqlpy\n\n\n@ksqlpy.udf\ndef thrice(x: int) -> int:\n    return 3 * x\n"
    (tmp_path / "functions" / "thrice.py").write_text(code, encoding="utf-8")
    (tmp_path / "oslo.sql").write_text(MADE, encoding="utf-8")
    folders = {"ksqlpy.project.folders": str(tmp_path)}
    engine.brokers.config = Config.of({**folders, "ksqlpy.functions.python.enabled": "false"})
    assert answer(engine, "/plan", folder=str(tmp_path)).json()["ksqlpy"]["code"] == "functions-off"
    engine.brokers.config = Config.of({**folders, "ksqlpy.functions.python.enabled": "true"})
    told = answer(engine, "/plan", folder=str(tmp_path), prune=True).json()
    assert ("create", "function", "THRICE") in [(c["action"], c["kind"], c["name"]) for c in told["changes"]]
    with asking(somebody("developer")), pytest.raises(KsqlError) as e:
        _shown(engine, Project(folder=str(tmp_path)))
    assert e.value.message == "ann has no right ADMIN on ALL"


def test_it_is_done_by_who_may() -> None:
    engine = AccessEngine()
    made = Project(files=[{"name": "a", "sql": "CREATE STREAM pay_more AS SELECT * FROM pay_in;"}])  # type: ignore[list-item]  # as JSON has it
    for role, refusal in (
        ("payments", None),
        ("feeders", "ann has no right CREATE on PAY_MORE"),
    ):
        with asking(somebody(role)):
            if refusal is None:
                shown = _shown(engine, made)
                told = [c["name"] for c in shown["changes"] if c["action"] == "create"]
                assert told == ["PAY_MORE"] and "HUSH" not in str(shown)
            else:
                with pytest.raises(KsqlError) as e:
                    _shown(engine, made)
                assert e.value.message == refusal
    with asking(somebody("feeders")), pytest.raises(KsqlError):
        _applied(engine, Apply(id=shown["id"], files=made.files))
    with asking(somebody("payments")):
        assert _applied(engine, Apply(id=shown["id"], files=made.files)) == {"done": shown["statements"]}
    assert "PAY_MORE" in engine.catalog.sources
