"""CREATE, ALTER, INSERT INTO … SELECT: what makes sources, queries and types."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.analysis import (
    CreateAs,
    Declare,
    InsertInto,
    Text,
    analyze_alter,
    analyze_create,
    analyze_insert_select,
    analyze_type,
    check_blocked,
    check_replaceable,
)
from ksqlpy.catalog import Catalog, Owner, PersistentQuery, Source
from ksqlpy.config import warnings_of
from ksqlpy.errors import StatementError
from ksqlpy.plan import Plan, build_plan, mode_of, upgrade
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.functionuse import check_keys, check_letters
from ksqlpy.runtime.internal import check_declared, check_read, check_written
from ksqlpy.runtime.statements.entry import Effect, Nothing, Statement, Table, free
from ksqlpy.runtime.statements.topicrights import created_topic, late_topic
from ksqlpy.runtime.topic_requirements import check_late
from ksqlpy.spark.check import check_plan
from ksqlpy.sql import Parsed, nodes
from ksqlpy.types import SqlType

__all__ = ["STATEMENTS"]

PENDING = "…"
"""In a sandbox the place of the number in the id of a query that is not made yet."""


# ---------------------------------------------------------------- CREATE


@dataclass(frozen=True)
class _Source:
    """A source without a query, to be made or, if it is there, to be changed."""

    made: Declare
    existing: Source | None


@dataclass(frozen=True)
class _Query:
    """A source and its query.

    ``replaced``: the query that goes on with this plan; ``anew``: its filter starts over.
    """

    made: CreateAs
    existing: Source | None
    plan: Plan
    replaced: PersistentQuery | None = None
    anew: bool = False


def _existing(parsed: Parsed, catalog: Catalog) -> Source | None:
    """The source that has the name already; refused unless IF NOT EXISTS or OR REPLACE allows it."""
    node, text = parsed.node, Text(parsed.sql)
    if node.args.get("exists") and node.args.get("replace"):
        text.refuse("replace-and-exists", "OR REPLACE and IF NOT EXISTS exclude each other", node.this)
    if node.args.get("source") and node.args.get("replace"):
        message = "OR REPLACE and SOURCE exclude each other: such a source stays as it is"
        text.refuse("not-replaceable", message, node.this)
    check_blocked(catalog, "source", node.this, text)
    existing = catalog.sources.get(node.this.this)
    if existing is not None and not (node.args.get("exists") or node.args.get("replace")):
        hint = "choose another name, DROP it first, or write IF NOT EXISTS or OR REPLACE"
        text.refuse("already-exists", f"{existing.kind.lower()} {existing.name} exists already", node.this, hint=hint)
    return existing


def _check_create(parsed: Parsed, sandbox: Sandbox) -> _Source | _Query | Nothing:
    node, text = parsed.node, Text(parsed.sql)
    existing = _existing(parsed, sandbox.catalog)
    if existing is not None and node.args.get("exists"):
        return Nothing(f"{existing.kind.lower()} {existing.name} exists already, nothing is done")
    if node.args.get("replace") and sandbox.config.get("ksql.create.or.replace.enabled") != "true":
        hint = "SET 'ksql.create.or.replace.enabled' = 'true' allows it"
        text.refuse("replace-off", "OR REPLACE is switched off", node.this, hint=hint)
    made = analyze_create(parsed, sandbox.visible, sandbox.config, sandbox.samples)
    check_declared(made, parsed, sandbox.config)
    if isinstance(made, Declare):
        found: _Source | _Query = _Source(made, existing)
    else:
        found = _Query(made, existing, build_plan(made.query))
    if existing is not None:
        found = _replacing(found, existing, sandbox, parsed)
    try:
        if isinstance(found, _Query):
            _check_query(found.plan, sandbox, parsed)
            check_late(found.plan, made.source.topic)
        have = sandbox.engine.topics.check(made.topic, sandbox.topics, declared=isinstance(found, _Source))
        sandbox.topics[made.topic.name] = have or 1
        source = made.source
        if isinstance(found, _Query):
            if found.replaced is not None:
                query_id = found.replaced.id
            else:
                query_id = found.made.query_id or f"C{source.kind[0]}AS_{source.name}_{PENDING}"
                _check_id(query_id, parsed, sandbox.catalog)
            _add_query(sandbox, query_id, source, found.plan, parsed)
            source = replace(source, query=query_id)
    except StatementError as e:
        e.span, e.sql = e.span or text.span(node.this), parsed.sql
        raise
    sandbox.catalog = sandbox.catalog.with_source(source)
    return found


def _check_query(plan: Plan, sandbox: Sandbox, parsed: Parsed) -> None:
    check_keys(plan, parsed)
    check_letters(plan, parsed)
    check_plan(plan)
    check_read(plan, sandbox.config, parsed)
    mode_of(plan, sandbox.config)
    topics = [r.source.topic for r in plan.relations]
    sandbox.engine.topics.partitions([t for t in topics if t not in sandbox.topics])


def _add_query(sandbox: Sandbox, query_id: str, sink: Source, plan: Plan, parsed: Parsed) -> None:
    sources = tuple(dict.fromkeys(r.source.name for r in plan.relations))
    sandbox.plans[query_id] = plan
    query = PersistentQuery(query_id, parsed.text, sink.name, sources, owner=Owner.of(sandbox.principal))
    sandbox.catalog = sandbox.catalog.with_query(query)


MAX_ID = 230
"""Characters of a query's id, without the number at its end: a checkpoint is a folder of that name."""


def _check_id(query_id: str, parsed: Parsed, catalog: Catalog) -> None:
    """Refuses a QUERY_ID that is taken, and an id that is no name of a folder."""
    written = parsed.node.args.get("properties") or []
    place = next((p.args["value"] for p in written if p.this.name.upper() == "QUERY_ID"), parsed.node.this)
    if len(query_id) > MAX_ID:
        message = f"the query's id {query_id[:20]}… has more than {MAX_ID} characters"
        Text(parsed.sql).refuse("bad-name", message, place, hint="name a shorter one with QUERY_ID")
    if query_id in catalog.queries:
        Text(parsed.sql).refuse("duplicate-query", f"there is a query {query_id} already", place)


def _replacing(found: _Source | _Query, existing: Source, sandbox: Sandbox, parsed: Parsed) -> _Source | _Query:
    """OR REPLACE: with the query that goes on, if one runs; refuses what does not fit."""
    text, place, new = Text(parsed.sql), parsed.node.this, found.made.source
    if isinstance(found, _Query):
        new = replace(new, query=existing.query or PENDING)
    check_replaceable(existing, new, sandbox.catalog, text, place, sandbox.visible)
    query = sandbox.catalog.queries.get(existing.query or "")
    if query is None or isinstance(found, _Source):
        return found
    if found.made.query_id not in (None, query.id):
        text.refuse("not-replaceable", f"the query keeps its id {query.id}", place, hint="leave QUERY_ID out")
    changed = upgrade(sandbox.plan_of(query.id), found.plan)
    if changed.problem is not None:
        text.refuse(
            "not-upgradeable",
            f"{existing.name} cannot be replaced: {changed.problem}",
            place,
            hint="filters and selected columns may change. Else make the new query beside it: CREATE the result under"
            " another name WITH (QUERY_ID = …) after SET 'auto.offset.reset' = 'earliest', wait until it has read what"
            f" is there, let the readers of {existing.name} read it, and DROP {existing.name}",
        )
    return replace(found, replaced=query, anew=changed.anew)


_ANEW = (
    "The filter starts over. A row of the result that does not pass it stays there until its key passes again, as in"
    " ksqlDB. To have all rows checked, make the new table beside this one."
)


def _named(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    """The right to create what has the name; to replace what is there, the right to alter it, too.

    Who replaces a query that he does not see would be told of it: he needs the right to alter all.
    """
    name, view = parsed.node.this.this, sandbox.visible
    needs = Need.on(Right.CREATE, name)
    existing = view.sources.get(name)
    if parsed.node.args.get("replace") and existing is not None:
        needs += Need.on(Right.ALTER, name)
        if existing.query in sandbox.catalog.queries and existing.query not in view.queries:
            needs.append(Need(Right.ALTER, EVERYTHING))
    return [*needs, *created_topic(parsed, sandbox)]


def _create_needs(parsed: Parsed, found: _Source | _Query, sandbox: Sandbox) -> list[Need]:
    if isinstance(found, _Source):
        return []
    sources = (s.name for s in found.made.query.sources)
    return [*Need.on(Right.SELECT, *sources), *late_topic(found.plan.late_topic, sandbox)]


def _create(parsed: Parsed, found: _Source | _Query, context: Context) -> Entity:
    """Makes or replaces a source and its query."""
    kind, service, made = parsed.node.args["kind"], context.catalog_service, found.made
    what = f"{kind.lower()}/`{made.source.name}`/create"
    if isinstance(found, _Source):
        verb = "created" if found.existing is None else "replaced"
        message = ". ".join((f"{kind.capitalize()} {verb}", *found.made.inferred))
        sequence = service.declare(found.made) if found.existing is None else service.alter(made.source)
        return entities.status(parsed.text, what, message, sequence)
    if found.replaced is not None:
        replaced = replace(found.replaced, owner=Owner.of(context.principal) or found.replaced.owner)
        sequence = service.upgrade(found.made, found.plan, replaced, anew=found.anew)
        message, query_id = f"Replaced query with ID {found.replaced.id}", found.replaced.id
        return entities.status(parsed.text, what, message, sequence, query_id, [_ANEW] if found.anew else [])
    sequence, query_id = service.create(found.made, found.plan, context.overrides, context.principal)
    warnings: list[str | None] = list(warnings_of(map(str, context.overrides)))
    if context.config.get("processing.guarantee") == "exactly_once":
        warnings.append(context.brokers.topics.sink_warning(found.made, context.config.number("commit.interval.ms")))
    message = f"Created query with ID {query_id}"
    return entities.status(parsed.text, what, message, sequence, query_id, filter(None, warnings))


def _created_by(found: _Source | _Query) -> list[str] | None:
    """What a new source was checked by; one that replaces another was checked by that one's readers, too."""
    if found.existing is not None:
        return None
    sources = found.made.query.sources if isinstance(found, _Query) else ()
    return [found.made.source.name, *(s.name for s in sources)]


# ---------------------------------------------------------------- INSERT INTO … SELECT, ALTER


_Into = tuple[InsertInto, Plan]


def _check_insert(parsed: Parsed, sandbox: Sandbox) -> _Into:
    made = analyze_insert_select(parsed, sandbox.visible, sandbox.config)
    check_written(made.source, parsed)
    plan = build_plan(made.query)
    try:
        _check_query(plan, sandbox, parsed)
    except StatementError as e:
        e.span, e.sql = e.span or Text(parsed.sql).span(parsed.node.this), parsed.sql
        raise
    query_id = made.query_id or f"INSERTQUERY_{PENDING}{len(sandbox.plans) or ''}"
    _check_id(query_id, parsed, sandbox.catalog)
    _add_query(sandbox, query_id, made.source, plan, parsed)
    return made, plan


def _insert(parsed: Parsed, found: _Into, context: Context) -> Entity:
    """Starts one more query that writes a stream."""
    made, plan = found
    sequence, query_id = context.catalog_service.insert_into(made, plan, context.overrides, context.principal)
    what = f"stream/`{made.source.name}`/create"
    warnings = warnings_of(map(str, context.overrides))
    return entities.status(parsed.text, what, f"Created query with ID {query_id}", sequence, query_id, warnings)


def _insert_first(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    return Need.on(Right.INSERT, parsed.node.this.this)


def _insert_needs(parsed: Parsed, found: _Into, sandbox: Sandbox) -> list[Need]:
    made, plan = found
    return [*Need.on(Right.SELECT, *(s.name for s in made.query.sources)), *late_topic(plan.late_topic, sandbox)]


def _written_by(found: _Into) -> list[str]:
    return [found[0].source.name, *(s.name for s in found[0].query.sources)]


def _check_alter(parsed: Parsed, sandbox: Sandbox) -> Source:
    source = analyze_alter(parsed, sandbox.visible)
    check_written(source, parsed)
    sandbox.catalog = sandbox.catalog.with_source(source)
    return source


def _alter_first(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    return Need.on(Right.ALTER, parsed.node.this.this)


def _alter(parsed: Parsed, source: Source, context: Context) -> Entity:
    """Appends columns to a source; queries that run already do not see them."""
    sequence = context.catalog_service.alter(source)
    what = f"{source.kind.lower()}/`{source.name}`/alter"
    return entities.status(parsed.text, what, f"{source.kind.capitalize()} altered", sequence)


# ---------------------------------------------------------------- CREATE TYPE


def _check_type(parsed: Parsed, sandbox: Sandbox) -> SqlType | Nothing:
    """Raises AnalysisProblem ``already-exists`` and what its definition is refused for."""
    node, name, text = parsed.node, parsed.node.this.this, Text(parsed.sql)
    check_blocked(sandbox.catalog, "type", node.this, text)
    if name in sandbox.catalog.types:
        if node.args.get("exists"):
            return Nothing(f"type {name} exists already, nothing is done")
        hint = "DROP TYPE it first, or write IF NOT EXISTS"
        text.refuse("already-exists", f"type {name} exists already", node.this, hint=hint)
    made = analyze_type(parsed, sandbox.visible)
    sandbox.catalog = sandbox.catalog.with_type(name, made)
    return made


def _type_first(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    return Need.on(Right.CREATE, parsed.node.this.this)


def _create_type(parsed: Parsed, made: SqlType, context: Context) -> Entity:
    """Makes a type; sources that were made with it keep what it stood for."""
    name = parsed.node.this.this
    sequence = context.catalog_service.make_type(name, made)
    message = f"Registered custom type with name '{name}' and SQL type {made}"
    return entities.status(parsed.text, f"type/`{name}`/create", message, sequence)


STATEMENTS: Table = {
    nodes.CreateSource: Statement[_Source | _Query](
        "CREATE",
        _check_create,
        _create,
        Effect.CATALOG,
        defines=True,
        migrates=True,
        starts=True,
        reads=_created_by,
        needs=_create_needs,
        first=_named,
    ),
    nodes.AlterSource: Statement[Source](
        "ALTER", _check_alter, _alter, Effect.CATALOG, migrates=True, needs=free, first=_alter_first
    ),
    nodes.InsertSelect: Statement[_Into](
        "INSERT",
        _check_insert,
        _insert,
        Effect.CATALOG,
        defines=True,
        migrates=True,
        starts=True,
        reads=_written_by,
        needs=_insert_needs,
        first=_insert_first,
    ),
    nodes.CreateType: Statement[SqlType](
        "CREATE", _check_type, _create_type, Effect.CATALOG, defines=True, migrates=True, needs=free, first=_type_first
    ),
}
