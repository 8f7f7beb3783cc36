"""SHOW: lists of what there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ksqlpy.access import BUILT_IN, Thing, role_name
from ksqlpy.analysis import Text
from ksqlpy.catalog import Owner
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.described import errors_of
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.statements.describe import described_sources, push_description, query_description
from ksqlpy.runtime.statements.entry import Effect, Statement, Table, free
from ksqlpy.runtime.statements.grant import check_role_seen, granted, roles_seen
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
    if kind == "GRANTS" and (role := parsed.node.args.get("role")) is not None:
        check_role_seen(role, parsed, sandbox)
    return shown


def _show(parsed: Parsed, shown: _Shown, context: Context) -> Entity:
    lister = shown.extended if parsed.node.args.get("extended") and shown.extended else shown.listed
    entity = lister(parsed, context)
    if shown.logged and context.visible.viewer is None:  # they name what is left out
        entity["warnings"] = [{"message": text} for text in context.catalog_service.left_out]
    return entity


def _sources(parsed: Parsed, context: Context) -> Entity:
    return entities.listed_sources(parsed.text, parsed.node.args["kind"].removesuffix("S"), context.visible)


def _queries(parsed: Parsed, context: Context) -> Entity:
    catalog = context.visible
    summaries = [
        entities.query_summary(q, context.status(q.id), catalog, errors_of(q.id, context))
        for q in catalog.queries.values()
    ]
    summaries += [
        entities.summary(
            p.id,
            p.asked.statement,
            p.status or context.status(p.id),
            errors_of(p.id, context),
            owner=Owner.of(p.asked.principal),
        )
        for p in context.pushes
    ]
    return entities.entity("queries", parsed.text, queries=summaries)


def _described_queries(parsed: Parsed, context: Context) -> Entity:
    described = [query_description(q, context) for q in context.visible.queries]
    described += [push_description(p, context) for p in context.pushes]
    return entities.entity("query_descriptions", parsed.text, queryDescriptions=described)


def _topics(parsed: Parsed, context: Context) -> Entity:
    """Those on which the principal has a right, and those of the streams and tables that he sees."""
    listed = context.brokers.topics.listed(hidden=bool(parsed.node.args.get("all")))
    known = {s.topic for s in context.visible.sources.values()}
    seen = {t: r for t, r in listed.items() if t in known or context.may(None, Thing.topic(t))}
    return entities.listed_topics(parsed.text, seen)


def _properties(parsed: Parsed, context: Context) -> Entity:
    """Those of the server only to those who have any right: they tell of its network and its files."""
    found = entities.properties(parsed.text, context.config, context.overrides)
    if context.principal is not None and context.catalog.grants.held(context.principal.roles).nothing:
        found["properties"] = [p for p in found["properties"] if p["editable"]]
        listed = {p["name"] for p in found["properties"]}
        found["defaultProperties"] = [n for n in found["defaultProperties"] if n in listed]
    return found


def _roles(parsed: Parsed, context: Context) -> Entity:
    """All roles to administrators; one's own to others."""
    return entities.listed_roles(parsed.text, [(r, r in BUILT_IN) for r in roles_seen(context)])


def _grants(parsed: Parsed, context: Context) -> Entity:
    named = parsed.node.args.get("role")
    roles = roles_seen(context)
    shown = roles if named is None else [r for r in roles if r == role_name(named.this)]
    return entities.listed_grants(parsed.text, granted(shown, context.catalog.grants))


_SHOWN = {
    "STREAMS": _Shown(_sources, described_sources, logged=True),
    "TABLES": _Shown(_sources, described_sources, logged=True),
    "QUERIES": _Shown(_queries, _described_queries, logged=True),
    "TOPICS": _Shown(_topics),
    "PROPERTIES": _Shown(_properties),
    "FUNCTIONS": _Shown(lambda p, c: entities.functions(p.text, c.visible.calls), logged=True),
    "TYPES": _Shown(lambda p, c: entities.listed_types(p.text, c.visible.types), logged=True),
    "ROLES": _Shown(_roles, logged=True),
    "GRANTS": _Shown(_grants, logged=True),
    "VARIABLES": _Shown(lambda p, c: entities.listed_variables(p.text, c.variables)),
}

STATEMENTS: Table = {nodes.Show: Statement[_Shown]("SHOW", _check, _show, Effect.SHOWS, needs=free)}
