"""Samples of topics, for CREATE that leaves out formats or columns."""

from __future__ import annotations

from collections.abc import Callable

from ksqlpy.analysis import Sample
from ksqlpy.errors import AnalysisProblem, similar_names
from ksqlpy.runtime.internal import unreadable
from ksqlpy.spark.kafka import Kafka
from ksqlpy.topicnames import is_internal

__all__ = ["RECORDS", "SECONDS", "Sampling"]

RECORDS = 500
"""So many records make a sample, at most, of all partitions together."""

SECONDS = 5.0
"""What has come in this time is the sample."""


class Sampling:
    """The samples that the statements of one request are checked and done by: each topic is read once.

    ``readable``: whether a topic may be read.
    """

    def __init__(self, kafka: Kafka, readable: Callable[[str], bool]) -> None:
        self._kafka = kafka
        self._readable = readable
        self._samples: dict[tuple[str, bool], Sample] = {}

    def of(self, topic: str, *, committed: bool) -> Sample:
        """The last records of the topic's partitions; ``committed``: of those that are (``isolation.level``).

        Raises AnalysisProblem ``missing-topic`` and ``internal-topic``, EnvironmentProblem where the brokers do not
        answer, and EngineProblem where they do not let the server read.
        """
        if not self._readable(topic):
            raise unreadable(topic)
        if (topic, committed) not in self._samples:
            topics = self._kafka.topics()
            if topic not in topics:
                raise AnalysisProblem(
                    "missing-topic",
                    f"topic {topic} does not exist, so nothing can be inferred from its records",
                    similar=similar_names(topic, [t for t in topics if not is_internal(t)]),
                    hint="name VALUE_FORMAT and list the columns, or name a topic that has records",
                )
            found = self._kafka.last_records(topic, len(topics[topic]), RECORDS, SECONDS, committed=committed)
            self._samples[topic, committed] = Sample(topic, found)
        return self._samples[topic, committed]
