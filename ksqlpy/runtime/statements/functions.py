"""CREATE FUNCTION and DROP FUNCTION: functions in Python, and what becomes of the queries that call them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.analysis import Text, check_blocked
from ksqlpy.analysis.functions import analyze_function, place_in_text
from ksqlpy.errors import AnalysisProblem, similar_names
from ksqlpy.plan.calls import fixed_place
from ksqlpy.plan.letters import ON_ERROR
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.functionuse import users
from ksqlpy.runtime.statements.entry import Effect, Nothing, Statement, Table, free
from ksqlpy.sql import Parsed, nodes
from ksqlpy.types import STRING
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import CallFailed

__all__ = ["ENABLED", "STATEMENTS"]

ENABLED = "ksqlpy.functions.python.enabled"


@dataclass(frozen=True)
class _Function:
    """A function to be made, or to be replaced: ``queries``: those that go on with its new definition."""

    definition: Definition
    replaces: bool = False
    queries: tuple[str, ...] = ()


def _administers(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    """Its code runs on the server's machines, so it is for those to say who may do all."""
    return [Need(Right.ADMIN, EVERYTHING)]


def _check(parsed: Parsed, sandbox: Sandbox) -> _Function | Nothing:
    node, text, catalog = parsed.node, Text(parsed.sql), sandbox.catalog
    name = node.this.this.upper()
    if sandbox.config.get(ENABLED) != "true":
        hint = f"{ENABLED} = true in the server's configuration switches them on; their code runs on its machines"
        text.refuse("functions-off", "functions in Python are switched off", node, hint=hint)
    if node.args.get("exists") and node.args.get("replace"):
        text.refuse("replace-and-exists", "OR REPLACE and IF NOT EXISTS exclude each other", node.this)
    check_blocked(catalog, "function", node.this, text)
    existing = catalog.functions.get(name)
    if existing is not None and node.args.get("exists"):
        return Nothing(f"function {name} exists already, nothing is done")
    if existing is not None and not node.args.get("replace"):
        hint = "choose another name, DROP FUNCTION it first, or write IF NOT EXISTS or OR REPLACE"
        text.refuse("already-exists", f"function {name} exists already", node.this, hint=hint)
    definition = analyze_function(parsed, catalog)
    definition = _loaded(definition, parsed, sandbox)
    if existing == definition:
        return Nothing(f"function {name} is so already, nothing is done")
    queries: tuple[str, ...] = ()
    if existing is not None:
        queries = _going_on(existing, definition, parsed, sandbox)
    sandbox.catalog = catalog.with_function(definition)
    return _Function(definition, existing is not None, queries)


_LINE = re.compile(r" \(line (\d+)\)\Z")
_INNER = re.compile(r" \(line \d+ of <frozen [^>]*>\)\Z")


_DIGEST = Definition(
    "DIGEST",
    "SCALAR",
    (("module", STRING),),
    STRING,
    """
def digest(module):
    import hashlib
    import importlib

    file = getattr(importlib.import_module(module), "__file__", None)
    if not file:
        return ""
    with open(file, "rb") as opened:
        return hashlib.sha256(opened.read()).hexdigest()
""",
    "digest",
    timeout_ms=30_000,
)
"""Run by a worker, which alone imports what users name: the digest of a module's file, empty for one without."""


def _loaded(definition: Definition, parsed: Parsed, sandbox: Sandbox) -> Definition:
    """The definition, with the digest of its module's file; a worker tries it.

    Refuses a function that cannot even be imported, at its line.
    """
    body, text, workers = parsed.node.args["body"], Text(parsed.sql), sandbox.engine.python
    try:
        workers.load(definition)
        if definition.body:
            return definition
        return replace(definition, module_digest=workers.call(_DIGEST, [definition.callable.partition(":")[0]]))
    except CallFailed as e:
        message = _INNER.sub("", str(e))
        at = _LINE.search(message)
        span = text.span(body)
        if at is not None and isinstance(body, nodes.SourceText):
            message = message[: at.start()]
            ahead = definition.body.count("\n") - body.this.count("\n")  # a def may stand ahead of the text
            span = place_in_text(body, max(1, int(at[1]) - ahead))
        raise AnalysisProblem(
            "bad-function", f"{definition.name} cannot be loaded: {message}", span=span, sql=parsed.sql
        ) from e


def _going_on(old: Definition, new: Definition, parsed: Parsed, sandbox: Sandbox) -> tuple[str, ...]:
    """The queries that call the function; refuses what they cannot go on with."""
    found = users(new.name, sandbox.catalog.queries, sandbox.plan_of)
    if not found:
        return ()
    told = sandbox.visible.told(found)

    def refuse(why: str) -> NoReturn:
        message = f"{new.name} cannot be replaced: the queries {told} call it, and {why}"
        hint = "create it under another name, and let the queries call that one"
        Text(parsed.sql).refuse("not-replaceable", message, parsed.node.this, hint=hint)

    if new.kind != old.kind:
        refuse(f"it would be of kind {new.kind}, not {old.kind}")
    if new.arguments != old.arguments:
        refuse(f"it would take {_types(new)}, not {_types(old)}")
    if new.returns != old.returns:
        refuse(f"it would return {new.returns}, not {old.returns}")
    if new.state != old.state:
        refuse(f"its state would be {new.state}, not {old.state}")
    letters = (old.on_error == ON_ERROR) != (new.on_error == ON_ERROR)
    for query_id, plan in found.items():
        if letters and plan.stateful:
            told = sandbox.visible.told([query_id])
            message = f"{new.name} cannot be replaced: query {told} remembers rows, and cannot begin or end to make"
            message += " dead letters meanwhile"
            hint = "create the function under another name, and make the new query beside this one"
            Text(parsed.sql).refuse("not-upgradeable", message, parsed.node.this, hint=hint)
        place = fixed_place(plan, new.name)
        if place is not None:
            told = sandbox.visible.told([query_id])
            message = f"{new.name} cannot be replaced: in query {told} it stands {place}"
            hint = (
                "what is there would go on beside results of the new code. Create the function under another name, and"
                " make the new query beside this one"
            )
            Text(parsed.sql).refuse("not-upgradeable", message, parsed.node.this, hint=hint)
    return tuple(found)


def _types(definition: Definition) -> str:
    return f"({', '.join(map(str, definition.arguments))})"


def _create(parsed: Parsed, found: _Function, context: Context) -> Entity:
    name = found.definition.name
    sequence = context.catalog_service.make_function(found.definition, found.queries)
    context.supervisor.load_function(found.definition)
    message = f"Function {name} {'replaced' if found.replaces else 'created'}"
    if found.queries:
        message += f"; {context.visible.told(found.queries)} went on with it"
    return entities.status(parsed.text, f"function/`{name}`/create", message, sequence)


def _check_drop(parsed: Parsed, sandbox: Sandbox) -> str | Nothing:
    """Raises AnalysisProblem ``unknown-function``, ``in-use``."""
    node, text, catalog = parsed.node, Text(parsed.sql), sandbox.catalog
    name: str = node.this.this.upper()
    if name not in catalog.functions and ("function", name) not in catalog.blocked:
        if catalog.calls.find(name) is not None:
            text.refuse("built-in-function", f"{name} is a function of the language, which stays", node.this)
        if node.args.get("exists"):
            return Nothing(f"there is no function {name}, nothing is done")
        similar, hint = similar_names(name, catalog.functions), "SHOW FUNCTIONS lists what there is"
        text.refuse("unknown-function", f"there is no function {name}", node.this, hint=hint, similar=similar)
    found = users(name, catalog.queries, sandbox.plan_of)
    if found:
        message = f"{name} is called by the queries {sandbox.visible.told(found)}"
        text.refuse("in-use", message, node.this, hint="TERMINATE them, or DROP what they write, first")
    sandbox.catalog = catalog.without_function(name)
    return name


def _drop(parsed: Parsed, name: str, context: Context) -> Entity:
    sequence = context.catalog_service.drop_function(name)
    return entities.status(parsed.text, f"function/`{name}`/drop", f"Function {name} was dropped", sequence)


STATEMENTS: Table = {
    nodes.CreateFunction: Statement[_Function](
        "CREATE FUNCTION",
        _check,
        _create,
        Effect.CATALOG,
        defines=True,
        migrates=True,
        needs=free,
        first=_administers,
    ),
    nodes.DropFunction: Statement[str](
        "DROP FUNCTION", _check_drop, _drop, Effect.CATALOG, migrates=True, needs=free, first=_administers
    ),
}
