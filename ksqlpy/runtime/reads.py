"""Who reads results and topics: pull and push queries, and PRINT."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ksqlpy.analysis.pull import PullRead
from ksqlpy.catalog import Catalog, Column, query_named
from ksqlpy.errors import KsqlError
from ksqlpy.reading.push import Plain
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.catalog_service import first_offsets
from ksqlpy.runtime.lookups import Lookups
from ksqlpy.runtime.plainpush import PlainPush
from ksqlpy.runtime.printing import Printing, Wanted
from ksqlpy.runtime.pull import Answering, Pulled, PullQuery
from ksqlpy.runtime.push import Asked, PushQuery
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.tables import Copies

__all__ = ["Reads"]


class Reads:
    """The push queries and PRINTs that are open, and the copies of tables for pull queries."""

    copies: Copies

    def __init__(self, brokers: Brokers, supervisor: Supervisor) -> None:
        self._brokers = brokers
        self._supervisor = supervisor
        self._push: dict[str, PushQuery | PlainPush] = {}
        self._printing: dict[str, Printing] = {}
        self._lookups = Lookups()
        self._pulled = Pulled(lambda: supervisor.session, lambda: brokers.connection)

    def start(self, folder: Path) -> None:
        """Makes the folder of an engine the place of the copies of tables."""
        self.copies = Copies(folder / "tables", self._brokers.kafka)

    def look_up(
        self,
        sql: str,
        catalog: Catalog,
        properties: Mapping[str, object],
        analyze: Callable[[str], tuple[PullRead, set[str]]],
    ) -> tuple[tuple[Column, ...], list[list[Any]]] | None:
        """Columns and rows of a lookup whose shape is known, in a table that is copied; None for everything else.

        It waits for nothing but the local disk. ``analyze``: see :meth:`Lookups.find`. Raises EngineProblem.
        """
        found = self._lookups.find(sql, catalog, tuple(sorted(properties.items())) if properties else (), analyze)
        if found is None:
            return None
        lookup, values = found
        copy = self.copies.ready(lookup.source)
        return None if copy is None else (lookup.columns, lookup.answer(copy, values))

    def pull(self, asked: Answering, catalog: Catalog) -> PullQuery:
        """Starts to answer a checked pull query; raises EngineProblem. The caller reads its rows and closes it."""
        source = asked.read.source
        query_id = f"pull_{uuid.uuid4().hex[:12]}"
        if source.kind == "TABLE":
            rows = self._pulled.of_table(asked, self.copies.of(source, catalog.sources.values()))
        else:
            partitions = self._brokers.topics.partitions([source.topic])
            kafka = self._brokers.kafka
            start, end = (kafka.offsets(partitions, latest=latest)[source.topic] for latest in (False, True))
            rows = self._pulled.of_stream(asked, start, end, partial(kafka.reader, ends=True))
        return PullQuery(query_id, asked, rows)

    def push_plain(self, asked: Asked, how: Plain) -> PlainPush:
        """Starts a checked push query that needs no Spark; raises EngineProblem."""
        config = self._brokers.config.for_statement(asked.properties)
        sources = tuple({r.source.name: r.source for r in asked.plan.relations}.values())
        partitions = self._brokers.topics.partitions([s.topic for s in sources])
        query_id = f"SCALABLE_PUSH_QUERY_{sources[0].name[:100]}_{uuid.uuid4().hex[:12]}"  # as ksqlDB begins it
        offsets = first_offsets(self._brokers, sources, partitions, config)
        push = PlainPush(query_id, asked, how, offsets, self._brokers.kafka.reader(), self._forget)
        self._push[query_id] = push
        return push

    def push(self, asked: Asked) -> PushQuery:
        """Starts a checked push query as a query of Spark; raises EngineProblem.

        The caller reads its rows and closes it.
        """
        config = self._brokers.config.for_statement(asked.properties)
        sources = tuple({r.source.name: r.source for r in asked.plan.relations}.values())
        partitions = self._brokers.topics.partitions([s.topic for s in sources])
        width = config.number("ksql.query.parallelism") or max(partitions.values())
        self._supervisor.queries.check_room(asked.plan, partitions, width)
        query_id = f"transient_{sources[0].name[:100]}_{uuid.uuid4().hex[:12]}"  # part of a topic's name
        topic = self._brokers.topics.make_transient(query_id)
        offsets = first_offsets(self._brokers, sources, partitions, config)
        self._supervisor.run_push(query_id, asked, topic, offsets, partitions, width)
        current = partial(self._supervisor.queries.get, query_id)
        push = PushQuery(query_id, asked, current, topic, self._brokers.kafka.reader(), self._closed)
        self._push[query_id] = push
        return push

    def print(self, asked: Wanted, partitions: int) -> Printing:
        """Starts a checked PRINT; raises EngineProblem. The caller reads its lines and closes it."""
        query_id = f"print_{uuid.uuid4().hex[:12]}"
        reader = self._brokers.kafka.reader()
        found = Printing(query_id, asked, partitions, reader, self._brokers.registry, self._printed)
        self._printing[query_id] = found
        return found

    def _printed(self, printing: Printing) -> None:
        self._printing.pop(printing.id, None)

    def _forget(self, push: PlainPush) -> None:
        self._push.pop(push.id, None)

    def _closed(self, push: PushQuery) -> None:
        self._push.pop(push.id, None)
        self._supervisor.queries.stop(push.id, forget=True)
        with contextlib.suppress(KsqlError):
            self._brokers.topics.remove_transient(push.id)

    @property
    def open(self) -> tuple[PushQuery | PlainPush, ...]:
        """The push queries that are open."""
        return tuple(self._push.values())

    @property
    def ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(self._push)

    def close(self, query_id: str) -> bool:
        """Ends a push query or a PRINT; False if there is none of that id."""
        open_: dict[str, PushQuery | PlainPush | Printing] = {**self._push, **self._printing}
        found = query_named(query_id, open_)
        if found is None:
            return False
        open_[found].close()
        return True

    def close_all(self) -> None:
        """Ends all."""
        for push in self.open:
            push.close()
        for printing in tuple(self._printing.values()):
            printing.close()
        if hasattr(self, "copies"):
            self.copies.close()
