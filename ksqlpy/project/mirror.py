"""A server's state as a catalog with plans, so that the engine's own rules can judge what may be done with it.

The server's statements are checked again, in the order in which they need each other. One that says nothing here, such
as an ALTER or what only ksqlDB knows, becomes a source as DESCRIBE tells of it: ``exact`` has the names of the others.
"""

from __future__ import annotations

from dataclasses import replace

from ksqlpy.analysis import CreateAs, Declare, analyze_create
from ksqlpy.catalog import PersistentQuery, Source, ValueSpec, WindowKey
from ksqlpy.errors import KsqlError
from ksqlpy.formats import key_spec
from ksqlpy.project.files import File
from ksqlpy.project.offline import AssumedTopics, Offline, check_statement
from ksqlpy.project.state import ServerSource, State
from ksqlpy.project.statements import Refused, Statement, in_order, statements_of
from ksqlpy.runtime.context import Sandbox
from ksqlpy.sql import Parsed, nodes, parse, to_sql
from ksqlpy.sql.tokens import tokenize
from ksqlpy.udfs.pool import Workers

__all__ = ["Mirror", "canonical", "plain", "replacing"]


def plain(parsed: Parsed) -> Parsed:
    """A definition without IF NOT EXISTS and OR REPLACE: what it defines."""
    node = parsed.node.copy()
    for flag in ("exists", "replace"):
        if node.args.get(flag):
            node.set(flag, False)
    return replace(parsed, node=node)


def replacing(text: str) -> str:
    """A CREATE as its user wrote it, with OR REPLACE and without IF NOT EXISTS.

    >>> replacing("create stream if not exists s  as select * from r;")
    'create OR REPLACE stream s  as select * from r;'
    """
    tokens = tokenize(text)
    words = [token.text.upper() for token in tokens[:8]]
    for at in range(len(words) - 3):
        if words[at : at + 3] == ["IF", "NOT", "EXISTS"]:
            text = text[: tokens[at].start] + text[tokens[at + 3].start :]
            break
    if words[1:3] == ["OR", "REPLACE"]:
        return text
    behind = tokens[0].end + 1
    return f"{text[:behind]} OR REPLACE{text[behind:]}"


def canonical(statement: str) -> str:
    """The canonical text of a definition, with or without its semicolon; as it is if it cannot be read here."""
    try:
        [parsed] = parse(_ended(statement))
    except (KsqlError, ValueError):
        return statement
    return to_sql(plain(parsed).node)


class Mirror:
    """``sandbox``: the catalog and the plans; ``exact``: what its sources were made as, by name."""

    def __init__(self, state: State, python: Workers | None = None) -> None:
        """``python``: what runs functions in Python, else workers of its own."""
        self.state = state
        offline = Offline(state.config, python)
        self.sandbox: Sandbox = offline.sandbox()
        self.exact: dict[str, Declare | CreateAs] = {}
        catalog = self.sandbox.catalog
        for name, type_ in state.types.items():
            catalog = catalog.with_type(name, type_)
        for function in state.functions.values():
            catalog = catalog.with_function(function.definition)
        self.sandbox.catalog = catalog
        known = {n: s for n, source in state.sources.items() if (s := _definition(source)) is not None}
        for name, source in state.sources.items():
            if name not in known:
                self._take(source)
        for statement in in_order(list(known.values())):
            self._replay(state.sources[next(iter(statement.makes))], statement)
        self._queries()
        # What is checked from here on meets the topics as they are, not as they once were wanted.
        offline.topics = AssumedTopics(state.topics)

    def _replay(self, source: ServerSource, statement: Statement) -> None:
        sandbox, parsed = self.sandbox, plain(statement.parsed)
        before = sandbox.catalog
        try:
            made = analyze_create(parsed, sandbox.catalog, sandbox.config)
            check_statement(parsed, sandbox, {})
        except KsqlError:
            sandbox.catalog = before
            self._take(source)
            return
        # What a query selects with * may have grown since, and properties of then may have named topic and formats.
        told = replace(
            made.source,
            columns=source.columns,
            topic=source.topic,
            key=replace(made.source.key, format=source.key_format),
            value=replace(made.source.value, format=source.value_format),
        )
        made = replace(made, source=told, topic=replace(made.topic, name=source.topic))
        self.exact[source.name] = made
        pending = sandbox.catalog.sources[source.name].query
        query_id = self._maker(source)
        if pending is not None:
            sandbox.catalog = sandbox.catalog.without_query(pending)
            plan = sandbox.plans.pop(pending)
            if query_id is not None:
                sandbox.plans[query_id] = plan
        sandbox.catalog = sandbox.catalog.with_source(replace(made.source, query=query_id or pending))

    def _take(self, source: ServerSource) -> None:
        window = WindowKey(source.window, None) if source.window is not None else None
        self.sandbox.catalog = self.sandbox.catalog.with_source(
            Source(
                source.name,
                "TABLE" if source.kind == "TABLE" else "STREAM",
                source.topic,
                source.columns,
                key_spec(source.key_format),
                ValueSpec(source.value_format),
                source.statement,
                timestamp=source.timestamp,
                window=window,
                query=self._maker(source),
            )
        )

    def _maker(self, source: ServerSource) -> str | None:
        """The id of the running query of CREATE … AS SELECT."""
        for query_id in source.writers:
            query = self.state.queries.get(query_id)
            if query is not None and query.statement.lstrip()[:6].upper() == "CREATE":
                return query_id
        return None

    def _queries(self) -> None:
        sandbox, state = self.sandbox, self.state
        for query in state.queries.values():
            sources = tuple(s.name for s in state.sources.values() if query.id in s.readers)
            made = PersistentQuery(query.id, query.statement, query.sink, sources)
            sandbox.catalog = sandbox.catalog.with_query(made)
        for query in state.queries.values():
            if query.id in sandbox.plans:
                continue
            for part in statements_of(File(query.id, _ended(query.statement)), {}):
                if isinstance(part, Statement) and isinstance(part.parsed.node, nodes.InsertSelect):
                    self._plan_insert(query.id, part)

    def _plan_insert(self, query_id: str, statement: Statement) -> None:
        """Plans an INSERT INTO … SELECT beside the catalog, and keeps its plan under its id."""
        node = statement.parsed.node.copy()
        node.set("properties", None)
        trial = Sandbox(self.sandbox.engine, self.sandbox.catalog, {})
        try:
            check_statement(replace(statement.parsed, node=node), trial, {})
        except KsqlError:
            return
        [plan] = trial.plans.values()
        self.sandbox.plans[query_id] = plan


def _definition(source: ServerSource) -> Statement | None:
    """The statement that made a source; None where its text is another one, or cannot be read here."""
    for part in statements_of(File(source.name, _ended(source.statement)), {}):
        if isinstance(part, Refused):
            return None
        if isinstance(part.parsed.node, nodes.CreateSource) and part.makes == {source.name}:
            return part
    return None


def _ended(statement: str) -> str:
    return statement if statement.rstrip().endswith(";") else f"{statement};"
