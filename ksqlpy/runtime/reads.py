"""Who reads results and topics: push queries and PRINT."""

from __future__ import annotations

import contextlib
import uuid
from functools import partial

from ksqlpy.errors import KsqlError
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.catalog_service import first_offsets
from ksqlpy.runtime.printing import Printing, Wanted
from ksqlpy.runtime.push import Asked, PushQuery
from ksqlpy.runtime.supervisor import Supervisor

__all__ = ["Reads"]


class Reads:
    """The push queries and PRINTs that are open."""

    def __init__(self, brokers: Brokers, supervisor: Supervisor) -> None:
        self._brokers = brokers
        self._supervisor = supervisor
        self._push: dict[str, PushQuery] = {}
        self._printing: dict[str, Printing] = {}

    def push(self, asked: Asked) -> PushQuery:
        """Starts a checked push query; raises EngineProblem. The caller reads its rows and closes it."""
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

    def _closed(self, push: PushQuery) -> None:
        self._push.pop(push.id, None)
        self._supervisor.queries.stop(push.id, forget=True)
        with contextlib.suppress(KsqlError):
            self._brokers.topics.remove_transient(push.id)

    @property
    def open(self) -> tuple[PushQuery, ...]:
        """The push queries that are open."""
        return tuple(self._push.values())

    @property
    def ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(self._push)

    def close(self, query_id: str) -> bool:
        """Ends a push query or a PRINT; False if there is none of that id."""
        push: PushQuery | Printing | None = self._push.get(query_id) or self._printing.get(query_id)
        if push is None:
            return False
        push.close()
        return True

    def close_all(self) -> None:
        """Ends all."""
        for push in self.open:
            push.close()
        for printing in tuple(self._printing.values()):
            printing.close()
