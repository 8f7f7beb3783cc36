"""Properties that have no meaning here: they are taken, so that ksqlDB's scripts and clients run, and warned of.

Names: ``StreamsConfig`` of Kafka 4. Settings of Kafka's clients among them are taken when the server starts
(:mod:`ksqlpy.connection.names`). Not among them is what asks for protection (``security.protocol``, ``ssl.…``,
``sasl.…``): silently ignoring a security setting would be dangerous.
"""

from __future__ import annotations

import re

__all__ = ["IDLE_TIMEOUT", "is_without_meaning"]

_STREAMS = frozenset(
    """
    acceptable.recovery.lag application.id application.server buffered.records.per.partition
    built.in.metrics.version cache.max.bytes.buffering client.id connections.max.idle.ms default.client.supplier
    default.deserialization.exception.handler default.dsl.store default.key.serde default.list.key.serde.inner
    default.list.key.serde.type default.list.value.serde.inner default.list.value.serde.type
    default.production.exception.handler default.timestamp.extractor default.value.serde
    deserialization.exception.handler dsl.store.suppliers.class enable.metrics.push
    ensure.explicit.internal.resource.naming errors.dead.letter.queue.topic.name group.protocol
    log.summary.interval.ms max.task.idle.ms max.warmup.replicas metadata.max.age.ms
    metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms num.standby.replicas num.stream.threads poll.ms
    probing.rebalance.interval.ms processing.exception.handler processor.wrapper.class
    production.exception.handler rack.aware.assignment.non_overlap_cost rack.aware.assignment.strategy
    rack.aware.assignment.tags rack.aware.assignment.traffic_cost receive.buffer.bytes reconnect.backoff.max.ms
    reconnect.backoff.ms repartition.purge.interval.ms replication.factor request.timeout.ms retries
    retry.backoff.max.ms retry.backoff.ms rocksdb.config.setter send.buffer.bytes state.cleanup.delay.ms state.dir
    statestore.cache.max.bytes task.assignor.class task.timeout.ms topology.optimization upgrade.from
    window.size.ms windowed.inner.class.serde windowstore.changelog.additional.retention.ms
    """.split()  # noqa: SIM905
)
_OF_CLIENTS = re.compile(r"(?:(?:main\.|restore\.|global\.)?consumer|producer|admin|topic)\.([a-z0-9.]{1,100})")
IDLE_TIMEOUT = "ksql.idle.connection.timeout.seconds"
"""Of ksqlDB's server; ksqldb-go sends it with each push query. Connections with open queries are not ended here."""
_PROTECTS = re.compile(r"security\.|ssl\.|sasl\.")


def is_without_meaning(name: str) -> bool:
    """Whether the name is that of a property that is not used: :data:`IDLE_TIMEOUT`, or one of Kafka Streams.

    The latter, and those of its clients, with or without ``ksql.streams.``.
    """
    plain = name.removeprefix("ksql.streams.")
    of_client = _OF_CLIENTS.fullmatch(plain)
    if of_client is not None:
        return _PROTECTS.match(of_client[1]) is None
    return name == IDLE_TIMEOUT or plain in _STREAMS
