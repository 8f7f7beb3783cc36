"""The catalog and the command log: decides what exists.

A change is done in the order topic, command log, catalog, query, so that what is logged can run. Changes come one after
the other (:class:`CatalogLock`); nothing else waits for them: who reads takes the catalog as it is, an immutable value.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ksqlpy.access import Grants, On, Principal, Right
from ksqlpy.analysis import CreateAs, Declare, InsertInto
from ksqlpy.analysis.windows import LATE_TOPIC
from ksqlpy.catalog import Catalog, Owner, PersistentQuery, Source, type_to_json
from ksqlpy.config import Config
from ksqlpy.errors import EngineProblem
from ksqlpy.formats import declared, registered, writable
from ksqlpy.logs import KEPT
from ksqlpy.plan import Plan, going_on, stored
from ksqlpy.plan.stored import Kept
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.commandlog import Entry, grant_to_json, query_to_json, source_to_json
from ksqlpy.runtime.functionuse import going_on_with
from ksqlpy.runtime.position import Offsets
from ksqlpy.runtime.query_specs import Planned
from ksqlpy.runtime.replay import replayed
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.spark.spec import fingerprint_of
from ksqlpy.types import SqlType
from ksqlpy.udfs.definition import Definition

__all__ = ["CatalogLock", "CatalogService", "first_offsets"]


class CatalogLock:
    """Held by who changes the catalog, one at a time; the same thread may take it again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        self._lock.release()

    @contextlib.contextmanager
    def given_up(self) -> Iterator[None]:
        """Lets others in while a statement of a request that has the lock waits for something outside."""
        depth = self._depth if self._owned() else 0
        for _ in range(depth):
            self.__exit__()
        try:
            yield
        finally:
            for _ in range(depth):
                self.__enter__()

    def _owned(self) -> bool:
        """Whether this thread has the lock."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self._depth > 0
        finally:
            self._lock.release()


class CatalogService:
    """What exists, and the only way in which it changes.

    ``catalog``: as it is now; ``left_out``: what is wrong with entries of the command log.
    """

    def __init__(self, brokers: Brokers, supervisor: Supervisor) -> None:
        self.catalog = Catalog()
        self.lock = CatalogLock()
        self.left_out: tuple[str, ...] = ()
        self._brokers = brokers
        self._supervisor = supervisor
        self._plans: dict[str, Kept] = {}
        self._foreseen: tuple[int, list[Planned]] = (-1, [])

    # ------------------------------------------------------------ start

    def replay(self, seen: Callable[[Sequence[Entry]], None] = lambda entries: None) -> set[str]:
        """Takes the catalog and the plans from the command log; gives the ids of the queries that have ended.

        ``seen``: gets the entries, too.
        """
        entries = self._brokers.log.read()
        found = replayed(entries, self._brokers.config)
        seen(entries)
        self.catalog, self._plans, self.left_out = found.catalog, found.plans, tuple(found.left_out)
        return found.ended

    def foreseen(self) -> list[Planned]:
        """What :meth:`run_all` would start, by the command log as it is now; a standby asks, and changes nothing.

        The same list as long as the log has no other entries.
        """
        log = self._brokers.log
        if (end := log.end) != self._foreseen[0]:
            found = replayed(log.read(), self._brokers.config)
            queries = [q for q in found.catalog.queries.values() if not q.paused and q.id in found.plans]
            self._foreseen = end, [(q, found.plans[q.id], found.catalog.sources[q.sink]) for q in queries]
        return self._foreseen[1]

    def run_all(self) -> None:
        """Starts all persistent queries that do not run and are not paused."""
        for query in self.catalog.queries.values():
            running = self._supervisor.queries.get(query.id) is not None
            if not running and not query.paused and self._problem(query.id) is None:
                self._run(query.id)

    def query_ids(self) -> set[str]:
        """The ids of all persistent queries that have not ended, those too whose entry of the command log is odd."""
        return {*self.catalog.queries, *(name for kind, name in self.catalog.blocked if kind == "query")}

    # ------------------------------------------------------------ sources and their queries

    def declare(self, made: Declare) -> int:
        """Makes a checked source without a query; returns the command's number."""
        log = self._brokers.log
        with self.lock:
            entry = {"op": "create", "source": source_to_json(made.source), "query": None}
            log.check_size(entry)
            self._brokers.topics.ensure_declared(made)
            source = declared(made.source, self._brokers.registry)
            return self._log({**entry, "source": source_to_json(source)}, self.catalog.with_source(source))

    def _log(self, entry: Mapping[str, Any], catalog: Catalog) -> int:
        """Logs what makes this the catalog; returns the command's number."""
        sequence = self._brokers.log.append(entry)
        self.catalog = catalog
        return sequence

    def create(
        self, made: CreateAs, plan: Plan, properties: Mapping[str, object], principal: Principal | None = None
    ) -> tuple[int, str]:
        """Makes a checked source and its query; returns the command's number and the id of the query."""
        log, topics = self._brokers.log, self._brokers.topics
        with self.lock:
            prefix = "CTAS" if made.source.kind == "TABLE" else "CSAS"
            query_id = made.query_id or f"{prefix}_{made.source.name.upper()}_{log.next_offset}"
            query, partitions = self._persistent(query_id, made.source, made.source.statement, plan, properties)
            query = replace(query, owner=Owner.of(principal))
            source = replace(made.source, query=query.id)
            entry = {"op": "create", "source": source_to_json(source), **_planned(query, plan)}
            log.check_size(entry)
            topics.ensure_sink(made, partitions)
            source = registered(source, self._brokers.registry)
            entry["source"] = source_to_json(source)
            topics.ensure_late(plan.late_topic)
            return self._begin(entry, self.catalog.with_source(source), query), query.id

    def insert_into(
        self, made: InsertInto, plan: Plan, properties: Mapping[str, object], principal: Principal | None = None
    ) -> tuple[int, str]:
        """Makes a checked query that writes an existing stream; returns the command's number and the query's id."""
        with self.lock:
            self.written(made.source)
            query_id = made.query_id or f"INSERTQUERY_{self._brokers.log.next_offset}"
            query, _ = self._persistent(query_id, made.source, made.statement, plan, properties)
            query = replace(query, owner=Owner.of(principal))
            entry = {"op": "insert", **_planned(query, plan)}
            self._brokers.log.check_size(entry)
            return self._begin(entry, self.catalog, query), query.id

    def _begin(self, entry: Mapping[str, Any], catalog: Catalog, query: PersistentQuery) -> int:
        """Logs and starts a new query; returns the command's number."""
        KEPT.forget(query.id)  # an id may be given again
        self._supervisor.queries.checkpoints.reserve(query.id, query.checkpoint_mark)
        sequence = self._brokers.log.append(entry)
        self._plans[query.id] = Kept.of(entry["plan"])
        self.catalog = catalog.with_query(query)
        self._run(query.id)
        return sequence

    def upgrade(self, made: CreateAs, plan: Plan, query: PersistentQuery, *, anew: bool) -> int:
        """Lets a query go on with another statement, from where it is; returns the command's number.

        The new plan is known to fit, with the state or, ``anew``, without it (:func:`ksqlpy.plan.upgrade`).
        """
        with self.lock:
            old = self._plans[query.id]
            plan = going_on(old.plan, plan, anew=anew)
            new = Kept.of(stored.write(plan))
            earlier = dict.fromkeys((*query.upgraded_from, fingerprint_of(old)))
            earlier.pop(fingerprint_of(new), None)
            era = query.state_era + anew
            query = replace(query, statement=made.source.statement, upgraded_from=tuple(earlier), state_era=era)
            source = registered(replace(made.source, query=query.id), self._brokers.registry)
            sequence = self._brokers.log.append(
                {"op": "create", "source": source_to_json(source), **_planned(query, plan)}
            )
            self._plans[query.id] = new
            self.catalog = self.catalog.with_source(source).with_query(query)
            if not query.paused:
                self._run(query.id)
            return sequence

    def alter(self, source: Source) -> int:
        """Gives a source another definition, which fits its records and readers; returns the command's number."""
        with self.lock:
            source = declared(source, self._brokers.registry)
            entry = {"op": "create", "source": source_to_json(source), "query": None}
            return self._log(entry, self.catalog.with_source(source))

    def written(self, source: Source) -> Source:
        """The source as it is when something is to be written into it: its formats know the schemas of that.

        Where they did not, the schemas are made known, and the command log has their ids from then on.
        """
        if writable(source):
            return source
        with self.lock:
            found = self.catalog.sources.get(source.name, source)
            if not writable(found):
                found = registered(found, self._brokers.registry)
                entry = {"op": "create", "source": source_to_json(found), "query": None}
                self._log(entry, self.catalog.with_source(found))
            return found

    def drop(self, source: Source, *, delete_topic: bool) -> int:
        """Removes a source that nothing else uses, and the query that made it; returns the command's number."""
        with self.lock:
            query = source.query if source.query in self.catalog.queries else None
            entry = {"op": "drop", "source": source.name, "query": query}
            sequence = self._log(entry, self.catalog.without_source(source.name))
            if query is not None:
                self._end(query)
            if delete_topic:
                self._brokers.topics.delete(source.topic)
            return sequence

    def drop_blocked(self, name: str) -> int:
        """Gives a name free whose entry of the command log is odd; returns the command's number."""
        with self.lock:
            return self._log({"op": "drop", "source": name, "query": None}, self.catalog.without_source(name))

    # ------------------------------------------------------------ types

    def make_type(self, name: str, type_: SqlType | None) -> int:
        """Makes a type, or with None forgets it; returns the command's number."""
        with self.lock:
            if type_ is None:
                return self._log({"op": "drop-type", "name": name}, self.catalog.without_type(name))
            entry = {"op": "type", "name": name, "type": type_to_json(type_)}
            return self._log(entry, self.catalog.with_type(name, type_))

    # ------------------------------------------------------------ functions

    def make_function(self, definition: Definition, query_ids: Sequence[str] = ()) -> int:
        """Makes or replaces a function in Python; returns the command's number.

        The queries, which call the one that is replaced, go on with the new one at their checkpoints; one entry of the
        log says so of all of them.
        """
        with self.lock:
            entry = {"op": "function", "definition": definition.to_json(), "queries": list(query_ids)}
            catalog, plans = self.catalog.with_function(definition), {}
            for query_id in query_ids:
                query, plans[query_id] = going_on_with(definition, catalog.queries[query_id], self._plans[query_id])
                catalog = catalog.with_query(query)
            sequence = self._log(entry, catalog)
            self._plans |= plans
            for query_id in query_ids:
                if not catalog.queries[query_id].paused:
                    self._run(query_id)
            return sequence

    def drop_function(self, name: str) -> int:
        """Forgets a function in Python that no query calls; returns the command's number."""
        with self.lock:
            return self._log({"op": "drop-function", "function": name}, self.catalog.without_function(name))

    # ------------------------------------------------------------ roles

    def make_role(self, role: str) -> int:
        """Makes a role without rights; returns the command's number."""
        return self._grants({"op": "role", "role": role}, lambda grants: grants.with_role(role))

    def drop_role(self, role: str) -> int:
        """Forgets a role and what is granted to it; returns the command's number."""
        return self._grants({"op": "drop-role", "role": role}, lambda grants: grants.without_role(role))

    def grant(self, role: str, rights: frozenset[Right], on: On) -> int:
        """Gives a role rights; returns the command's number."""
        return self._grants(grant_to_json("grant", role, rights, on), lambda grants: grants.granted(role, rights, on))

    def revoke(self, role: str, rights: frozenset[Right], on: On) -> int:
        """Takes rights from a role; returns the command's number."""
        return self._grants(grant_to_json("revoke", role, rights, on), lambda grants: grants.revoked(role, rights, on))

    def _grants(self, entry: Mapping[str, Any], change: Callable[[Grants], Grants]) -> int:
        with self.lock:
            return self._log(entry, replace(self.catalog, grants=change(self.catalog.grants)))

    # ------------------------------------------------------------ queries

    def pause(self, query_id: str, *, paused: bool) -> int:
        """Pauses or resumes a persistent query; its state stays. Returns the command's number."""
        with self.lock:
            query = self.catalog.queries[query_id]
            if query.paused == paused:
                if not paused and self._supervisor.suspects.release(query_id):
                    self._run(query_id)
                return self.next_command - 1
            runs = self._problem(query_id) is None
            if not paused and runs:
                partitions = self._brokers.topics.partitions(query.offsets)
                plan = self._plans[query_id].plan
                self._supervisor.queries.check_room(plan, partitions, query.shuffle_partitions)
            entry = {"op": "pause" if paused else "resume", "query": query_id}
            sequence = self._log(entry, self.catalog.with_query(replace(query, paused=paused)))
            if paused:
                self._supervisor.pause(query_id)
            elif runs:
                self._run(query_id)
            return sequence

    def skip(self, query_id: str, record: tuple[str, int, int]) -> int:
        """Has a persistent query leave out a record of its sources; returns the command's number."""
        with self.lock:
            query = self.catalog.queries[query_id]
            topic, partition, offset = record
            entry = {"op": "skip", "query": query_id, "topic": topic, "partition": partition, "offset": offset}
            left_out = replace(query, skipped=(*query.skipped, (topic, partition, offset)))
            sequence = self._log(entry, self.catalog.with_query(left_out))
            self._supervisor.suspects.release(query_id)
            if not query.paused and self._problem(query_id) is None:
                self._run(query_id)
            return sequence

    def rewind(self, query_id: str, offsets: Offsets) -> int:
        """Has a persistent query begin again at these offsets, without its state; returns the command's number."""
        with self.lock:
            plain = {topic: dict(of) for topic, of in offsets.items()}
            query = self.catalog.queries[query_id].rewound_to(plain)
            entry = {"op": "rewind", "query": query_id, "offsets": plain}
            sequence = self._log(entry, self.catalog.with_query(query))
            if not query.paused:
                self._run(query_id)
            return sequence

    def terminate(self, query_id: str) -> int:
        """Ends a persistent query for good; its sink stays. Returns the command's number."""
        with self.lock:
            sequence = self._brokers.log.append({"op": "terminate", "query": query_id})
            self._end(query_id)
            return sequence

    def _end(self, query_id: str) -> None:
        self.catalog = self.catalog.without_query(query_id)
        self._plans.pop(query_id, None)
        self._supervisor.suspects.release(query_id)
        self._supervisor.queries.stop(query_id, forget=True)

    def _run(self, query_id: str) -> None:
        query = self.catalog.queries[query_id]
        self._supervisor.run(query, self._plans[query_id], self.catalog.sources[query.sink])

    def _problem(self, query_id: str) -> str | None:
        """What is wrong with the entry of the command log that made the query."""
        return self.catalog.blocked.get(("query", query_id))

    def plan_of(self, query_id: str) -> Plan:
        """The plan of a persistent query; raises EngineProblem ``command-log`` for one whose entry is odd."""
        problem = self._problem(query_id)
        if problem is not None:
            raise EngineProblem("command-log", problem, hint=f"TERMINATE {query_id} ends it", error_code=40001)
        if query_id not in self._plans:  # ended since it was looked up
            raise EngineProblem("unknown-query", f"there is no query {query_id}", error_code=40001)
        return self._plans[query_id].plan

    @property
    def next_command(self) -> int:
        """The number that the next command will have."""
        return self._brokers.log.next_offset

    def _persistent(
        self, query_id: str, sink: Source, statement: str, plan: Plan, properties: Mapping[str, object]
    ) -> tuple[PersistentQuery, dict[str, int]]:
        """The query, which has room, and the partitions of its topics. Raises EngineProblem ``no-slots``."""
        config = self._brokers.config.for_statement(properties)
        sources = {r.source.name: r.source for r in plan.relations}
        partitions = self._brokers.topics.partitions([s.topic for s in sources.values()])
        if plan.window is not None:  # part of the state: a server that is started with another value changes nothing
            properties = {**properties, LATE_TOPIC: config.get(LATE_TOPIC)}
        query = PersistentQuery(
            query_id,
            statement,
            sink.name,
            tuple(sources),
            {k: str(v) for k, v in properties.items()},
            first_offsets(self._brokers, tuple(sources.values()), partitions, config),
            config.number("ksql.query.parallelism") or max(partitions.values()),
            checkpoint_mark=uuid.uuid4().hex,
        )
        self._supervisor.queries.check_room(plan, partitions, query.shuffle_partitions)
        return query, partitions


def _planned(query: PersistentQuery, plan: Plan) -> dict[str, Any]:
    """The part of an entry that says how a query runs, so that it need not be found out again."""
    return {"query": query_to_json(query), "plan": stored.write(plan)}


def first_offsets(
    brokers: Brokers, sources: tuple[Source, ...], partitions: Mapping[str, int], config: Config
) -> dict[str, dict[str, int]]:
    """Where a new query begins: auto.offset.reset, but tables at their start unless it is set (as in ksqlDB)."""
    reset = config.get("auto.offset.reset")
    explicit = config.is_set("auto.offset.reset")
    offsets: dict[str, dict[str, int]] = {}
    for latest in (True, False):
        topics = {
            s.topic: partitions[s.topic]
            for s in sources
            if (reset == "latest" and (explicit or s.kind == "STREAM")) == latest
        }
        if topics:
            offsets |= brokers.kafka.offsets(topics, latest=latest, committed=config.committed)
    return offsets
