"""What statements require of their topics, compared with the topics that are known."""

from __future__ import annotations

from collections.abc import Mapping

from ksqlpy.analysis import TopicSpec
from ksqlpy.analysis.windows import LATE_TOPIC
from ksqlpy.errors import AnalysisProblem, similar_names
from ksqlpy.plan import Plan
from ksqlpy.topicnames import is_internal

__all__ = ["check_late", "check_requirement"]


def check_requirement(spec: TopicSpec, known: Mapping[str, int], *, declared: bool) -> int | None:
    """Whether the topic is there or can be made: its partitions, or None if a query's sink will be made.

    ``known``: the topics with their partitions; ``declared``: for a source with columns, whose topic is there or gets
    its partitions from the statement. Raises AnalysisProblem.
    """
    have = known.get(spec.name)
    if have is None and declared and spec.partitions is None:
        raise AnalysisProblem(
            "missing-topic",
            f"topic {spec.name} does not exist",
            similar=similar_names(spec.name, [n for n in known if not is_internal(n)]),
            hint="WITH (PARTITIONS = 1) makes it",
        )
    if have is not None and spec.partitions is not None and have != spec.partitions:
        raise AnalysisProblem(
            "partitions-differ", f"topic {spec.name} exists with {have} partitions, not {spec.partitions}"
        )
    return have if have is not None else spec.partitions


def check_late(plan: Plan, sink: str) -> None:
    """Refuses a topic for late records that is internal, or that the query itself reads or writes.

    Raises AnalysisProblem ``internal-topic`` or ``late-topic``.
    """
    topic = plan.late_topic
    if topic is None:
        return
    if is_internal(topic):
        raise AnalysisProblem("internal-topic", f"late records cannot go to {topic}: such topics are internal")
    if topic in (*plan.topics, sink):
        raise AnalysisProblem(
            "late-topic",
            f"late records cannot go to topic {topic}, which the query itself reads or writes",
            hint=f"SET '{LATE_TOPIC}' to another topic",
        )
