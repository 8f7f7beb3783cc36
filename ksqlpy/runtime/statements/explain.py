"""EXPLAIN: what a query does, or what a statement would run."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from ksqlpy.access import Need, Right
from ksqlpy.analysis import CreateAs, Text, analyze_create, analyze_insert_select, analyze_query
from ksqlpy.analysis.pull import PullRead, analyze_pull
from ksqlpy.analysis.result import TypedQuery
from ksqlpy.catalog import Column
from ksqlpy.errors import AnalysisProblem
from ksqlpy.plan import build_plan, mode_of
from ksqlpy.plan.explain import plan_tree
from ksqlpy.reading.calls import no_value
from ksqlpy.reading.pull import columns_of, way_of
from ksqlpy.reading.push import PLAIN_WAY, plain_of
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.functionuse import check_keys, check_letters
from ksqlpy.runtime.statements.control import find_query
from ksqlpy.runtime.statements.describe import push_description, query_description
from ksqlpy.runtime.statements.entry import Effect, Statement, Table
from ksqlpy.sql import Parsed, nodes

__all__ = ["STATEMENTS"]


@dataclass(frozen=True)
class _Would:
    """What a statement would run, and the name and the sink of that, if it has one."""

    query: TypedQuery | PullRead
    name: str = ""
    sinks: tuple[str, ...] = ()


def _check(parsed: Parsed, sandbox: Sandbox) -> _Would | str:
    """What to explain: a statement, or the query of an id."""
    node, catalog, config = parsed.node, sandbox.visible, sandbox.config
    text, statement = Text.of(parsed.sql, catalog), node.args.get("statement")
    if statement is None:
        return find_query(node.this, catalog, text, sandbox.pushes)
    inner = Parsed(statement, parsed.text, parsed.sql, parsed.start)
    if isinstance(statement, nodes.CreateSource):
        made = analyze_create(inner, catalog, config)
        if not isinstance(made, CreateAs):
            text.refuse("not-a-query", "this statement has no query to explain", statement)
        plan = build_plan(made.query)
        check_keys(plan, inner)
        check_letters(plan, inner)
        return _Would(made.query, made.source.name, (made.source.name,))
    if isinstance(statement, nodes.InsertSelect):
        into = analyze_insert_select(inner, catalog, config)
        plan = build_plan(into.query)
        check_keys(plan, inner)
        check_letters(plan, inner)
        return _Would(into.query, "", (into.source.name,))
    if isinstance(statement, nodes.Query) and statement.args.get("emit") is None:
        with contextlib.suppress(AnalysisProblem):  # what only a push query can be is explained as one
            return _Would(analyze_pull(statement, catalog, text, config))
    typed = analyze_query(statement, catalog, text, persistent=False)
    check_keys(build_plan(typed), inner)
    return _Would(typed)


def _needs(parsed: Parsed, found: _Would | str, sandbox: Sandbox) -> list[Need]:
    """The right to read what it would read; a query that runs is shown to all who see it."""
    if isinstance(found, str):
        return []
    typed = found.query.typed if isinstance(found.query, PullRead) else found.query
    return Need.on(Right.SELECT, *(s.name for s in typed.sources))


def _explain(parsed: Parsed, found: _Would | str, context: Context) -> Entity:
    if isinstance(found, _Would):
        described = _would_run(parsed.text, found, context)
    else:
        pushes = {p.id: p for p in context.pushes}
        found = find_query(parsed.node.this, context.visible, Text(parsed.sql), pushes)  # a push query may have ended
        described = push_description(pushes[found], context) if found in pushes else query_description(found, context)
    return entities.entity("queryDescription", parsed.text, queryDescription=described)


def _would_run(text: str, found: _Would, context: Context) -> Entity:
    query, sinks = found.query, list(found.sinks)
    if isinstance(query, PullRead):
        columns = [Column(c.name, c.type, c.key) for c in columns_of(query)]
        return entities.pull_description(text, columns, [query.source.name], way_of(query))
    plan = build_plan(query)
    mode = mode_of(plan, context.config)
    sources = [s.name for s in query.sources]
    description = entities.query_description(found.name, text, plan, mode, sources, sinks)
    if not sinks and plain_of(query, calls=no_value) is not None:
        description["topology"] = description["executionPlan"] = f"{plan_tree(plan)}\n{PLAIN_WAY}"
    return description


STATEMENTS: Table = {nodes.Explain: Statement[_Would | str]("EXPLAIN", _check, _explain, Effect.SHOWS, needs=_needs)}
