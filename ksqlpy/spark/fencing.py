"""Two engines of one service never write at the same time: who writes is noted, and brokers refuse who wrote before.

A compacted topic, the register, holds two kinds of records, JSON:

    engine             {"engine": id}                                  the engine that has the service now
    <engine>/<query>   {"producers": [[jvm, producer id, [topic]]]}    the producers that may write a query's results

An engine that takes the service writes its name. A query notes its producer, reads the register up to that note, and
has the brokers end all other producers of it (``jvm/sink/SinkProducers.java``) before it looks at what is written. So
of two engines either the later one finds the earlier one's note, or the earlier one finds that it has lost the service
before it writes. An engine that was stopped in the midst of its work, for however long, has its next request refused.

On a cluster each executor has a producer of its own for each life of a query, and asks the engine to note it before its
first record (``jvm/sink/Writers.java``). The next life begins with the end of all of them. So it need not know whether
their executors have died, are stopped, or cannot be reached.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from ksqlpy.errors import EngineProblem, ServiceLost
from ksqlpy.spark.kafka import TIMEOUT, Kafka

__all__ = ["ProducerRegister", "SinkProducer", "service_handed_over", "service_taken"]

log = logging.getLogger(__name__)

_ENGINE = "engine"
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
        self._lives: dict[str, tuple[str, tuple[str, ...]]] = {}
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

    def begin_life(self, query: str, life: str, topics: tuple[str, ...]) -> tuple[SinkProducer, ...] | None:
        """Begins a life of a query, whose producers write these topics; those of no other life are admitted any more.

        Gives all that may still write the query's results, None if none was ever noted. Raises EngineProblem
        ``service-taken`` when another engine has the service.
        """
        with self._lock:
            self._lives[query] = (life, topics)
            self._follow()
            if self._owner != self._engine:
                raise service_taken()
            noted = self._of(query)
            return None if noted is None else tuple(noted)

    def admit(self, query: str, life: str, jvm: str, producer: int) -> str | None:
        """Notes a producer that is about to write in this life of a query; gives None, or why it must not."""
        with self._lock:
            known = self._lives.get(query)
            if known is None or known[0] != life:
                return "the query has been started again since, or has ended"
            mine, new = self._producers.get((self._engine, query), ()), SinkProducer(jvm, producer, known[1])
            if new not in mine:
                self._note(query, (*mine, new))
            self._follow()
            return None if self._owner == self._engine else service_taken().message

    def end_life(self, query: str, life: str) -> None:
        """Admits no producers of it any more."""
        with self._lock:
            if self._lives.get(query, ("",))[0] == life:
                del self._lives[query]

    def settle(self, query: str, *producers: SinkProducer) -> None:
        """Notes that no others may write the query's results."""
        with self._lock:
            if self._producers.get((self._engine, query)) != producers:
                self._note(query, producers)
            for engine, other in list(self._producers):
                if other == query and engine != self._engine:
                    self._write(f"{engine}/{query}", None)
            self._follow()

    def leave(self, query: str, *, forget: bool = False) -> None:
        """Notes, when the brokers take it, that nothing writes the query's results; ``forget``: nor ever will."""
        self._send(f"{self._engine}/{query}", None if forget else {"producers": []})

    def of_ended(self, known: Collection[str]) -> dict[str, tuple[SinkProducer, ...]]:
        """The producers that are noted for queries that are not known any more, by query.

        Raises EngineProblem ``service-taken`` when another engine has the service, which knows other queries.
        """
        with self._lock:
            self._follow()
            if self._owner != self._engine:
                raise service_taken()
            ended = {query for _, query in self._producers} - {*known}
            return {query: tuple(self._of(query) or ()) for query in sorted(ended)}

    def forget(self, query: str) -> None:
        """Notes, when the brokers take it, that nothing writes the query's results nor ever will: whoever noted it."""
        with self._lock:
            engines = [engine for engine, name in self._producers if name == query]
        for engine in engines:
            self._send(f"{engine}/{query}", None)

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


def service_handed_over() -> EngineProblem:
    """Spark's JVM is gone, and a standby has the service: a supervisor should start this server again."""
    return EngineProblem(
        "service-handed-over",
        "Spark's JVM is gone: a standby that was ready has been given this service",
        hint="start this server again, with --standby, so that there are two",
    )
