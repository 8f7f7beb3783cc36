"""How large records of the topics of a query may be, as JSON for the JVM's class ``sink/Limits.java``."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ksqlpy.deadletters import CUT, HEADERS, RESULT, TOPIC_ID
from ksqlpy.spark.kafka import RecordLimit
from ksqlpy.spark.spec import QuerySpec

__all__ = ["limits_of"]


def limits_of(spec: QuerySpec, limits: Mapping[str, RecordLimit | None], topic_ids: Mapping[str, str]) -> str:
    """The limits of the topics that a query writes; ``topic_ids``: of the source topics.

    A result of a push query has none: it goes to one client, and is not set aside.
    """
    results = "" if isinstance(spec.sink, str) else spec.sink.topic
    topics = {t: limit for t, limit in limits.items() if results or t == spec.dead_topic}
    return json.dumps(
        {
            "query": spec.id,
            "dead": spec.dead_topic,
            "results": results,
            "tables": spec.plan.seen_tables,
            "moved": not spec.plan.done_as_read,
            "sources": spec.plan.topics,
            "ids": dict(topic_ids),
            "names": {**HEADERS, "topicId": TOPIC_ID, "result": RESULT, "cut": CUT},
            "topics": {t: {"most": limit.most, "codec": limit.codec} if limit else {} for t, limit in topics.items()},
        }
    )
