"""What would change on a server so that it has what the files of a folder say.

Each definition is compared by its meaning: what it would make, and the plan of its query, against what the server has.
Whether a change keeps the state is asked of the engine's own rules of OR REPLACE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from ksqlpy.analysis import CreateAs, Declare, analyze_create, analyze_type
from ksqlpy.catalog import Source
from ksqlpy.errors import AnalysisProblem, KsqlError, Span
from ksqlpy.plan import Plan as QueryPlan
from ksqlpy.plan import plan_tree
from ksqlpy.project.faults import Fault, say_variables
from ksqlpy.project.files import File
from ksqlpy.project.mirror import Mirror, canonical, plain, replacing
from ksqlpy.project.offline import check_statement
from ksqlpy.project.state import State, quoted
from ksqlpy.project.statements import Refused, Statement, in_order, statements_of
from ksqlpy.runtime.context import Sandbox
from ksqlpy.runtime.statements.drop import cascade
from ksqlpy.sql import nodes, to_sql
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import Workers
from ksqlpy.udfs.statement import create_statement

__all__ = ["OTHERS", "Action", "Change", "Plan", "Step", "make_plan"]

OTHERS = frozenset({"KSQLPY_DEAD_LETTERS", "KSQL_PROCESSING_LOG", "MIGRATION_EVENTS", "MIGRATION_SCHEMA_VERSIONS"})
"""Sources that belong to the server or to migrations, never to a project."""

FAULTS = 1000
"""Faults at most: behind so many nothing more is looked at."""

_KEPT_OUT = ("not-replaceable", "not-upgradeable")
"""Codes of refusals that say: the state cannot be kept."""


class Action(Enum):
    """What becomes of an object; the value is its sign in the plan."""

    CREATE = "+"
    REPLACE = "~"
    REMAKE = "!"
    REMOVE = "-"
    KEEP = "="


@dataclass(frozen=True)
class Change:
    """An object and what becomes of it.

    ``kind``: ``stream``, ``table``, ``type``, ``function`` or ``query``; ``reason``: why, where it is not plain;
    ``before``, ``after``: its definition on the server and in the files; ``loses_state``: a query ends, with what it
    remembers and its place in what it reads.
    """

    action: Action
    kind: str
    name: str
    reason: str = ""
    before: str | None = None
    after: str | None = None
    loses_state: bool = False


@dataclass(frozen=True)
class Step:
    """A statement to run, with the properties of its session; ``line``: for people, on one line."""

    sql: str
    properties: Mapping[str, object] = field(default_factory=dict)
    line: str = ""

    def __str__(self) -> str:
        return self.line or self.sql


@dataclass
class Plan:
    """Changes in the order of the files' needs, and the steps that bring them about; faults keep it from being done.

    ``strangers``: what the server has and the files do not, which is left alone.
    """

    changes: list[Change] = field(default_factory=list)
    strangers: list[Change] = field(default_factory=list)
    drops: list[Step] = field(default_factory=list)
    makes: list[Step] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def steps(self) -> list[Step]:
        """What to run: first what goes, then what comes."""
        return [*self.drops, *self.makes]

    @property
    def destroys(self) -> list[Change]:
        """The changes that lose state."""
        return [c for c in self.changes if c.loses_state]


def make_plan(
    files: Sequence[File],
    state: State,
    variables: Mapping[str, str] | None = None,
    properties: Mapping[str, object] | None = None,
    *,
    prune: bool = False,
    python: Workers | None = None,
    may: Callable[[Statement], None] = lambda statement: None,
) -> Plan:
    """Compares the files with the state of a server.

    ``properties``: of the session in which statements run; ``prune``: what is not in the files goes. ``python``: what
    runs functions in Python to see whether they can be loaded, else workers of this process. ``may``: is shown each
    definition ahead of that, and raises the KsqlError that ends it all.
    """
    return _Planner(files, state, variables or {}, properties or {}, prune=prune, python=python, may=may).plan


class _Planner:
    def __init__(
        self,
        files: Sequence[File],
        state: State,
        variables: Mapping[str, str],
        properties: Mapping[str, object],
        *,
        prune: bool,
        python: Workers | None,
        may: Callable[[Statement], None],
    ) -> None:
        self.plan = Plan()
        self._state = state
        self._given = dict(properties)
        self._prune = prune
        self._may = may
        self._mirror = Mirror(state, python)
        self._sandbox = self._mirror.sandbox
        catalog = self._sandbox.catalog
        self._ending = {*catalog.queries, *(s.name for s in catalog.sources.values() if s.query in catalog.queries)}
        self._lost: dict[str, str] = {}  # what a cascade has ended, and because of what
        self._broken: set[str] = set()
        statements = self._read(files, variables)
        self._sources = {n for s in statements for n in s.makes if isinstance(s.parsed.node, nodes.CreateSource)}
        self._types = {s.parsed.node.this.this for s in statements if isinstance(s.parsed.node, nodes.CreateType)}
        self._functions = {n.removeprefix("function ") for s in statements for n in s.makes if " " in n}
        self._ids = {i for s in statements if (i := _query_id(s.parsed.node)) is not None}
        self._strangers()
        for statement in in_order(statements):
            if len(self.plan.faults) >= FAULTS:
                break
            if statement.uses & self._broken:
                self._broken |= statement.makes
                continue
            try:
                self._decide(statement)
            except KsqlError as e:
                self._refuse(statement, e)
        if self.plan.faults:
            order = {id(file): number for number, file in enumerate(files)}
            self.plan.faults.sort(key=lambda f: (order[id(f.file)], f.span.start))

    def _read(self, files: Sequence[File], variables: Mapping[str, str]) -> list[Statement]:
        found: list[Statement] = []
        for file in files:
            for part in statements_of(file, variables):
                if len(self.plan.faults) >= FAULTS:
                    return found
                if isinstance(part, Refused):
                    self.plan.faults.append(Fault(file, part.error))
                    self._broken |= part.makes
                elif part.of_session:
                    continue
                elif not part.defines:
                    words = " ".join(to_sql(part.parsed.node).split()[:2])
                    self._refuse(part, _not_declarative(words))
                elif isinstance(part.parsed.node, nodes.InsertSelect) and _query_id(part.parsed.node) is None:
                    self._refuse(part, _no_query_id())
                else:
                    self._may(part)
                    found.append(part)
        return found

    def _refuse(self, statement: Statement, error: KsqlError) -> None:
        error.sql = statement.file.sql
        error.span = error.span or Span(statement.parsed.start, statement.parsed.start + 1)
        self.plan.faults.append(Fault(statement.file, say_variables(error, statement.file, statement.variables)))
        self._broken |= statement.makes

    # ------------------------------------------------------------ what the files do not have

    def _strangers(self) -> None:
        found: list[Change] = []
        state = self._state
        for source in state.sources.values():
            if source.name not in self._sources | OTHERS:
                found.append(Change(Action.REMOVE, source.kind.lower(), source.name, before=source.statement))
        makers = {s.query for s in self._sandbox.catalog.sources.values()}
        for query in state.queries.values():
            if query.id not in self._ids | makers and query.sink not in OTHERS:
                found.append(Change(Action.REMOVE, "query", query.id, before=query.statement))
        found += [
            Change(Action.REMOVE, "type", n, before=str(t)) for n, t in state.types.items() if n not in self._types
        ]
        found += [
            Change(Action.REMOVE, "function", n, before=_text(f.definition))
            for n, f in state.functions.items()
            if n not in self._functions
        ]
        if not self._prune:
            self.plan.strangers = found
            return
        keeps = ("type", "function")
        self.plan.changes += [
            replace(c, reason="not in this project", loses_state=c.kind not in keeps and c.name in self._ending)
            for c in found
        ]
        for change in found:
            if change.kind == "type":
                self.plan.drops.append(Step(f"DROP TYPE {quoted(change.name)};"))
                self._sandbox.catalog = self._sandbox.catalog.without_type(change.name)
            elif change.kind == "function":
                self.plan.drops.append(Step(f"DROP FUNCTION {quoted(change.name)};"))
                self._sandbox.catalog = self._sandbox.catalog.without_function(change.name)
            elif change.kind == "query":
                self._end(change.name)
            elif change.name in self._sandbox.catalog.sources:
                self._drop(self._sandbox.catalog.sources[change.name])

    # ------------------------------------------------------------ what they have

    def _decide(self, statement: Statement) -> None:
        node = statement.parsed.node
        if isinstance(node, nodes.CreateSource):
            self._source(statement)
        elif isinstance(node, nodes.CreateType):
            self._type(statement)
        elif isinstance(node, nodes.CreateFunction):
            self._function(statement)
        elif isinstance(node, nodes.InsertSelect):
            self._insert(statement)
        else:
            check_statement(statement.parsed, self._sandbox, self._properties(statement))

    def _properties(self, statement: Statement) -> dict[str, object]:
        return {**self._given, **statement.properties}

    def _make(self, statement: Statement, action: Action, name: str, kind: str, reason: str = "") -> None:
        """Makes it in the sandbox too; raises KsqlError where it cannot be made."""
        parsed = plain(statement.parsed)
        own = statement.parsed.text  # what the server shows of it later
        if action is Action.REPLACE and kind in ("stream", "table", "function"):
            parsed.node.set("replace", True)
            own = replacing(own)
        check_statement(parsed, self._sandbox, self._properties(statement))
        after: str | None = to_sql(plain(statement.parsed).node)
        if kind == "function":
            after = _text(self._sandbox.catalog.functions[name])
        self.plan.makes.append(Step(own, self._properties(statement), f"{to_sql(parsed.node)};"))
        loses = action is Action.REMAKE and name in self._ending
        self.plan.changes.append(Change(action, kind, name, reason, self._before(kind, name), after, loses))

    def _before(self, kind: str, name: str) -> str | None:
        if kind == "type":
            return str(self._state.types[name]) if name in self._state.types else None
        if kind == "query":
            return self._state.queries[name].statement if name in self._state.queries else None
        if kind == "function":
            return _text(self._state.functions[name].definition) if name in self._state.functions else None
        return self._state.sources[name].statement if name in self._state.sources else None

    def _type(self, statement: Statement) -> None:
        name = statement.parsed.node.this.this
        made = analyze_type(statement.parsed, self._sandbox.catalog)
        old = self._sandbox.catalog.types.get(name)
        if old == made:
            self.plan.changes.append(Change(Action.KEEP, "type", name))
            return
        reason = ""
        if old is not None:
            self.plan.makes.append(Step(f"DROP TYPE {quoted(name)};"))
            self._sandbox.catalog = self._sandbox.catalog.without_type(name)
            reason = "sources that were made with it keep what it stood for"
        self._make(statement, Action.CREATE if old is None else Action.REPLACE, name, "type", reason)

    def _function(self, statement: Statement) -> None:
        """Queries that call one which is replaced go on with it; the server refuses what they cannot go on with."""
        name = statement.parsed.node.this.this.upper()
        trial = Sandbox(self._sandbox.engine, self._sandbox.catalog.without_function(name), {}, plans={})
        check_statement(plain(statement.parsed), trial, self._properties(statement))
        made, old = trial.catalog.functions[name], self._state.functions.get(name)
        if old is not None and old.is_as(made):
            self.plan.changes.append(Change(Action.KEEP, "function", made.name))
        else:
            self._make(statement, Action.CREATE if old is None else Action.REPLACE, made.name, "function")

    def _insert(self, statement: Statement) -> None:
        node, catalog = statement.parsed.node, self._sandbox.catalog
        query_id = _query_id(node)
        assert query_id is not None
        reason = f"reads or writes {self._lost[query_id]}, which is recreated" if query_id in self._lost else ""
        existing = catalog.queries.get(query_id)
        if existing is None:
            action = Action.REMAKE if query_id in self._lost else Action.CREATE
            self._make(statement, action, query_id, "query", reason)
            return
        trial = Sandbox(self._sandbox.engine, catalog.without_query(query_id), {}, plans={})
        check_statement(statement.parsed, trial, self._properties(statement))
        old = self._sandbox.plans.get(query_id)
        same = canonical(existing.statement) == to_sql(node)
        if old is not None:
            same = existing.sink == node.this.this and _meaning(old) == _meaning(trial.plans[query_id])
        if same:
            self.plan.changes.append(Change(Action.KEEP, "query", query_id))
            return
        self._end(query_id)
        self._make(statement, Action.REMAKE, query_id, "query", "an INSERT INTO … SELECT cannot be replaced")

    def _source(self, statement: Statement) -> None:
        parsed, sandbox = plain(statement.parsed), self._sandbox
        name, kind = parsed.node.this.this, parsed.node.args["kind"].lower()
        existing = sandbox.catalog.sources.get(name)
        if existing is None:
            if name in self._lost:
                self._make(statement, Action.REMAKE, name, kind, f"reads {self._lost[name]}, which is recreated")
            else:
                self._make(statement, Action.CREATE, name, kind)
            return
        sandbox.overrides = self._properties(statement)
        made = analyze_create(parsed, sandbox.catalog, sandbox.config)
        if self._same(existing, made, statement):
            self.plan.changes.append(Change(Action.KEEP, kind, name))
            return
        reason = self._kept_out(existing, made, statement)
        if reason is None:
            running = not isinstance(made, CreateAs) or existing.query in sandbox.catalog.queries
            self._make(
                statement, Action.REPLACE, name, kind, "" if running else "its query was terminated, it starts over"
            )
            return
        self._drop(existing)
        self._make(statement, Action.REMAKE, name, kind, reason)

    def _same(self, existing: Source, made: Declare | CreateAs, statement: Statement) -> bool:
        """Whether the server has just this already."""
        exact = self._mirror.exact.get(existing.name)
        new = replace(made.source, statement="", query=None)
        if exact is None:
            # What DESCRIBE does not tell is taken to be as wanted.
            told = ("name", "kind", "topic", "columns", "timestamp")
            if any(getattr(existing, key) != getattr(new, key) for key in told):
                return False
            if (existing.key.format, existing.value.format) != (new.key.format, new.value.format):
                return False
            kinds = [w.kind if w is not None else None for w in (existing.window, new.window)]
            if kinds[0] != kinds[1]:
                return False
            text = to_sql(plain(statement.parsed).node)
            return isinstance(made, Declare) or canonical(existing.statement) == text
        old = replace(exact.source, statement="", query=None)
        if (old, exact.topic, type(exact)) != (new, made.topic, type(made)):
            return False
        if isinstance(made, Declare):
            return True
        plan = self._sandbox.plans.get(existing.query or "")
        if plan is None or existing.query not in self._sandbox.catalog.queries:
            return False
        trial = Sandbox(self._sandbox.engine, self._sandbox.catalog.without_source(existing.name), {}, plans={})
        check_statement(plain(statement.parsed), trial, self._properties(statement))
        [new_plan] = trial.plans.values()
        return _meaning(plan) == _meaning(new_plan)

    def _kept_out(self, existing: Source, made: Declare | CreateAs, statement: Statement) -> str | None:
        """Why OR REPLACE cannot take the state over; None if it can. Raises KsqlError for any other refusal."""
        sandbox = self._sandbox
        if existing.query in sandbox.catalog.queries and existing.query not in sandbox.plans:
            return "its query cannot be compared here"
        parsed = plain(statement.parsed)
        if parsed.node.args.get("source") or existing.read_only:
            return "CREATE SOURCE cannot be replaced"
        parsed.node.set("replace", True)
        trial = Sandbox(sandbox.engine, sandbox.catalog, {}, plans=dict(sandbox.plans))
        try:
            check_statement(parsed, trial, self._properties(statement))
        except KsqlError as e:
            if e.code in _KEPT_OUT:
                return e.message.removeprefix(f"{existing.name} cannot be replaced: ")
            raise
        return None

    # ------------------------------------------------------------ what goes

    def _drop(self, source: Source) -> None:
        """Drops a source with all that reads it; raises AnalysisProblem ``in-use`` for what is not of the project."""
        ended, sources = cascade(source, self._sandbox.catalog)
        foreign = [q for q in ended if q not in self._ids]
        foreign += [s.name for s in sources if s.name not in self._sources]
        if foreign and not self._prune:
            raise AnalysisProblem(
                "in-use",
                f"{source.name} would be recreated, and {', '.join(foreign)}, not of this project, uses it",
                hint="take it into the project, or --prune removes it",
            )
        for query_id in ended:
            self._lost[query_id] = source.name
            self._end(query_id)
        catalog = self._sandbox.catalog
        for gone in sources:
            if gone.name != source.name:
                self._lost[gone.name] = source.name
            self.plan.drops.append(Step(f"DROP {gone.kind} {quoted(gone.name)};"))
            catalog = catalog.without_source(gone.name)
            if gone.query is not None:
                catalog = catalog.without_query(gone.query)
        self._sandbox.catalog = catalog

    def _end(self, query_id: str) -> None:
        if query_id in self._sandbox.catalog.queries:
            self.plan.drops.append(Step(f"TERMINATE {quoted(query_id)};"))
            self._sandbox.catalog = self._sandbox.catalog.without_query(query_id)


def _meaning(plan: QueryPlan) -> str:
    """A plan without the aliases of its sources."""
    return re.sub(r"(?m)^( *Scan \S+ \S+) AS \S+ \[", r"\1 [", plan_tree(plan))


def _text(definition: Definition) -> str | None:
    """The statement of a function; None where the server does not show its source, or it cannot be written so."""
    try:
        return create_statement(definition) if definition.callable else None
    except ValueError:
        return None


def _query_id(node: object) -> str | None:
    """The QUERY_ID of an INSERT INTO … SELECT."""
    if not isinstance(node, nodes.InsertSelect):
        return None
    written = node.args.get("properties") or []
    return next((str(p.args["value"].name).upper() for p in written if p.this.name.upper() == "QUERY_ID"), None)


def _not_declarative(words: str) -> KsqlError:
    return AnalysisProblem(
        "not-declarative",
        f"{words} is no definition: the files of a project say what there shall be",
        hint="what is done once belongs into a migration (ksqlpy migrate) or a script (ksqlpy run)",
    )


def _no_query_id() -> KsqlError:
    return AnalysisProblem(
        "no-query-id",
        "INSERT INTO … SELECT needs a name in a project, by which it is found again",
        hint="INSERT INTO s WITH (QUERY_ID = 'name') SELECT …",
    )
