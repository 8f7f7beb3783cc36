"""Single records that only Java's producer can write."""

from __future__ import annotations

from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ksqlpy.connection import KafkaConnection
from ksqlpy.spark.clients import tell_jvm
from ksqlpy.spark.gateway import jvm_of

__all__ = ["write_record"]

_BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"


def write_record(
    session: SparkSession,
    connection: KafkaConnection,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    time: int,
    headers: Sequence[tuple[str, bytes]] = (),
    *,
    seconds: float,
) -> str | None:
    """Writes a record with this time in ms since 1970; gives None, or why it was not written within the seconds.

    librdkafka takes the time 0 for none, and writes the present one.
    """
    own = {
        "key.serializer": _BYTES,
        "value.serializer": _BYTES,
        "acks": "all",
        "max.request.size": 1_000_000_000,  # the topic's own limit counts
        "max.block.ms": int(seconds * 1000),
        "request.timeout.ms": int(seconds * 500),
        "delivery.timeout.ms": int(seconds * 1000),
        "linger.ms": 0,
    }
    tell_jvm(session, connection)
    jvm = jvm_of(session)
    try:
        given = dict(headers)
        problem: str | None = jvm.ksqlpy.sink.Records.write(connection.key, own, topic, key, value, time, given)
    except Py4JJavaError as e:
        problem = str(e.java_exception.getMessage())
    return problem
