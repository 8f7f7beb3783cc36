"""DROP STREAM, DROP TABLE and DROP TYPE."""

from __future__ import annotations

from ksqlpy.access import EVERYTHING, Need, Right, Thing
from ksqlpy.analysis import Text, find_source
from ksqlpy.catalog import Catalog, Source
from ksqlpy.errors import similar_names
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.internal import check_deleted
from ksqlpy.runtime.statements.control import operated
from ksqlpy.runtime.statements.entry import Effect, Nothing, Statement, Table, free
from ksqlpy.runtime.statements.topicrights import is_namesake
from ksqlpy.sql import Parsed, nodes

__all__ = ["STATEMENTS", "cascade"]


def _dropped(parsed: Parsed, sandbox: Sandbox) -> Source:
    node, text, catalog = parsed.node, Text(parsed.sql), sandbox.catalog
    source = find_source(catalog, node.this, text)
    if source.kind != node.args["kind"]:
        text.refuse("wrong-kind", f"{source.name} is a {source.kind.lower()}", node.this, hint=f"DROP {source.kind} …")
    if source.read_only and node.args.get("delete_topic"):
        message = f"{source.name} was made with CREATE SOURCE, its topic cannot be deleted"
        text.refuse("read-only", message, node.this, hint="leave DELETE TOPIC out")
    readers = catalog.readers(source.name)
    writers = tuple(q for q in catalog.writers(source.name) if q != source.query)
    if (readers or writers) and not node.args.get("cascade"):
        message = f"{source.name} is used by the queries {sandbox.visible.told((*readers, *writers))}"
        text.refuse("in-use", message, node.this, hint="TERMINATE or DROP them first, or DROP … CASCADE")
    return source


def _is_blocked(parsed: Parsed, sandbox: Sandbox) -> bool:
    """Whether the name is of an odd entry of the command log; refuses what cannot be done with one."""
    node, text, catalog = parsed.node, Text(parsed.sql), sandbox.catalog
    name = node.this.this
    if ("source", name) not in catalog.blocked:
        return False
    if node.args.get("delete_topic"):
        text.refuse("command-log", f"the topic of {name} is not known", node.this, hint="leave DELETE TOPIC out")
    users = (*catalog.readers(name), *catalog.writers(name))
    if users:
        message = f"{name} is used by the queries {sandbox.visible.told(users)}"
        text.refuse("in-use", message, node.this, hint="TERMINATE them first")
    return True


Gone = tuple[list[str], list[Source]]
"""Queries that end, and sources, the named one last; none for an odd entry of the log."""


def cascade(source: Source, catalog: Catalog) -> Gone:
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


def _check(parsed: Parsed, sandbox: Sandbox) -> Gone | Nothing:
    name, catalog = parsed.node.this.this, sandbox.catalog
    if _is_blocked(parsed, sandbox):
        sandbox.catalog = catalog.without_source(name)
        return [], []
    if parsed.node.args.get("exists") and name not in catalog.sources:
        return Nothing(f"there is no source {name}, nothing is done")
    ended, sources = cascade(_dropped(parsed, sandbox), catalog)
    for gone in sources:
        if parsed.node.args.get("delete_topic") and not gone.read_only:
            check_deleted(gone, parsed)
        catalog = catalog.without_source(gone.name)
    for query_id in (*ended, *(s.query for s in sources if s.query is not None)):
        catalog = catalog.without_query(query_id)
    sandbox.catalog = catalog
    return ended, sources


def _named(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    return Need.on(Right.DROP, parsed.node.this.this)


def _needs(parsed: Parsed, gone: Gone, sandbox: Sandbox) -> list[Need]:
    """The right on each source that goes, on queries that end without one, and on topics of other names."""
    ended, sources = gone
    view, config = sandbox.visible, sandbox.engine.config
    needs = [Need(Right.DROP, EVERYTHING if view.hides(s.name) else Thing.source(s.name)) for s in sources]
    deleted = [s for s in sources if parsed.node.args.get("delete_topic") and not s.read_only]
    topics = [Thing.topic(s.topic) for s in deleted if not is_namesake(s.topic, s.name, config)]
    return [*needs, *operated(ended, sandbox), *(Need(Right.DROP, topic) for topic in topics)]


def _drop(parsed: Parsed, gone: Gone, context: Context) -> Entity:
    """Ends the queries of a source, with CASCADE those that read it too, and forgets it."""
    name, service = parsed.node.this.this, context.catalog_service
    ended, sources = gone
    for query_id in ended:
        service.terminate(query_id)
    sequence = service.next_command if sources else service.drop_blocked(name)
    for source in sources:
        delete = bool(parsed.node.args.get("delete_topic")) and not source.read_only
        sequence = service.drop(source, delete_topic=delete)
    message = f"Source `{name}` was dropped."
    if len(sources) > 1:
        message = f"Sources {', '.join(f'`{s.name}`' for s in sources)} were dropped."
    return entities.status(parsed.text, f"{parsed.node.args['kind'].lower()}/`{name}`/drop", message, sequence)


def _check_type(parsed: Parsed, sandbox: Sandbox) -> Nothing | None:
    """Raises AnalysisProblem ``unknown-type``."""
    name, types = parsed.node.this.this, sandbox.catalog.types
    if name not in types and ("type", name) not in sandbox.catalog.blocked:
        if parsed.node.args.get("exists"):
            return Nothing(f"there is no type {name}, nothing is done")
        message, similar = f"there is no type {name}", similar_names(name, sandbox.visible.types)
        hint = "SHOW TYPES lists what there is"
        Text(parsed.sql).refuse("unknown-type", message, parsed.node.this, hint=hint, similar=similar)
    sandbox.catalog = sandbox.catalog.without_type(name)
    return None


def _drop_type(parsed: Parsed, found: None, context: Context) -> Entity:
    name = parsed.node.this.this
    sequence = context.catalog_service.make_type(name, None)
    return entities.status(parsed.text, f"type/`{name}`/drop", f"Type '{name}' was dropped.", sequence)


STATEMENTS: Table = {
    nodes.DropSource: Statement[Gone]("DROP", _check, _drop, Effect.CATALOG, migrates=True, needs=_needs, first=_named),
    nodes.DropType: Statement[None](
        "DROP", _check_type, _drop_type, Effect.CATALOG, migrates=True, needs=free, first=_named
    ),
}
