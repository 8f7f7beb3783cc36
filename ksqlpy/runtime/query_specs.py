"""What a query is started with, of its plan and of the properties of its statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ksqlpy.catalog import PersistentQuery, Source
from ksqlpy.config import Config
from ksqlpy.plan import Plan, mode_of
from ksqlpy.plan.stored import Kept
from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.push import Asked
from ksqlpy.spark.once import Offsets
from ksqlpy.spark.spec import QuerySpec, Retry

__all__ = ["Planned", "QuerySpecs"]

Planned = tuple[PersistentQuery, Kept, Source]
"""A query, its plan and its sink."""


class QuerySpecs:
    """Makes the specs of one service's queries. ``checkpoint``: gives the folder of a query's checkpoint."""

    def __init__(self, brokers: Brokers, checkpoint: Callable[[str], str]) -> None:
        self._brokers, self._checkpoint = brokers, checkpoint

    def committed(self, query: PersistentQuery) -> bool:
        """Whether it reads committed records only, see :attr:`ksqlpy.config.Config.committed`."""
        return self._brokers.config.for_statement(query.properties).committed

    def persistent(self, query: PersistentQuery, kept: Kept, sink: Source) -> QuerySpec:
        """Of a persistent query, which may go on from its checkpoint."""
        found = self._brokers.kafka.partitions(query.offsets)  # a topic may have got more since
        partitions = {t: max(len(p), found.get(t, 0)) for t, p in query.offsets.items()}
        config = self._brokers.config.for_statement(query.properties)
        spec = self._spec(query.id, kept.plan, sink, query.offsets, partitions, query.shuffle_partitions, config)
        return replace(
            spec,
            exactly_once=config.get("processing.guarantee") == "exactly_once",
            retry=Retry(
                config.number("ksql.query.retry.backoff.initial.ms") / 1000,
                config.number("ksql.query.retry.backoff.max.ms") / 1000,
            ),
            upgraded_from=query.upgraded_from,
            mark=query.checkpoint_mark,
            era=query.state_era,
            rewound=query.rewound,
            identity=kept.identity,
            skipped=query.skipped,
        )

    def push(
        self, query_id: str, asked: Asked, topic: str, offsets: Offsets, partitions: Mapping[str, int], width: int
    ) -> QuerySpec:
        """Of a push query, which writes a topic of its own; ``width``: partitions of its shuffles."""
        config = self._brokers.config.for_statement(asked.properties)
        spec = self._spec(query_id, asked.plan, topic, offsets, partitions, width, config)
        return replace(spec, exactly_once=False)  # nobody reads its topic after it has ended

    def _spec(
        self, query_id: str, plan: Plan, sink: Source | str, offsets: Offsets, partitions: Mapping[str, int],
        width: int, config: Config,
    ) -> QuerySpec:  # fmt: skip
        brokers = self._brokers
        return QuerySpec(
            query_id, plan, sink, brokers.connection, offsets, partitions, width, brokers.topics.dead_letters,
            self._checkpoint(query_id), config.number("commit.interval.ms"),
            committed=config.committed,
            batch_ms=mode_of(plan, config).batch_ms,
            registry=brokers.registry,
            idle_ms=config.number("max.task.idle.ms"),
            largest_record=config.number("ksqlpy.record.max.bytes"),
        )  # fmt: skip
