"""A project of SQL over REST: what its files would change on the server, and the change itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from pydantic import Field

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.errors import ConfigProblem, KsqlError, shown
from ksqlpy.server.backend import Engine, begin
from ksqlpy.server.statements import text_variables
from ksqlpy.server.wire import JSON, KSQL_V1, Body, JsonResponse, encode, read_body

if TYPE_CHECKING:  # projects are loaded at the first request, as in editors.py
    from ksqlpy.project.files import File
    from ksqlpy.project.plan import Plan

__all__ = ["FOLDERS", "Apply", "Project", "router"]

router = APIRouter()

FOLDERS = "ksqlpy.project.folders"


class Text(Body):
    """A file that was pasted."""

    example = '{"name": "rides.sql", "sql": "CREATE …"}'

    name: str
    sql: str


class Project(Body):
    """Body of POST /plan: ``files``, or a ``folder`` of the server's machine; ``prune``: what they lack goes."""

    example = '{"files": [{"name": "rides.sql", "sql": "CREATE …;"}]}'

    files: list[Text] | None = None
    folder: str | None = None
    variables: dict[str, Any] | None = None
    properties: dict[str, Any] | None = None
    prune: bool = False


class Apply(Project):
    """Body of POST /plan/apply: as of the plan, with its ``id``; ``losesState``: whether state may be lost."""

    example = '{"id": "…", "files": [{"name": "rides.sql", "sql": "CREATE …;"}]}'

    id: str
    loses_state: bool = Field(False, alias="losesState")


@router.post("/plan")
async def plan(request: Request) -> JsonResponse:
    """What would change on the server so that it has what the files say; nothing is done."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = await read_body(request, Project)
    return JsonResponse(await backend.call(_shown, backend.engine, body), media_type=media_type)


@router.post("/plan/apply")
async def apply(request: Request) -> JsonResponse:
    """Does what a plan has shown, if it would still be the same."""
    backend, media_type = await begin(request, (KSQL_V1, JSON))
    body = await read_body(request, Apply)
    return JsonResponse(await backend.call(_applied, backend.engine, body), media_type=media_type)


class _Here:
    """The engine as projects ask a server, for the principal of the request."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def statements(
        self, sql: str, properties: Mapping[str, object] | None = None, variables: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Runs statements; raises KsqlError."""
        return self._engine.execute(sql, properties or {}, variables or {})


def _planned(engine: Engine, body: Project) -> Plan:
    from ksqlpy.project.apply import check_on_server
    from ksqlpy.project.plan import make_plan
    from ksqlpy.project.state import read_state

    server, properties = _Here(engine), body.properties or {}
    engine.config.for_statement(properties)
    files, variables = _files(engine, body), text_variables(body.variables)
    made = make_plan(files, read_state(server), variables, properties, prune=body.prune)
    if not made.faults:
        check_on_server(server, made.steps)
    return made


def _files(engine: Engine, body: Project) -> Sequence[File]:
    from ksqlpy.project.files import File
    from ksqlpy.project.functions import FOLDER, read_project
    from ksqlpy.runtime.statements.functions import ENABLED

    if (body.files is None) == (body.folder is None):
        raise ConfigProblem("bad-request", "a project is either files or a folder", hint=f"as in {Project.example}")
    if body.folder is None:
        return [File(text.name, text.sql) for text in body.files or ()]
    engine.require(Need(Right.CREATE, EVERYTHING))  # its files may tell of all that there is
    folder = _inside(Path(body.folder), engine.config.get(FOLDERS))
    if any(folder.rglob(f"{FOLDER}/*.py")):  # their code is run, to see what they declare, as CREATE FUNCTION does
        engine.require(Need(Right.ADMIN, EVERYTHING))
        if engine.config.get(ENABLED) != "true":
            hint = f"{ENABLED} = true in the server's configuration switches them on"
            raise ConfigProblem(
                "functions-off", "the folder has functions in Python, which are switched off", hint=hint
            )
    return read_project([folder])


def _inside(folder: Path, allowed: str) -> Path:
    """The folder, if it lies below one of those that are allowed; raises ConfigProblem ``folder-not-allowed``."""
    real = folder.resolve()
    roots = [Path(root.strip()).resolve() for root in allowed.split(",") if root.strip()]
    if not folder.is_absolute() or not any(real.is_relative_to(root) for root in roots):
        raise ConfigProblem(
            "folder-not-allowed",
            f"the server may not read projects in {shown(str(folder))}",
            hint=f"the server property {FOLDERS} lists the folders of projects",
        )
    return real


def _shown(engine: Engine, body: Project) -> dict[str, Any]:
    from ksqlpy.project.show import as_json, difference, summary

    made = _planned(engine, body)
    told = as_json(made)
    for change, one in zip(made.changes, told["changes"], strict=True):
        one["diff"] = list(difference(change))
    return {"id": _id(made), **told, "summary": summary(made)}


def _id(made: Plan) -> str:
    """Of what a plan would do, and of what it was made of."""
    told = [[c.action.value, c.kind, c.name, c.before, c.after, c.loses_state] for c in made.changes]
    steps = [[step.sql, dict(step.properties)] for step in made.steps]
    return hashlib.sha256(encode([told, steps])).hexdigest()[:32]


def _applied(engine: Engine, body: Apply) -> dict[str, Any]:
    made = _planned(engine, body)
    if made.faults:
        raise made.faults[0].error
    if _id(made) != body.id:
        hint = "look at the new plan, and apply that"
        raise KsqlError("plan-changed", "the plan is not that which was shown", hint=hint, error_code=40900)
    if made.destroys and not body.loses_state:
        names = ", ".join(c.name for c in made.destroys)
        raise ConfigProblem("needs-yes", f"the state of {names} would be lost", hint='"losesState": true allows it')
    done: list[str] = []
    server = _Here(engine)
    for step in made.steps:
        try:
            server.statements(step.sql, step.properties)
        except KsqlError as e:
            e.statement_text, e.entities = step.sql, [{"@type": "done", "statementText": sql} for sql in done]
            raise
        done.append(step.sql)
    return {"done": done}
