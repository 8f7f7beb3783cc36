"""The topics of the service: names of its own ones, and what statements need of theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ksqlpy.analysis import CreateAs, Declare, TopicSpec
from ksqlpy.catalog import Source
from ksqlpy.errors import AnalysisProblem, EngineProblem
from ksqlpy.runtime.topic_requirements import check_requirement
from ksqlpy.spark.kafka import Kafka
from ksqlpy.topicnames import OWN, dead_letters, is_internal

__all__ = ["Topics"]

_ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1)}
"""ROWTIME is an event's time and may lie in the future; the brokers would refuse that."""

_TAIL_LAG_MS = 24 * 3_600_000
_TAIL_KEPT = {"min.compaction.lag.ms": str(_TAIL_LAG_MS), "segment.ms": str(2**63 - 1)}
"""A query that starts again reads what it wrote since its last checkpoint: compaction must leave that much.

The lag goes by the times of records, which may be years ago. Brokers leave the segment that is written alone; one with
old records would end at the first that is later by ``segment.ms``, so segments end by their size only.
"""


class Topics:
    """Topics as one service sees them."""

    def __init__(self, kafka: Kafka, service: str) -> None:
        self._kafka = kafka
        prefix = f"{OWN}{service}"
        self.command_log = f"{prefix}command_log"
        self.dead_letters = dead_letters(service)
        self.producers = f"{prefix}producers"
        self.engine_group = f"{prefix}engine"
        self.ready_group = f"{prefix}ready"
        self.inserts = f"{prefix}inserts"
        self.subscriptions = f"{prefix}subscriptions"
        self._transient = prefix

    def listed(self, *, hidden: bool) -> dict[str, list[int]]:
        """All topics with the replicas of their partitions; ``hidden``: internal ones too."""
        return {n: r for n, r in self._kafka.topics().items() if hidden or not is_internal(n)}

    def exists(self, topic: str) -> bool:
        """Whether there is such a topic."""
        return topic in self._kafka.topics()

    def partitions(self, topics: Iterable[str]) -> dict[str, int]:
        """The partitions of topics that must exist; raises AnalysisProblem ``missing-topic``."""
        wanted = list(topics)
        found = self._kafka.partitions(wanted)
        for topic in wanted:
            if topic not in found:
                raise AnalysisProblem("missing-topic", f"topic {topic} does not exist any more")
        return found

    def check(self, spec: TopicSpec, promised: Mapping[str, int], *, declared: bool) -> int | None:
        """Whether the topic is there or can be made: its partitions, or None if a query's sink will be made.

        ``promised``: topics that earlier statements of the request will make. Raises AnalysisProblem.
        """
        known = {n: len(r) for n, r in self._kafka.topics().items()} | dict(promised)
        return check_requirement(spec, known, declared=declared)

    def ensure_late(self, topic: str | None) -> None:
        """Makes the topic for late records, as that of dead letters is made, if it is wanted and not there."""
        if topic is not None and topic not in self._kafka.topics():
            self._kafka.create_topic(topic, 1, None, {"retention.ms": "-1", **_ANY_TIME})

    def ensure_declared(self, made: Declare) -> None:
        """Makes the topic of a CREATE with columns if it is not there."""
        spec = made.topic
        if spec.name not in self._kafka.topics():
            self._make(spec, spec.partitions or 1, _policy(made.source))

    def ensure_sink(self, made: CreateAs, partitions: Mapping[str, int]) -> None:
        """Makes the sink's topic if it is not there: as many partitions as the left-most source has."""
        spec = made.topic
        if spec.name in self._kafka.topics():
            return
        left = made.query.relations[0].source.topic
        self._make(spec, spec.partitions or partitions[left], _policy(made.source))

    def sink_warning(self, made: CreateAs, interval_ms: int) -> str | None:
        """What is wrong with a sink topic that was there before, for a query that writes exactly once."""
        topic = made.topic.name
        if "compact" not in (self._kafka.topic_setting(topic, "cleanup.policy") or ""):
            return None
        lag = int(self._kafka.topic_setting(topic, "min.compaction.lag.ms") or 0)
        if lag >= 3 * interval_ms:
            return None
        return (
            f"topic {topic} is compacted after {lag} ms: a restart that takes longer may write results twice;"
            f" set its min.compaction.lag.ms to {_TAIL_LAG_MS}"
        )

    def _make(self, spec: TopicSpec, partitions: int, policy: str) -> None:
        config = {"cleanup.policy": policy, **_ANY_TIME}
        if policy != "delete":
            config |= _TAIL_KEPT
        if spec.retention_ms is not None:
            config["retention.ms"] = str(spec.retention_ms)
        self._kafka.create_topic(spec.name, partitions, spec.replicas, config)

    def delete(self, topic: str) -> None:
        """Deletes the topic of a source; raises EngineProblem ``internal-topic`` or ``topic-not-deleted``."""
        if is_internal(topic):
            raise EngineProblem("internal-topic", f"topic {topic} is internal and is not deleted", error_code=40001)
        self._kafka.delete_topics([topic])

    def make_transient(self, query_id: str) -> str:
        """The topic for the rows of a push query."""
        name = self._transient + query_id
        self._kafka.create_topic(name, 1, None, {"cleanup.policy": "delete", **_ANY_TIME})
        return name

    def remove_transients(self) -> None:
        """Deletes the topics of push queries that were open when their engine was killed."""
        # The whole name: the command log of a service default_transient_ begins like those of default_, too.
        own = re.compile(rf"{re.escape(self._transient)}transient_[^ ]*_[0-9a-f]{{12}}")
        self._kafka.delete_topics([t for t in self._kafka.topics() if own.fullmatch(t)])

    def remove_transient(self, query_id: str) -> None:
        """Deletes the topic of a push query."""
        self._kafka.delete_topics([self._transient + query_id])


def _policy(source: Source) -> str:
    if source.kind == "STREAM":
        return "delete"
    return "compact" if source.window is None else "compact,delete"
