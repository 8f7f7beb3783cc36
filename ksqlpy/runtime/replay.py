"""Reading the command log again: the catalog, plans and queries that it tells of. Touches no topic, starts nothing.

An entry holds what was resolved when it was made: schemas, formats, properties and the plan. So nothing is parsed or
analysed again, and no later property of the server changes what a query means. Entries of versions that did not keep
the plan are planned from their statements, as these versions did.

An entry that is odd (garbled, of a later version, with a statement that is legal no more) is left out, with its offset
and reason. The names that it holds are blocked: nothing that is made of them starts, and no statement takes them until
a DROP or TERMINATE of the user, a later entry, says that they are free. All else is as the log says.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ksqlpy.analysis import Declare, analyze_create, analyze_insert_select
from ksqlpy.catalog import Catalog, PersistentQuery, Source, type_from_json
from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.formats import FORMATS
from ksqlpy.plan import Plan, build_plan
from ksqlpy.plan.stored import Kept
from ksqlpy.plan.stored.source import StoredSource
from ksqlpy.runtime.commandlog import FORMAT_VERSION, Entry, grant_from_json, query_from_json, source_from_json
from ksqlpy.runtime.functionuse import going_on_with
from ksqlpy.runtime.shapes import checked, named
from ksqlpy.sql import nodes, parse
from ksqlpy.udfs.definition import Definition

__all__ = ["Replay", "replayed"]

log = logging.getLogger(__name__)


@dataclass
class Replay:
    """What the log tells: ``plans`` by query, ``ended`` queries, and what is wrong with the entries ``left_out``."""

    config: Config
    catalog: Catalog = field(default_factory=Catalog)
    plans: dict[str, Kept] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)

    def take(self, entry: Entry) -> None:
        """Applies one entry, or leaves it out."""
        data: Any = None
        try:
            data = _data(entry)
            self._apply(data)
        except _OfNothing as e:
            self._leave_out(entry, str(e))
        except _OfQuery as e:
            self._block_query(data, self._leave_out(entry, _reason(e.args[0])))
        except (ValueError, KsqlError) as e:
            self._block(data, self._leave_out(entry, _reason(e)))

    def end(self) -> None:
        """To be called behind the last entry: a query whose sink is not known cannot run."""
        for query in self.catalog.queries.values():
            if query.sink not in self.catalog.sources:
                why = self.catalog.blocked.get(("source", query.sink), f"there is no stream or table {query.sink}")
                self.plans.pop(query.id, None)
                self.catalog = self.catalog.with_blocked("query", query.id, why)

    # ------------------------------------------------------------ what entries do

    def _apply(self, data: Mapping[str, Any]) -> None:
        if data.get("version") != FORMAT_VERSION:
            raise ValueError(f"it is of format {data.get('version')}, this version of ksqlpy knows {FORMAT_VERSION}")
        op = data.get("op")
        if op == "create":
            self._create(data)
        elif op == "insert":
            query = _query(data.get("query"))
            self._run(query, self._kept(data, query, None))
        elif op == "type":
            try:
                made = type_from_json(data.get("type"))
            except (TypeError, ValueError) as e:
                raise ValueError("its type cannot be read") from e
            self.catalog = self.catalog.with_type(_text(data, "name"), made)
        elif op == "drop-type":
            self.catalog = self.catalog.without_type(_text(data, "name"))
        elif op == "function":
            self._function(data)
        elif op == "drop-function":
            self.catalog = self.catalog.without_function(_text(data, "function"))
        elif op in ("role", "drop-role", "grant", "revoke"):
            self._grant(op, data)
        elif op == "drop":
            name = _text(data, "source")
            ended = _text(data, "query") if data.get("query") is not None else None
            self.catalog = self.catalog.without_source(name)
            if ended is not None:
                self._end(ended)
        elif op == "terminate":
            self._end(_text(data, "query"))
        elif op in ("pause", "resume", "skip", "rewind"):
            query_id = _text(data, "query")
            if query_id in self.catalog.queries:
                query = self.catalog.queries[query_id]
                if op == "skip":
                    query = replace(query, skipped=(*query.skipped, _place(data)))
                elif op == "rewind":
                    query = _rewound(query, data)
                else:
                    query = replace(query, paused=op == "pause")
                self.catalog = self.catalog.with_query(query)
            elif query_id not in self.ended:
                raise _OfNothing(f"there is no query {query_id}")
        else:
            what = f"the op {op!r} that this version does not know" if "op" in data else "no op"
            raise ValueError(f"it has {what}")

    def _function(self, data: Mapping[str, Any]) -> None:
        """Makes or replaces a function; queries that called it go on with the new one."""
        if not isinstance(data.get("definition"), dict):
            raise ValueError("it has no definition")
        try:
            definition = Definition.from_json(data["definition"])
        except ValueError as e:
            raise ValueError("its definition cannot be read") from e
        self.catalog = self.catalog.with_function(definition)
        for query_id in data.get("queries") or ():
            query, kept = self.catalog.queries.get(query_id), self.plans.get(query_id)
            if query is not None and kept is not None:  # else its own entry is odd
                query, self.plans[query_id] = going_on_with(definition, query, kept)
                self.catalog = self.catalog.with_query(query)

    def _grant(self, op: str, data: Mapping[str, Any]) -> None:
        role, grants = _text(data, "role"), self.catalog.grants
        if op == "role":
            grants = grants.with_role(role)
        elif op == "drop-role":
            grants = grants.without_role(role)
        elif role not in grants.roles:
            raise _OfNothing(f"there is no role {role}")
        else:
            rights, on = grant_from_json(data)
            grants = (grants.granted if op == "grant" else grants.revoked)(role, rights, on)
        self.catalog = replace(self.catalog, grants=grants)

    def _create(self, data: Mapping[str, Any]) -> None:
        source = _source(data.get("source"))
        try:
            if data.get("query") is not None:
                query = _query(data["query"])
                if query.sink != source.name:
                    raise ValueError(f"its query does not write {source.name}")
                self._run(query, self._kept(data, query, source))
        except (ValueError, KsqlError) as e:  # those that read the source need not know who writes it
            raise _OfQuery(e) from e
        finally:
            self.catalog = self.catalog.with_source(source)

    def _run(self, query: PersistentQuery, kept: Kept) -> None:
        self.plans[query.id] = kept
        self.ended.discard(query.id)
        self.catalog = self.catalog.with_query(query).unblocked("query", query.id)

    def _kept(self, data: Mapping[str, Any], query: PersistentQuery, source: Source | None) -> Kept:
        if "plan" not in data:
            return Kept.unstored(self._planned(query, source))
        self.config.for_statement(query.properties)  # they say how it runs
        for name in query.sources if source is not None else (*query.sources, query.sink):
            blocked = self.catalog.blocked.get(("source", name))
            if blocked is not None:
                raise ValueError(f"{name} cannot be used: {blocked}")
            if name not in self.catalog.sources:
                raise ValueError(f"there is no stream or table {name}")
        try:
            return Kept.of(data["plan"])
        except ValueError as e:
            raise ValueError(f"its plan cannot be read: {e}") from e

    def _planned(self, query: PersistentQuery, source: Source | None) -> Plan:
        config = self.config.for_statement(query.properties)
        statements = parse(query.statement)
        if len(statements) != 1:
            raise ValueError("its query is not of one statement")
        [parsed] = statements
        wanted = nodes.InsertSelect if source is None else nodes.CreateSource
        if not isinstance(parsed.node, wanted):
            raise ValueError("its query has a statement of another kind")
        try:
            if source is None:
                made_into = analyze_insert_select(parsed, self.catalog, config)
                columns, typed = made_into.source.columns, made_into.query
                source = self.catalog.sources[query.sink]
            else:
                made = analyze_create(parsed, self.catalog, config)
                if isinstance(made, Declare):
                    raise ValueError("its query has a statement without a query")
                columns, typed = made.source.columns, made.query
            if columns != source.columns:
                raise ValueError(f"{source.name} would now have other columns")
            return replace(build_plan(typed), by_bits=False)  # as it was when entries had no plans
        except (KsqlError, ValueError):
            raise
        except Exception as e:  # whatever a garbled statement leads to
            log.debug("query %s is not planned", query.id, exc_info=True)
            raise ValueError(f"its statement cannot be planned ({type(e).__name__})") from e

    def _end(self, query_id: str) -> None:
        self.catalog = self.catalog.without_query(query_id)
        self.plans.pop(query_id, None)
        self.ended.add(query_id)

    # ------------------------------------------------------------ what cannot be used

    def _leave_out(self, entry: Entry, reason: str) -> str:
        which = f"entries up to {entry.offset}" if entry.deleted else f"entry {entry.offset}"
        verb = "are" if entry.deleted else "is"
        text = f"{which} of the command log {verb} left out: {reason}"
        self.left_out.append(text)
        return text

    def _block(self, data: Any, reason: str) -> None:
        """Blocks the names that an entry holds; a role loses its rights, of which some may have been revoked by it."""
        if not isinstance(data, dict):
            return
        role, grants = data.get("role"), self.catalog.grants
        if isinstance(role, str) and role in grants.roles:
            self.catalog = replace(self.catalog, grants=grants.without_role(role).with_role(role))
        name = _name(data.get("source"), "name")
        if name is not None:
            self.catalog = self.catalog.with_blocked("source", name, reason)
        function = _name(data.get("definition"), "name") or _name(data.get("function"), "name")
        if function is not None:
            self.catalog = self.catalog.with_blocked("function", function, reason)
            for query_id in data.get("queries") or ():  # they went on with what is not known here
                if query_id in self.catalog.queries:
                    self.plans.pop(query_id, None)
                    self.catalog = self.catalog.with_blocked("query", query_id, reason)
        if isinstance(data.get("name"), str):
            self.catalog = self.catalog.with_blocked("type", data["name"], reason)
        self._block_query(data, reason)

    def _block_query(self, data: Mapping[str, Any], reason: str) -> None:
        query_id = _name(data.get("query"), "id")
        if query_id is None:
            return
        try:
            query = _query(data["query"])
        except ValueError:
            sink = _name(data["query"], "sink") or _name(data.get("source"), "name") or ""
            query = self.catalog.queries.get(query_id) or PersistentQuery(query_id, "", sink, ())
        self.plans.pop(query_id, None)
        self.ended.discard(query_id)
        self.catalog = self.catalog.with_query(query).with_blocked("query", query_id, reason)


class _OfNothing(Exception):
    """An entry asks for what cannot be done, and nothing depends on it."""


class _OfQuery(Exception):
    """An entry is odd only in its query; holds why."""


def replayed(entries: Iterable[Entry], config: Config) -> Replay:
    """What the entries tell, oldest first. What is wrong with some of them is in the result, and in the log."""
    replay = Replay(config)
    for entry in entries:
        replay.take(entry)
    replay.end()
    for text in replay.left_out:
        log.error("%s", text)
    return replay


def _reason(error: Exception) -> str:
    return error.summary() if isinstance(error, KsqlError) else str(error)


def _data(entry: Entry) -> dict[str, Any]:
    if entry.deleted:
        raise ValueError("they were deleted, with the definitions in them")
    if entry.value is None:
        raise ValueError("it has no value")
    try:
        data = json.loads(entry.value)
    except (ValueError, RecursionError) as e:
        raise ValueError("it is not JSON") from e
    if not isinstance(data, dict):
        raise ValueError("it is no JSON object")
    return data


def _source(data: object) -> Source:
    source = _made(StoredSource, "Source", source_from_json, data).source()
    for part in (source.key, source.value):
        if part.format not in FORMATS:
            raise ValueError(f"its source has the format {part.format}, which is not known here")
    return source


def _query(data: object) -> PersistentQuery:
    query = _made(PersistentQuery, "PersistentQuery", query_from_json, data)
    if not query.id or not isinstance(data, dict) or not isinstance(data["sources"], list):
        raise ValueError("its query has no id or no list of sources")
    return query


T = TypeVar("T", StoredSource, PersistentQuery)


def _made(kind: type[T], called: str, read: Callable[[Mapping[str, Any]], T], data: object) -> T:
    fields = named(data, kind, called)
    try:
        made = read(fields)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as e:
        raise ValueError(f"its {called} cannot be read") from e
    checked(made, called)
    return made


def _rewound(query: PersistentQuery, data: Mapping[str, Any]) -> PersistentQuery:
    offsets = data.get("offsets")
    if not isinstance(offsets, dict) or offsets.keys() != query.offsets.keys():
        raise ValueError("it has no offsets of the topics that its query reads")
    made = query.rewound_to(offsets)
    checked(made, "query")
    return made


def _place(data: Mapping[str, Any]) -> tuple[str, int, int]:
    """The record that a query leaves out."""
    partition, offset = data.get("partition"), data.get("offset")
    if (
        not isinstance(partition, int)
        or not isinstance(offset, int)
        or not (0 <= partition < 2**31 and 0 <= offset < 2**63)
    ):
        raise ValueError("it names no record")
    return _text(data, "topic"), partition, offset


def _text(data: Mapping[str, Any], name: str) -> str:
    found = data.get(name)
    if not isinstance(found, str):
        raise ValueError(f"its {name} is not a string" if name in data else f"it has no {name}")
    return found


def _name(data: object, of_object: str) -> str | None:
    """A name that stands by itself, or in an object."""
    found = data.get(of_object) if isinstance(data, dict) else data
    return found if isinstance(found, str) and found else None
