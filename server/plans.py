"""A project of SQL over REST: what its files would change on the server, and the change itself."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from pydantic import Field

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.errors import ConfigProblem, KsqlError, cut, file_reason, shown
from ksqlpy.server.backend import Engine, begin
from ksqlpy.server.statements import text_variables
from ksqlpy.server.wire import JSON, KSQL_V1, Body, JsonResponse, encode, read_body

if TYPE_CHECKING:  # projects are loaded at the first request, as in editors.py
    from ksqlpy.project.files import File
    from ksqlpy.project.plan import Plan
    from ksqlpy.project.statements import Statement

__all__ = ["FOLDERS", "Apply", "Project", "router"]

router = APIRouter()

FOLDERS = "ksqlpy.project.folders"

FILES = 10_000
"""Files at most, pasted, or in a folder with all that lies beside them."""


class Text(Body):
    """A file that was pasted."""

    example = '{"name": "rides.sql", "sql": "CREATE …"}'

    name: str
    sql: str


class Project(Body):
    """Body of POST /plan: ``files``, or a ``folder`` of the server's machine; ``prune``: what they lack goes."""

    example = '{"files": [{"name": "rides.sql", "sql": "CREATE …;"}]}'

    files: list[Text] | None = Field(None, max_length=FILES)
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
    from ksqlpy.sql import nodes

    server, properties = _Here(engine), body.properties or {}
    engine.config.for_statement(properties)
    files, variables = _files(engine, body), text_variables(body.variables)

    def may(statement: Statement) -> None:
        if isinstance(statement.parsed.node, nodes.CreateFunction):
            _may_run_code(engine)

    made = make_plan(files, read_state(server), variables, properties, prune=body.prune, python=engine.python, may=may)
    if not made.faults:
        check_on_server(server, made.steps)
    return made


def _files(engine: Engine, body: Project) -> Sequence[File]:
    from ksqlpy.project.files import File, read_files, sql_files
    from ksqlpy.project.functions import python_files, read_functions
    from ksqlpy.runtime.textsize import check_bytes

    if (body.files is None) == (body.folder is None):
        raise ConfigProblem("bad-request", "a project is either files or a folder", hint=f"as in {Project.example}")
    if body.folder is None:
        files = [File(text.name, text.sql) for text in body.files or ()]
        check_bytes(sum(len(file.sql.encode(errors="replace")) for file in files), engine.config)
        return files
    engine.require(Need(Right.CREATE, EVERYTHING))  # its files may tell of all that there is
    roots = [Path(root.strip()).resolve() for root in engine.config.get(FOLDERS).split(",") if root.strip()]
    folder = _inside(Path(body.folder), roots)
    try:
        if not folder.is_dir():
            raise ConfigProblem("no-such-file", f"there is no folder {shown(body.folder)}")
        sql, python = sql_files(folder, FILES), python_files(folder, FILES)
        for file in (*sql, *python):  # a link to a file would show what it leads to
            _inside(file, roots)
        size = sum(file.stat().st_size for file in (*sql, *python))
    except OSError as e:
        raise ConfigProblem("file-unreadable", f"{shown(e.filename)} cannot be read: {file_reason(e)}") from e
    check_bytes(size, engine.config)
    if python:
        _may_run_code(engine)
    return [*read_files(sql), *read_functions(python, engine.python)]


def _may_run_code(engine: Engine) -> None:
    """Refuses functions in Python, as CREATE FUNCTION does: their code is run, to see what they are."""
    from ksqlpy.runtime.statements.functions import ENABLED

    engine.require(Need(Right.ADMIN, EVERYTHING))
    if engine.config.get(ENABLED) != "true":
        hint = f"{ENABLED} = true in the server's configuration switches them on"
        raise ConfigProblem("functions-off", "functions in Python are switched off", hint=hint)


def _inside(path: Path, roots: Sequence[Path]) -> Path:
    """A path without links, if it lies below one of these folders; raises ConfigProblem ``folder-not-allowed``."""
    real: Path | None = None
    with contextlib.suppress(OSError, RuntimeError, ValueError):  # no path at all, or a circle of links
        real = path.resolve()
    if real is None or not path.is_absolute() or not any(real.is_relative_to(root) for root in roots):
        raise ConfigProblem(
            "folder-not-allowed",
            f"the server may not read {cut(repr(str(path)), 300)} for projects",
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
