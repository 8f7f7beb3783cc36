"""Single records that only Java's producer can write."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

__all__ = ["write_record"]

_BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"


def write_record(
    session: SparkSession,
    bootstrap: str,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    time: int,
    *,
    seconds: float,
) -> str | None:
    """Writes a record with this time in ms since 1970; gives None, or why it was not written within the seconds.

    librdkafka takes the time 0 for none, and writes the present one.
    """
    settings = {
        "bootstrap.servers": bootstrap,
        "key.serializer": _BYTES,
        "value.serializer": _BYTES,
        "acks": "all",
        "max.request.size": 1_000_000_000,  # the topic's own limit counts
        "max.block.ms": int(seconds * 1000),
        "request.timeout.ms": int(seconds * 500),
        "delivery.timeout.ms": int(seconds * 1000),
        "linger.ms": 0,
    }
    jvm: Any = session._jvm
    try:
        problem: str | None = jvm.ksqlpy.sink.Records.write(settings, topic, key, value, time)
    except Py4JJavaError as e:
        problem = str(e.java_exception.getMessage())
    return problem
