"""From a file of functions to their definitions: the file runs in a worker, never in the server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ksqlpy.errors import AnalysisProblem, StatementError
from ksqlpy.sql import nodes, parse
from ksqlpy.types import SqlType
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import CallFailed

__all__ = ["Describe", "declared_in_module", "declared_in_text", "definition_of"]

Describe = Callable[[Mapping[str, Any]], str]
"""What asks a worker: :meth:`.pool.Workers.describe`."""


def declared_in_text(text: str, filename: str, describe: Describe) -> tuple[Definition, ...]:
    """The functions that a file declares with the decorators of ``ksqlpy``, in the order of its lines.

    The body of each is the whole file: its functions share imports, classes and helpers. ``filename``: for messages.
    Raises AnalysisProblem with the file and the line: what the file itself raises is ``bad-functions-file``.
    """
    found = _described({"text": text, "filename": filename}, filename, describe)
    return tuple(definition_of(one, filename, body=text, callable_=one["callable"]) for one in found)


def declared_in_module(name: str, describe: Describe) -> tuple[Definition, ...]:
    """The functions that an installed module declares; raises as :func:`declared_in_text`."""
    found = _described({"module": name}, name, describe)
    return tuple(
        definition_of(one, one["file"], body="", callable_=f"{name}:{one['callable']}", digest=one["digest"])
        for one in found
    )


def _described(request: Mapping[str, Any], place: str, describe: Describe) -> list[dict[str, Any]]:
    try:
        answer = json.loads(describe(request))
    except CallFailed as e:  # it has ended its worker, or takes too long
        answer = {"error": {"code": "", "message": str(e)}}
    error = answer.get("error")
    if error is None:
        functions: list[dict[str, Any]] = answer["functions"]
        return functions
    if error["code"] == "bad-declaration":
        raise AnalysisProblem("bad-declaration", _placed(error, place))
    if error["code"] == "bad-annotation":
        raise AnalysisProblem("bad-annotation", _placed(error, place))
    raise AnalysisProblem(
        "bad-functions-file",
        _placed(error, place),
        hint="it is run once to see what it declares: importing it with python3 shows the same",
    )


def _placed(error: Mapping[str, Any], place: str) -> str:
    line = f":{error['line']}" if error.get("line") else ""
    return f"{error.get('file') or place}{line}: {error['message']}"


def definition_of(one: Mapping[str, Any], file: str, *, body: str, callable_: str, digest: str = "") -> Definition:
    """The definition of what :meth:`.declare.Declared.described` tells. Raises AnalysisProblem ``bad-annotation``."""

    def type_of(text: str, what: str) -> SqlType:
        found = _type(text)
        if found is None:
            message = f"{one['callable']}: {what}: {text} is no type of SQL"
            raise AnalysisProblem("bad-annotation", _placed({"message": message, "line": one["line"]}, file))
        return found

    state = one.get("state")
    return Definition(
        name=one["name"],
        kind=one["kind"],
        parameters=tuple((n, type_of(t, f"parameter {n.lower()}")) for n, t in one["parameters"]),
        returns=type_of(one["returns"], "the result"),
        body=body,
        callable=callable_,
        deterministic=one["deterministic"],
        on_error=one["on_error"],
        timeout_ms=one["timeout_ms"],
        help=one["help"],
        state=None if state is None else type_of(state, "the state"),
        undo=one["undo"],
        merge=one["merge"],
        module_digest=digest,
    )


def _type(text: str) -> SqlType | None:
    """The type that a text names, None if it names none."""
    try:
        [parsed] = parse(f"CREATE TYPE t AS {text};", substitution=False)
    except (StatementError, ValueError):
        return None
    if not isinstance(parsed.node, nodes.CreateType):
        return None
    kind: nodes.TypeName = parsed.node.args["type"]
    return kind.sql_type
