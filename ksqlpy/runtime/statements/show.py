"""SHOW: lists of what there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ksqlpy.analysis import Text
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.described import errors_of
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.statements.describe import described_sources, push_description, query_description
from ksqlpy.runtime.statements.entry import Effect, Statement, Table
from ksqlpy.runtime.statements.select import refuse_connectors
from ksqlpy.sql import Parsed, nodes

__all__ = ["STATEMENTS"]

Lister = Callable[[Parsed, Context], Entity]


@dataclass(frozen=True)
class _Shown:
    """What SHOW gives, also with EXTENDED if that is more of it.

    ``logged``: it comes from the command log, so that entries of it that are left out may be missing.
    """

    listed: Lister
    extended: Lister | None = None
    logged: bool = False


def _check(parsed: Parsed, sandbox: Sandbox) -> _Shown:
    kind, extended = parsed.node.args["kind"], parsed.node.args.get("extended")
    if "CONNECTOR" in kind:
        refuse_connectors(parsed, sandbox)
    shown = _SHOWN.get(kind)
    if shown is None or (extended and shown.extended is None):
        what = f"SHOW {kind}{' EXTENDED' if shown else ''}"
        hint = f"SHOW lists {', '.join(_SHOWN)}"
        Text(parsed.sql).refuse("unsupported-statement", f"{what} is not run by ksqlpy", parsed.node, hint=hint)
    return shown


def _show(parsed: Parsed, shown: _Shown, context: Context) -> Entity:
    lister = shown.extended if parsed.node.args.get("extended") and shown.extended else shown.listed
    entity = lister(parsed, context)
    if shown.logged:
        entity["warnings"] = [{"message": text} for text in context.catalog_service.left_out]
    return entity


def _sources(parsed: Parsed, context: Context) -> Entity:
    return entities.listed_sources(parsed.text, parsed.node.args["kind"].removesuffix("S"), context.catalog)


def _queries(parsed: Parsed, context: Context) -> Entity:
    catalog = context.catalog
    summaries = [
        entities.query_summary(q, context.status(q.id), catalog, errors_of(q.id, context))
        for q in catalog.queries.values()
    ]
    summaries += [
        entities.summary(p.id, p.asked.statement, p.status or context.status(p.id), errors_of(p.id, context))
        for p in context.reads.open
    ]
    return entities.entity("queries", parsed.text, queries=summaries)


def _described_queries(parsed: Parsed, context: Context) -> Entity:
    described = [query_description(q, context) for q in context.catalog.queries]
    described += [push_description(p, context) for p in context.reads.open]
    return entities.entity("query_descriptions", parsed.text, queryDescriptions=described)


def _topics(parsed: Parsed, context: Context) -> Entity:
    hidden = bool(parsed.node.args.get("all"))
    return entities.listed_topics(parsed.text, context.brokers.topics.listed(hidden=hidden))


_SHOWN = {
    "STREAMS": _Shown(_sources, described_sources, logged=True),
    "TABLES": _Shown(_sources, described_sources, logged=True),
    "QUERIES": _Shown(_queries, _described_queries, logged=True),
    "TOPICS": _Shown(_topics),
    "PROPERTIES": _Shown(lambda p, c: entities.properties(p.text, c.config, c.overrides)),
    "FUNCTIONS": _Shown(lambda p, c: entities.functions(p.text)),
    "TYPES": _Shown(lambda p, c: entities.listed_types(p.text, c.catalog.types), logged=True),
    "VARIABLES": _Shown(lambda p, c: entities.listed_variables(p.text, c.variables)),
}

STATEMENTS: Table = {nodes.Show: Statement[_Shown]("SHOW", _check, _show, Effect.SHOWS)}
