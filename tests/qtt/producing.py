"""Writes records of any time, also of 1970's first millisecond, for which Python's client takes the time of writing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ksqlpy.runtime import Engine
from ksqlpy.testing.records import Record

__all__ = ["JavaProducer"]


class JavaProducer:
    """Writes with Kafka's own client, in the JVM that the engine has at that time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, records: Sequence[Record]) -> None:
        """Writes all and waits until the broker has them; raises what the client raises."""
        jvm: Any = self._engine.session._jvm
        kafka = jvm.org.apache.kafka
        settings = jvm.java.util.HashMap()
        settings.put("bootstrap.servers", self._engine.bootstrap)
        settings.put("acks", "all")
        for what in ("key", "value"):
            settings.put(f"{what}.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer")
        producer = kafka.clients.producer.KafkaProducer(settings)
        try:
            taken = []
            for r in records:
                headers = jvm.java.util.ArrayList()
                for name, value in r.headers:
                    headers.add(kafka.common.header.internals.RecordHeader(name, value))
                record = kafka.clients.producer.ProducerRecord(r.topic, None, r.time or 0, r.key, r.value, headers)
                taken.append(producer.send(record))
            for answer in taken:
                answer.get()
        finally:
            producer.close()
