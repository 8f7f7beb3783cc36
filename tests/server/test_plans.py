"""POST /plan and /plan/apply: a project of SQL is shown, and done as it was shown."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.access import asking
from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.server import plans
from ksqlpy.server.plans import Apply, Project, _applied, _shown
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import Workers
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


@pytest.fixture
def project(engine: AccessEngine, tmp_path: Path) -> Path:
    """A folder with a project, and the server may read it; beside it lies what it may not."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "oslo.sql").write_text(MADE, encoding="utf-8")
    (tmp_path / "secret.sql").write_text("password = 'hush';", encoding="utf-8")
    engine.brokers.config = Config.of({"ksqlpy.project.folders": str(folder)})
    return folder


def test_links_of_a_folder_lead_to_nothing_outside(engine: AccessEngine, project: Path) -> None:
    (project / "more").symlink_to(project.parent)
    shown = answer(engine, "/plan", folder=str(project)).json()
    assert shown["summary"] == "Plan: 1 to create, 0 unchanged", "links to folders are not followed"
    (project / "link.sql").symlink_to(project.parent / "secret.sql")
    refused = answer(engine, "/plan", folder=str(project))
    assert refused.status_code == 400 and "hush" not in refused.text
    assert refused.json()["ksqlpy"]["code"] == "folder-not-allowed" and "link.sql" in refused.json()["message"]
    (project / "link.sql").unlink()
    (project / "functions").mkdir()
    (project / "functions" / "link.py").symlink_to(project.parent / "secret.sql")
    assert answer(engine, "/plan", folder=str(project)).json()["ksqlpy"]["code"] == "folder-not-allowed"


def test_what_is_no_folder(engine: AccessEngine, project: Path) -> None:
    os.mkfifo(project / "pipe.sql")
    (project / "circle").symlink_to(project / "circle")
    for folder, code in {
        f"{project}/none": "no-such-file",
        f"{project}/oslo.sql": "no-such-file",
        f"{project}/pipe.sql": "no-such-file",  # who reads it would wait for ever
        f"{project}/circle": "folder-not-allowed",
        f"{project}/\0": "folder-not-allowed",
        f"{project}/{'x' * 5000}": "file-unreadable",
        "\0": "folder-not-allowed",
        "~": "folder-not-allowed",
    }.items():
        refused = answer(engine, "/plan", folder=folder)
        assert (refused.status_code, refused.json()["ksqlpy"]["code"]) == (400, code), folder
    (project / "circle").unlink()
    assert answer(engine, "/plan", folder=str(project)).json()["errors"] == [], "a pipe is no file of the project"


def test_a_folder_is_not_read_to_its_end(engine: AccessEngine, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "FILES", 20)
    (project / "deep" / "down").mkdir(parents=True)
    for number in range(18):
        (project / "deep" / "down" / f"{number}.txt").touch()
    refused = answer(engine, "/plan", folder=str(project)).json()
    assert (refused["error_code"], refused["ksqlpy"]["code"]) == (40000, "folder-too-large")
    (project / "deep" / "down" / "0.txt").unlink()
    assert answer(engine, "/plan", folder=str(project)).json()["errors"] == []


def test_a_project_has_no_more_text_than_a_request(engine: AccessEngine, project: Path) -> None:
    long = f"-- {'x' * 600_000}\n"
    for body in ({"files": files(long, long)}, {"files": files("é" * 600_000)}):
        refused = answer(engine, "/plan", **body).json()
        assert (refused["error_code"], refused["ksqlpy"]["code"]) == (40001, "text-too-long")
    for name in "ab":
        (project / f"{name}.sql").write_text(long, encoding="utf-8")
    assert answer(engine, "/plan", folder=str(project)).json()["ksqlpy"]["code"] == "text-too-long"
    assert answer(engine, "/plan", files=files(long)).json()["errors"] == []


def test_files_that_are_not_files(engine: AccessEngine) -> None:
    for wrong, said in (
        ("a.sql", "key files of the request body must be a list"),
        ([{"name": "a.sql"}], "key files.0.sql of the request body is missing"),
        ([{"name": 1, "sql": ""}], "key files.0.name of the request body must be text"),
        ([None], "files.0"),
        (files("") * (plans.FILES + 1), "key files of the request body has too many elements"),
    ):
        refused = answer(engine, "/plan", files=wrong)
        assert refused.status_code == 400 and said in refused.json()["message"].replace("'", ""), said
    for key, value in {"prune": "yes", "folder": 1, "variables": [], "properties": {"no.such": 1}}.items():
        assert answer(engine, "/plan", **{"files": files(MADE), key: value}).status_code == 400, key
    assert answer(engine, "/plan/apply", files=files(MADE)).json()["message"].startswith("key 'id' of the request body")


class Noted(Workers):
    """``loaded``: the names of the functions whose code was run."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def load(self, definition: Definition) -> None:
        self.loaded.append(definition.name)
        super().load(definition)


def test_pasted_functions_are_run_for_who_may_run_code(engine: AccessEngine, tmp_path: Path) -> None:
    made = tmp_path / "made"
    code = f"""CREATE FUNCTION thrice(x INT) RETURNS INT LANGUAGE PYTHON AS $$
open({str(made)!r}, "w")
def thrice(x):
    return 3 * x
$$;"""
    project = Project(files=[{"name": "a.sql", "sql": MADE}, {"name": "b.sql", "sql": code}])  # type: ignore[list-item]  # as JSON has it
    with asking(somebody("developer")), pytest.raises(KsqlError) as e:
        _shown(engine, project)
    assert (e.value.message, e.value.error_code) == ("ann has no right ADMIN on ALL", 40300)
    on, off = engine.config, Config.of({"ksqlpy.functions.python.enabled": "false"})
    with asking(somebody("admin")):
        engine.brokers.config = off
        with pytest.raises(KsqlError) as e:
            _shown(engine, project)
        assert e.value.code == "functions-off" and not made.exists()
        engine.brokers.config = on
        with contextlib.closing(Noted()) as workers:  # with the user and the memory that the server gives them
            engine.python = workers
            shown = _shown(engine, project)
            assert ("create", "THRICE") in [(c["action"], c["name"]) for c in shown["changes"]]
            assert "THRICE" in workers.loaded and made.exists()


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
