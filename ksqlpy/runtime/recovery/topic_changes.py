"""Restarts queries whose topics have changed while they ran."""

from __future__ import annotations

import logging
from dataclasses import replace

from ksqlpy.runtime.queries import Queries
from ksqlpy.spark.failure import failure_of
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.topics import widened

__all__ = ["follow_partitions"]

log = logging.getLogger(__name__)


def follow_partitions(queries: Queries, kafka: Kafka) -> None:
    """Restarts queries, on their checkpoints, whose topics have got more partitions, are gone or were recreated.

    Without that a query over what was one partition would read only the first one (it has no shuffle). Without a
    topic, or over another one of the same name, it fails when it starts, and says so.
    """
    running = [q for q in queries.all() if q.live.is_set() and not q.refused]
    found = kafka.partitions({t for q in running for t in (*q.spec.partitions, *q.spec.sink_topics)})
    ids = kafka.topic_ids(found)
    for query in running:
        spec, known = query.spec, query.topics
        gone = [t for t in (*spec.partitions, *spec.sink_topics) if ids.get(t) != known.ids.get(t, ids.get(t))
                or t not in ids]  # fmt: skip
        now = {t: found.get(t, n) for t, n in spec.partitions.items()}
        if gone:
            log.warning("query %s restarts: topic %s is gone or was recreated", spec.id, gone[0])
            if set(gone) & set(spec.sink_topics):
                query.cut_off()  # its tasks would wait for the topic
            queries.start(spec)
        elif more := [t for t, n in spec.partitions.items() if now[t] > n]:
            log.warning("query %s restarts: its topics have got more partitions", spec.id)
            again = queries.start(replace(spec, partitions=now))
            for topic in more if not again.refused else ():
                again.tell(failure_of(widened(topic, spec.partitions[topic], now[topic], written=False)))
        else:
            for topic in [t for t, n in known.written.items() if found[t] > n]:
                problem = widened(topic, known.written[topic], found[topic], written=True)
                log.warning("query %s: %s", spec.id, problem.summary())
                query.topics = replace(known, written={topic: found[topic]})
                query.tell(failure_of(problem))
