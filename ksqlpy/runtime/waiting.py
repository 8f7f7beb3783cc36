"""Read your writes: a pull query that waits until what it reads reflects what the inputs of its queries had."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from ksqlpy.access import ASKS
from ksqlpy.catalog import Catalog, PersistentQuery, Source
from ksqlpy.errors import EngineProblem
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.spark.figures import read_up_to
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.query_status import State
from ksqlpy.spark.session import at_rest

__all__ = ["inputs_first", "inputs_of", "wait_for_inputs"]

Offsets = dict[str, dict[str, int]]

_LOOK = 0.005
"""Seconds between two looks at a query."""

_LOOKS, _BETWEEN = 6, 0.005
"""How often a query must be seen at rest before that is believed, and seconds between two looks."""


def wait_for_inputs(
    sources: Iterable[Source], catalog: Catalog, supervisor: Supervisor, kafka: Kafka, until: float
) -> None:
    """Waits until the queries that write these sources have worked on what their inputs have now, one after the other.

    ``until``: when that must be, by the monotonic clock. Raises EngineProblem ``inputs-ahead`` (50300) when it is not,
    and at once when one of the queries does not run.
    """
    seen = catalog.seen_by(ASKS.get()).queries
    for query in inputs_first(sources, catalog):
        told = f"query {query.id}" if query.id in seen else "a query that you may not see"
        begins, ends = inputs_of(query, supervisor, kafka)
        while not _has_worked_on(supervisor.queries, query.id, begins, ends):
            status = supervisor.status(query.id, catalog)
            if status.failed or status.state is State.PAUSED:
                raise _ahead(f"{told} is {status.state}")
            if time.monotonic() > until:
                raise _ahead(f"{told} has not worked on all of them in that time")
            time.sleep(_LOOK)


def inputs_of(query: PersistentQuery, supervisor: Supervisor, kafka: Kafka) -> tuple[Offsets, Offsets]:
    """The first offsets of the query's source topics, and where they end."""
    partitions = kafka.partitions(query.offsets)
    read = partial(kafka.offsets, partitions, committed=supervisor.specs.committed(query))
    return read(latest=False), read(latest=True)


def inputs_first(sources: Iterable[Source], catalog: Catalog) -> Iterator[PersistentQuery]:
    """The queries that write the sources, directly or through others, each after those that it reads from."""
    seen: set[str] = set()

    def of(name: str) -> Iterator[PersistentQuery]:
        for query_id in catalog.writers(name):
            if query_id not in seen:
                seen.add(query_id)
                query = catalog.queries[query_id]
                for input_ in query.sources:
                    yield from of(input_)
                yield query

    for source in sources:
        yield from of(source.name)


def _ahead(why: str) -> EngineProblem:
    return EngineProblem(
        "inputs-ahead",
        f"what is asked for does not reflect all records that its inputs had: {why}",
        hint="ask again, raise ksqlpy.pull.wait.ms, or look at SHOW QUERIES",
        error_code=50300,
    )


def _has_worked_on(
    queries: Queries, query_id: str, begins: Mapping[str, Mapping[str, int]], ends: Mapping[str, Mapping[str, int]]
) -> bool:
    """Whether the results of all records before ``ends`` are in their topic.

    That is certain when a checkpoint holds them. In between the query must have read them, and be seen at rest with
    all its tasks, several times in a row, since one look misses a record on its way between two tasks. ``begins``:
    the first offsets that there are.
    """
    query = queries.get(query_id)
    if query is None or not query.live.is_set():
        return False
    committed = query.checkpoint.position(query.spec.offsets, query.spec.rewound)

    def there(read: Mapping[str, Mapping[str, int]]) -> bool:
        return all(
            max(of.get(topic, {}).get(p, 0) for of in (read, committed)) >= end
            for topic, partitions in ends.items()
            for p, end in partitions.items()
            if end > begins[topic][p]
        )

    if there({}):
        return True
    tasks = queries.task_slots.of(query.spec)
    for _ in range(_LOOKS):
        if not there(read_up_to(queries.session, query_id, begins)) or not at_rest(queries.session, query_id, tasks):
            return False
        time.sleep(_BETWEEN)
    return True
