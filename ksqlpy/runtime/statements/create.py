"""CREATE, ALTER, DROP, INSERT INTO … SELECT, TERMINATE, PAUSE, RESUME: what changes the catalog and its queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

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
    find_source,
)
from ksqlpy.catalog import Catalog, PersistentQuery, Source, query_named
from ksqlpy.config import warnings_of
from ksqlpy.errors import StatementError, similar_names
from ksqlpy.plan import Plan, build_plan, mode_of, upgrade
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Command, Context, Entity, Sandbox
from ksqlpy.runtime.internal import check_declared, check_deleted, check_read, check_written
from ksqlpy.runtime.wishes import check_late
from ksqlpy.spark.check import check_plan
from ksqlpy.sql import Parsed, nodes

__all__ = [
    "alter",
    "cascade",
    "check_alter",
    "check_create",
    "check_create_type",
    "check_drop",
    "check_drop_type",
    "check_insert_select",
    "check_pause",
    "check_terminate",
    "create",
    "create_type",
    "drop",
    "drop_type",
    "insert_select",
    "pause",
    "terminate",
    "which_of",
]

PENDING = "…"
"""In a sandbox the place of the number in the id of a query that is not made yet."""


# ---------------------------------------------------------------- CREATE


def _existing(parsed: Parsed, catalog: Catalog) -> Source | None:
    """The source that has the name already; refused unless IF NOT EXISTS or OR REPLACE allows it."""
    node, text = parsed.node, Text(parsed.sql)
    if node.args.get("exists") and node.args.get("replace"):
        text.refuse("replace-and-exists", "OR REPLACE and IF NOT EXISTS exclude each other", node.this)
    if node.args.get("source") and node.args.get("replace"):
        text.refuse(
            "not-replaceable", "OR REPLACE and SOURCE exclude each other: such a source stays as it is", node.this
        )
    check_blocked(catalog, "source", node.this, text)
    existing = catalog.sources.get(node.this.this)
    if existing is not None and not (node.args.get("exists") or node.args.get("replace")):
        text.refuse(
            "already-exists",
            f"{existing.kind.lower()} {existing.name} exists already",
            node.this,
            hint="choose another name, DROP it first, or write IF NOT EXISTS or OR REPLACE",
        )
    return existing


def check_create(parsed: Parsed, sandbox: Sandbox) -> Command | None:
    """CREATE STREAM and TABLE; raises KsqlError."""
    node, text = parsed.node, Text(parsed.sql)
    existing = _existing(parsed, sandbox.catalog)
    if existing is not None and node.args.get("exists"):
        return None
    if node.args.get("replace") and sandbox.config.get("ksql.create.or.replace.enabled") != "true":
        hint = "SET 'ksql.create.or.replace.enabled' = 'true' allows it"
        text.refuse("replace-off", "OR REPLACE is switched off", node.this, hint=hint)
    made = analyze_create(parsed, sandbox.catalog, sandbox.config, sandbox.samples)
    check_declared(made, parsed, sandbox.config)
    command = _command(made, sandbox.catalog)
    plan, replaced = command.plan, None
    if existing is not None:
        replaced = _replaced(existing, command, sandbox.catalog, sandbox.plan_of, parsed)
    try:
        if isinstance(made, CreateAs) and plan is not None:
            _check_query(plan, sandbox, parsed)
            check_late(plan, made.source.topic)
            have = sandbox.engine.topics.check(made.topic, sandbox.topics, declared=False)
            sandbox.topics[made.topic.name] = have or 1
            query_id = (
                replaced.id
                if replaced is not None
                else made.query_id or f"C{made.source.kind[0]}AS_{made.source.name}_{PENDING}"
            )
            if replaced is None:
                _check_id(query_id, parsed, sandbox.catalog)
            _add_query(sandbox, query_id, made.source, plan, parsed)
            source = replace(made.source, query=query_id)
        else:
            have = sandbox.engine.topics.check(made.topic, sandbox.topics, declared=True)
            sandbox.topics[made.topic.name] = have or 1
            source = made.source
    except StatementError as e:
        e.span, e.sql = e.span or text.span(node.this), parsed.sql
        raise
    sandbox.catalog = sandbox.catalog.with_source(source)
    return command


def _check_query(plan: Plan, sandbox: Sandbox, parsed: Parsed) -> None:
    check_plan(plan)
    check_read(plan, sandbox.config, parsed)
    mode_of(plan, sandbox.config)
    topics = [r.source.topic for r in plan.relations]
    sandbox.engine.topics.partitions([t for t in topics if t not in sandbox.topics])


def _add_query(sandbox: Sandbox, query_id: str, sink: Source, plan: Plan, parsed: Parsed) -> None:
    sources = tuple(dict.fromkeys(r.source.name for r in plan.relations))
    sandbox.plans[query_id] = plan
    sandbox.catalog = sandbox.catalog.with_query(PersistentQuery(query_id, parsed.text, sink.name, sources))


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


def _replaced(
    existing: Source,
    command: Command,
    catalog: Catalog,
    plan_of: Callable[[str], Plan],
    parsed: Parsed,
) -> PersistentQuery | None:
    """The query that goes on with the statement of OR REPLACE, or None if none runs; refuses what does not fit."""
    text, place, made = Text(parsed.sql), parsed.node.this, command.made
    by_query = isinstance(made, CreateAs)
    new = replace(made.source, query=existing.query or PENDING) if by_query else made.source
    check_replaceable(existing, new, catalog, text, place)
    query = catalog.queries.get(existing.query or "")
    if query is None or command.plan is None:
        return None
    if made.query_id not in (None, query.id):
        text.refuse("not-replaceable", f"the query keeps its id {query.id}", place, hint="leave QUERY_ID out")
    problem = upgrade(plan_of(query.id), command.plan).problem
    if problem is not None:
        text.refuse(
            "not-upgradeable",
            f"{existing.name} cannot be replaced: {problem}",
            place,
            hint="filters and selected columns may change. Else make the new query beside it: CREATE the result under"
            " another name WITH (QUERY_ID = …) after SET 'auto.offset.reset' = 'earliest', wait until it has read what"
            f" is there, let the readers of {existing.name} read it, and DROP {existing.name}",
        )
    return query


_ANEW = (
    "The filter begins anew. A row of the result that does not pass it stays there until its key passes again, as in"
    " ksqlDB. To have all rows checked, make the new table beside this one."
)


def create(parsed: Parsed, context: Context) -> Entity:
    """Makes or replaces a source and its query."""
    kind = parsed.node.args["kind"]
    existing = _existing(parsed, context.catalog)
    if existing is not None and parsed.node.args.get("exists"):
        return entities.warning(parsed.text, f"{existing.kind.lower()} {existing.name} exists already, nothing is done")
    command = context.checked
    if command is None:
        command = _command(analyze_create(parsed, context.catalog, context.config, context.samples), context.catalog)
    made, plan = command.made, command.plan
    what = f"{kind.lower()}/`{made.source.name}`/create"
    query = None
    if existing is not None:
        query = _replaced(existing, command, context.catalog, context.catalog_service.plan_of, parsed)
    if plan is None:
        verb = "created" if existing is None else "replaced"
        message = ". ".join((f"{kind.capitalize()} {verb}", *made.inferred))
        alter = existing is not None
        sequence = context.catalog_service.alter(made.source) if alter else context.catalog_service.declare(made)
        return entities.status(parsed.text, what, message, sequence)
    if query is not None:
        anew = upgrade(context.catalog_service.plan_of(query.id), plan).anew
        sequence = context.catalog_service.upgrade(made, plan, query)
        message = f"Replaced query with ID {query.id}"
        return entities.status(parsed.text, what, message, sequence, query.id, [_ANEW] if anew else [])
    sequence, query_id = context.catalog_service.create(made, plan, context.overrides)
    warnings: list[str | None] = list(warnings_of(map(str, context.overrides)))
    if context.config.get("processing.guarantee") == "exactly_once":
        warnings.append(context.brokers.topics.sink_warning(made, context.config.number("commit.interval.ms")))
    message = f"Created query with ID {query_id}"
    return entities.status(parsed.text, what, message, sequence, query_id, filter(None, warnings))


def _command(made: Declare | CreateAs, catalog: Catalog) -> Command:
    if isinstance(made, Declare):
        return Command(made, None, (), catalog.types)
    return Command(made, build_plan(made.query), tuple(made.query.sources), catalog.types)


# ---------------------------------------------------------------- INSERT INTO … SELECT, ALTER


def check_insert_select(parsed: Parsed, sandbox: Sandbox) -> Command:
    """INSERT INTO … SELECT; raises KsqlError."""
    made = analyze_insert_select(parsed, sandbox.catalog, sandbox.config)
    check_written(made.source, parsed)
    plan = build_plan(made.query)
    command = Command(made, plan, (*made.query.sources, made.source), sandbox.catalog.types)
    try:
        _check_query(plan, sandbox, parsed)
    except StatementError as e:
        e.span, e.sql = e.span or Text(parsed.sql).span(parsed.node.this), parsed.sql
        raise
    query_id = made.query_id or f"INSERTQUERY_{PENDING}{len(sandbox.plans) or ''}"
    _check_id(query_id, parsed, sandbox.catalog)
    _add_query(sandbox, query_id, made.source, plan, parsed)
    return command


def insert_select(parsed: Parsed, context: Context) -> Entity:
    """Starts one more query that writes a stream."""
    command = context.checked
    made: InsertInto = command.made if command else analyze_insert_select(parsed, context.catalog, context.config)
    plan = command.plan if command is not None and command.plan is not None else build_plan(made.query)
    sequence, query_id = context.catalog_service.insert_into(made, plan, context.overrides)
    what = f"stream/`{made.source.name}`/create"
    warnings = warnings_of(map(str, context.overrides))
    return entities.status(parsed.text, what, f"Created query with ID {query_id}", sequence, query_id, warnings)


def check_alter(parsed: Parsed, sandbox: Sandbox) -> None:
    """ALTER STREAM and TABLE; raises KsqlError."""
    source = analyze_alter(parsed, sandbox.catalog)
    check_written(source, parsed)
    sandbox.catalog = sandbox.catalog.with_source(source)


def alter(parsed: Parsed, context: Context) -> Entity:
    """Appends columns to a source; queries that run already do not see them."""
    source = analyze_alter(parsed, context.catalog)
    sequence = context.catalog_service.alter(source)
    what = f"{source.kind.lower()}/`{source.name}`/alter"
    return entities.status(parsed.text, what, f"{source.kind.capitalize()} altered", sequence)


# ---------------------------------------------------------------- DROP


def _dropped(parsed: Parsed, catalog: Catalog) -> Source | None:
    node, text = parsed.node, Text(parsed.sql)
    if node.args.get("exists") and node.this.this not in catalog.sources:
        return None
    source = find_source(catalog, node.this, text)
    if source.kind != node.args["kind"]:
        text.refuse("wrong-kind", f"{source.name} is a {source.kind.lower()}", node.this, hint=f"DROP {source.kind} …")
    if source.read_only and node.args.get("delete_topic"):
        text.refuse(
            "read-only",
            f"{source.name} was made with CREATE SOURCE, its topic cannot be deleted",
            node.this,
            hint="leave DELETE TOPIC out",
        )
    readers = catalog.readers(source.name)
    writers = tuple(q for q in catalog.writers(source.name) if q != source.query)
    if (readers or writers) and not node.args.get("cascade"):
        users = ", ".join((*readers, *writers))
        text.refuse(
            "in-use",
            f"{source.name} is used by the queries {users}",
            node.this,
            hint="TERMINATE or DROP them first, or DROP … CASCADE",
        )
    return source


def _is_blocked(parsed: Parsed, catalog: Catalog) -> bool:
    """Whether the name is of an odd entry of the command log; refuses what cannot be done with one."""
    node, text = parsed.node, Text(parsed.sql)
    name = node.this.this
    if ("source", name) not in catalog.blocked:
        return False
    if node.args.get("delete_topic"):
        text.refuse("command-log", f"the topic of {name} is not known", node.this, hint="leave DELETE TOPIC out")
    users = (*catalog.readers(name), *catalog.writers(name))
    if users:
        message = f"{name} is used by the queries {', '.join(users)}"
        text.refuse("in-use", message, node.this, hint="TERMINATE them first")
    return True


def cascade(source: Source, catalog: Catalog) -> tuple[list[str], list[Source]]:
    """What goes with a source: queries that end, and the sources made by those, readers before what they read."""
    ended: list[str] = []
    sources: list[Source] = []

    def go(source: Source) -> None:
        for query_id in catalog.readers(source.name):
            sink = catalog.sources.get(catalog.queries[query_id].sink)
            if sink is not None and sink.query == query_id:
                if sink not in sources:
                    go(sink)
            elif query_id not in ended:
                ended.append(query_id)
        ended.extend(q for q in catalog.writers(source.name) if q != source.query and q not in ended)
        if source not in sources:
            sources.append(source)

    go(source)
    return ended, sources


def check_drop(parsed: Parsed, sandbox: Sandbox) -> None:
    """DROP STREAM and TABLE; raises KsqlError."""
    if _is_blocked(parsed, sandbox.catalog):
        sandbox.catalog = sandbox.catalog.without_source(parsed.node.this.this)
        return
    source = _dropped(parsed, sandbox.catalog)
    if source is not None:
        ended, sources = cascade(source, sandbox.catalog)
        for gone in sources:
            if parsed.node.args.get("delete_topic") and not gone.read_only:
                check_deleted(gone, parsed)
            sandbox.catalog = sandbox.catalog.without_source(gone.name)
        for query_id in (*ended, *(s.query for s in sources if s.query is not None)):
            sandbox.catalog = sandbox.catalog.without_query(query_id)


def drop(parsed: Parsed, context: Context) -> Entity:
    """Ends the queries of a source, with CASCADE those that read it too, and forgets it."""
    if _is_blocked(parsed, context.catalog):
        name = parsed.node.this.this
        sequence = context.catalog_service.drop_blocked(name)
        what = f"{parsed.node.args['kind'].lower()}/`{name}`/drop"
        return entities.status(parsed.text, what, f"Source `{name}` was dropped.", sequence)
    source = _dropped(parsed, context.catalog)
    if source is None:
        return entities.warning(parsed.text, f"there is no source {parsed.node.this.this}, nothing is done")
    ended, sources = cascade(source, context.catalog)
    for query_id in ended:
        context.catalog_service.terminate(query_id)
    sequence = context.catalog_service.next_command
    for gone in sources:
        delete = bool(parsed.node.args.get("delete_topic")) and not gone.read_only
        sequence = context.catalog_service.drop(gone, delete_topic=delete)
    what = f"{source.kind.lower()}/`{source.name}`/drop"
    message = f"Source `{source.name}` was dropped."
    if len(sources) > 1:
        message = f"Sources {', '.join(f'`{s.name}`' for s in sources)} were dropped."
    return entities.status(parsed.text, what, message, sequence)


# ---------------------------------------------------------------- types


def check_create_type(parsed: Parsed, sandbox: Sandbox) -> None:
    """CREATE TYPE; raises AnalysisProblem ``already-exists`` and what its definition is refused for."""
    node, name = parsed.node, parsed.node.this.this
    check_blocked(sandbox.catalog, "type", node.this, Text(parsed.sql))
    if name in sandbox.catalog.types:
        if node.args.get("exists"):
            return
        Text(parsed.sql).refuse(
            "already-exists",
            f"type {name} exists already",
            node.this,
            hint="DROP TYPE it first, or write IF NOT EXISTS",
        )
    sandbox.catalog = sandbox.catalog.with_type(name, analyze_type(parsed, sandbox.catalog))


def create_type(parsed: Parsed, context: Context) -> Entity:
    """Makes a type; sources that were made with it keep what it stood for."""
    name = parsed.node.this.this
    if name in context.catalog.types:
        return entities.warning(parsed.text, f"type {name} exists already, nothing is done")
    made = analyze_type(parsed, context.catalog)
    sequence = context.catalog_service.make_type(name, made)
    message = f"Registered custom type with name '{name}' and SQL type {made}"
    return entities.status(parsed.text, f"type/`{name}`/create", message, sequence)


def check_drop_type(parsed: Parsed, sandbox: Sandbox) -> None:
    """DROP TYPE; raises AnalysisProblem ``unknown-type``."""
    name, types = parsed.node.this.this, sandbox.catalog.types
    if name not in types and ("type", name) not in sandbox.catalog.blocked and not parsed.node.args.get("exists"):
        Text(parsed.sql).refuse(
            "unknown-type",
            f"there is no type {name}",
            parsed.node.this,
            hint="SHOW TYPES lists what there is",
            similar=similar_names(name, types),
        )
    sandbox.catalog = sandbox.catalog.without_type(name)


def drop_type(parsed: Parsed, context: Context) -> Entity:
    """Forgets a type."""
    name = parsed.node.this.this
    if name not in context.catalog.types and ("type", name) not in context.catalog.blocked:
        return entities.warning(parsed.text, f"there is no type {name}, nothing is done")
    sequence = context.catalog_service.make_type(name, None)
    return entities.status(parsed.text, f"type/`{name}`/drop", f"Type '{name}' was dropped.", sequence)


# ---------------------------------------------------------------- TERMINATE, PAUSE, RESUME


def which_of(parsed: Parsed, catalog: Catalog) -> list[str]:
    """The ids of the queries that a statement names; raises AnalysisProblem ``unknown-query``."""
    if parsed.node.args.get("all"):
        return list(catalog.queries)
    name = parsed.node.this.this
    query_id = query_named(name, catalog.queries)
    if query_id is None:
        Text(parsed.sql).refuse(
            "unknown-query",
            f"there is no query {name}",
            parsed.node.this,
            similar=similar_names(name, catalog.queries),
            hint="SHOW QUERIES lists them",
        )
    return [query_id]


def _push_named(parsed: Parsed, pushes: Iterable[str]) -> str | None:
    """The open push query that TERMINATE names."""
    return None if parsed.node.args.get("all") else query_named(parsed.node.this.this, pushes)


def check_terminate(parsed: Parsed, sandbox: Sandbox) -> None:
    """TERMINATE; raises AnalysisProblem ``unknown-query``."""
    if _push_named(parsed, sandbox.engine.open_push_queries) is None:
        for query_id in which_of(parsed, sandbox.catalog):
            sandbox.catalog = sandbox.catalog.without_query(query_id)


def terminate(parsed: Parsed, context: Context) -> Entity:
    """Ends queries for good; what they have written stays."""
    if (query_id := _push_named(parsed, context.reads.ids)) is not None:
        closed = context.reads.close(query_id)
        return {
            "@type": "terminate_query",
            "statementText": parsed.text,
            "queryId": query_id,
            "wasTerminated": closed,
            "warnings": [],
        }
    sequence = context.catalog_service.next_command
    ended = which_of(parsed, context.catalog)
    for query_id in ended:
        sequence = context.catalog_service.terminate(query_id)
    what = f"terminate/{ended[0] if len(ended) == 1 else 'ALL'}/execute"
    return entities.status(parsed.text, what, "Query terminated.", sequence)


def check_pause(parsed: Parsed, sandbox: Sandbox) -> None:
    """PAUSE and RESUME; raises AnalysisProblem ``unknown-query``."""
    which_of(parsed, sandbox.catalog)


def pause(parsed: Parsed, context: Context) -> Entity:
    """PAUSE and RESUME; a query that is in the wanted state already stays as it is."""
    paused = isinstance(parsed.node, nodes.Pause)
    sequence = context.catalog_service.next_command
    which = which_of(parsed, context.catalog)
    for query_id in which:
        sequence = context.catalog_service.pause(query_id, paused=paused)
    verb = "pause" if paused else "resume"
    what = f"{verb}/{which[0] if len(which) == 1 else 'ALL'}/execute"
    return entities.status(parsed.text, what, f"Query {verb}d.", sequence)
