"""Two engines of one service never write at the same time: who writes is noted, and brokers refuse who wrote before.

A compacted topic, the register, holds two kinds of records, JSON:

    engine             {"engine": id}                                  the engine that has the service now
    <engine>/<query>   {"producers": [[jvm, producer id, [topic]]]}    the producers that may write a query's results

An engine that takes the service writes its name. A query notes its producer, reads the register up to that note, and
has the brokers end all other producers of it (``jvm/sink/SinkProducers.java``) before it looks at what is written. So
of two engines either the later one finds the earlier one's note, or the earlier one finds that it has lost the service
before it writes. An engine that was stopped in the midst of its work, for however long, has its next request refused.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.errors import EngineProblem, ServiceLost
from ksqlpy.spark.kafka import TIMEOUT, Kafka
from ksqlpy.spark.spec import QuerySpec

__all__ = ["ProducerRegister", "SinkProducer", "end_others", "retire", "service_taken"]

log = logging.getLogger(__name__)

_ENGINE = "engine"
_STARTING = 130.0
"""Seconds that a producer may take to get its id from the brokers."""
_LEAVING = 3.0
"""Seconds that the notes of queries that ended may take to reach the brokers, which may be away."""


@dataclass(frozen=True)
class SinkProducer:
    """A producer of results: the JVM that it is in, its id (KIP-98), the topics that it writes."""

    jvm: str
    id: int
    topics: tuple[str, ...]


class ProducerRegister:
    """The register of one service, as the engine of this id sees it. All methods may be called from any thread."""

    def __init__(self, kafka: Kafka, topic: str, engine: str) -> None:
        self._kafka, self._topic, self._engine = kafka, topic, engine
        self._owner = ""
        self._producers: dict[tuple[str, str], tuple[SinkProducer, ...]] = {}
        self._lock = threading.Lock()
        self._reader: Consumer | None = None
        self._next = 0
        self._producer = Producer(
            kafka.connection.producer(
                {"acks": "all", "linger.ms": 0, "enable.idempotence": True, "message.timeout.ms": int(TIMEOUT * 1000)}
            )
        )

    def take(self) -> None:
        """Makes this engine the one that has the service. Raises EngineProblem ``producer-register``."""
        if self._topic not in self._kafka.topics():
            self._kafka.create_topic(self._topic, 1, None, {"cleanup.policy": "compact"})
        with self._lock:
            self._reader = self._kafka.reader()
            self._reader.assign([TopicPartition(self._topic, 0, 0)])
            self._write(_ENGINE, {"engine": self._engine})
            self._follow()

    def check(self) -> None:
        """Raises EngineProblem ``service-taken`` when another engine has the service."""
        with self._lock:
            self._follow()
            if self._owner != self._engine:
                raise service_taken()

    def enter(self, query: str, producer: SinkProducer) -> tuple[SinkProducer, ...] | None:
        """Notes the producer of a query; gives all others that may still write its results, None if none was noted.

        Raises EngineProblem ``service-taken`` when another engine has the service: the query must not write.
        """
        mine = (self._engine, query)
        with self._lock:
            self._follow()
            noted = self._of(query)
            if producer not in self._producers.get(mine, ()):
                # Those of earlier JVMs stay in the note until they are known to be ended.
                self._note(query, (*self._producers.get(mine, ()), producer))
                self._follow()
            if self._owner != self._engine:
                raise service_taken()
            return None if noted is None else tuple(p for p in noted if p != producer)

    def settle(self, query: str, producer: SinkProducer) -> None:
        """Notes that this is the only producer that may write the query's results."""
        with self._lock:
            if self._producers.get((self._engine, query)) != (producer,):
                self._note(query, (producer,))
            for engine, other in list(self._producers):
                if other == query and engine != self._engine:
                    self._write(f"{engine}/{query}", None)
            self._follow()

    def leave(self, query: str, *, forget: bool = False) -> None:
        """Notes, when the brokers take it, that nothing writes the query's results; ``forget``: nor ever will."""
        self._send(f"{self._engine}/{query}", None if forget else {"producers": []})

    def close(self) -> None:
        """Waits a little until all is noted."""
        self._producer.flush(_LEAVING)
        with self._lock:
            if self._reader is not None:
                self._reader.close()
                self._reader = None

    def _of(self, query: str) -> list[SinkProducer] | None:
        """All producers that are noted for a query; None if none ever was."""
        notes = [noted for (_, name), noted in self._producers.items() if name == query]
        return [p for noted in notes for p in noted] if notes else None

    def _note(self, query: str, producers: Sequence[SinkProducer]) -> None:
        self._write(f"{self._engine}/{query}", {"producers": [[p.jvm, p.id, list(p.topics)] for p in producers]})

    def _send(self, key: str, value: Mapping[str, Any] | None) -> list[Any]:
        done: list[Any] = []
        try:
            self._producer.produce(
                self._topic,
                key=key.encode(),
                value=None if value is None else json.dumps(value).encode(),
                partition=0,
                on_delivery=lambda e, m: done.append(e),
            )
        except (KafkaException, BufferError) as e:
            raise _unusable(self._topic, str(e)) from e
        return done

    def _write(self, key: str, value: Mapping[str, Any] | None) -> None:
        done = self._send(key, value)
        self._producer.flush(TIMEOUT)
        if not done or done[0] is not None:
            raise _unusable(self._topic, str(done[0]) if done else "the brokers do not answer")

    def _follow(self) -> None:
        """Reads what was written since the last time."""
        if self._reader is None:
            raise _unusable(self._topic, "it is closed")
        end = self._kafka.offsets({self._topic: 1}, latest=True)[self._topic]["0"]
        while self._next < end:
            message = self._reader.poll(TIMEOUT)
            if message is None or message.error() is not None:
                raise _unusable(self._topic, "it cannot be read" if message is None else str(message.error()))
            self._next = (message.offset() or 0) + 1
            self._apply((message.key() or b"").decode(errors="replace"), message.value())

    def _apply(self, key: str, value: bytes | None) -> None:
        try:
            found = None if value is None else json.loads(value)
            if key == _ENGINE:
                self._owner = "" if found is None else str(found["engine"])
                return
            engine, _, query = key.partition("/")
            if found is None:
                self._producers.pop((engine, query), None)
                return
            noted = tuple(SinkProducer(str(j), int(i), tuple(map(str, t))) for j, i, t in found["producers"])
            self._producers[engine, query] = noted
        except (ValueError, TypeError, KeyError) as e:
            log.warning("record %d of topic %s is left out: %s", self._next - 1, self._topic, e)


def end_others(
    session: SparkSession,
    kafka: Kafka,
    register: ProducerRegister,
    spec: QuerySpec,
    options: Mapping[str, str],
    stopping: threading.Event,
) -> bool:
    """Notes a query's producer, and has the brokers end all earlier ones of other JVMs and engines.

    ``options``: of Spark's Kafka sink; ``stopping``: is set when nobody waits for it any more. Gives whether it is
    known that nobody else writes the query's results: not where none was noted, nor where the brokers do not let us.
    Raises EngineProblem ``service-taken`` when another engine has the service, ``no-producer`` when brokers do not
    answer.
    """
    jvm: Any = session._jvm
    producers, end = jvm.ksqlpy.sink.SinkProducers, time.monotonic() + _STARTING
    while (number := producers.hold(spec.id, dict(options))) < 0:
        if stopping.wait(0.01):
            return False
        if time.monotonic() > end:
            raise EngineProblem("no-producer", f"no broker gives the producer of query {spec.id} its id")
    own = SinkProducer(producers.JVM, number, spec.sink_topics)
    others = register.enter(spec.id, own)
    if others is None:
        return False
    ended = [o for o in others if o.jvm != own.jvm]
    if ended:
        topics = kafka.partitions({t for o in ended for t in o.topics})
        why = producers.fence(spec.connection.key, sorted({o.id for o in ended}), topics)
        if why is not None:
            log.warning(
                "query %s: the brokers do not let earlier producers of its results be ended, which needs the right"
                " ALTER on the cluster: %s", spec.id, why,
            )  # fmt: skip
            return False
        log.info("query %s: producers of before are ended: %s", spec.id, ", ".join(str(o.id) for o in ended))
    register.settle(spec.id, own)
    return True


def retire(session: SparkSession, register: ProducerRegister, query: str, *, forget: bool) -> None:
    """Gives a query's producer back to Spark, and notes that nothing writes its results, if that is so.

    ``forget``: nor ever will. Raises what py4j raises of a JVM that is gone.
    """
    jvm: Any = session._jvm
    jvm.ksqlpy.sink.SinkProducers.release(query)
    spark = session.sparkContext._jsc.sc()
    if not jvm.ksqlpy.internals.Tasks.running(spark, query) and jvm.ksqlpy.sink.Senders.idle(query):
        register.leave(query, forget=forget)


def _unusable(topic: str, why: str) -> EngineProblem:
    return EngineProblem(
        "producer-register", f"the topic {topic}, which says who writes results, cannot be used: {why}"
    )


def service_taken() -> ServiceLost:
    """Another engine has the service."""
    return ServiceLost(
        "service-taken",
        "another engine has taken this service: this one runs no queries any more",
        hint="stop one of them, or give one another ksql.service.id",
    )
