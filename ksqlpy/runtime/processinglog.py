"""The processing log: one entry for every dead letter, for queries that fail, and for expressions that do.

It follows the topic of dead letters, so that queries do nothing for it. Each entry has the place up to which it has
done so in a header; who starts again goes on behind that of the last entry, so none is missing and none comes twice.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from ksqlpy.deadletters import letter_of
from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.runtime.logentries import of_failed_values, of_failure, of_function, of_letter
from ksqlpy.spark.kafka import TIMEOUT, Kafka
from ksqlpy.spark.query import RunningQuery

__all__ = ["ProcessingLog"]

log = logging.getLogger(__name__)

UP_TO = "ksqlpy.letters"
"""Header of an entry: the offset of the next dead letter."""

COUNT_SECONDS = 10.0
"""Between looks at how many expressions have failed."""

ASK_SECONDS = 2.0
"""Between looks at what functions in Python have to tell."""

_AGAIN = 5.0
_LOOK = 0.5
_TOGETHER = 500
_BACK = (1, 100, 10_000)
"""So many records of the topic are looked at for the last entry; others may write there, too."""


class ProcessingLog:
    """Writes the log of one engine into the first partition of its topic.

    ``rows``: with the records that entries are about. ``check``: raises KsqlError where another engine may run the
    service. ``queries`` and ``failed``: the queries that run, and how many expressions of one have failed so far.
    ``functions``: what is to be told of functions in Python since it was asked before.
    """

    def __init__(
        self,
        kafka: Kafka,
        letters: str,
        topic: str,
        *,
        rows: bool,
        check: Callable[[], None],
        queries: Callable[[], Iterable[RunningQuery]],
        failed: Callable[[str], int],
        functions: Callable[[], Iterable[Mapping[str, Any]]] = tuple,
    ) -> None:
        self.topic = topic
        self._kafka = kafka
        self._letters = letters
        self._rows = rows
        self._check = check
        self._queries = queries
        self._failed = failed
        self._functions = functions
        self._next = 0
        self._refused: list[str] = []
        self._told: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._counted = self._asked = self._began = time.time()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="processing log", daemon=True)

    def start(self, *, make: bool) -> None:
        """Begins to write; ``make``: makes the topic if there is none.

        Without a topic it writes nothing, and says so. Raises EngineProblem.
        """
        if self.topic not in self._kafka.topics():
            if not make:
                log.warning("there is no processing log: topic %s does not exist", self.topic)
                return
            self._kafka.create_topic(self.topic, 1, None, {"retention.ms": "-1"})
        self._thread.start()

    def stop(self) -> None:
        """Ends it; dead letters that are not in the log yet are taken by the next start."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    # ------------------------------------------------------------ its thread

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except (KafkaException, KsqlError) as e:
                log.warning("the processing log waits: %s", e)
                self._stop.wait(_AGAIN)

    def _follow(self) -> None:
        """Writes entries until it is stopped; raises KafkaException and KsqlError."""
        producer = Producer(
            self._kafka.connection.producer(
                {
                    "acks": "all",
                    "enable.idempotence": True,
                    "message.max.bytes": 10_000_000,  # the topic's own limit counts
                    "message.timeout.ms": 0,  # what is given up would be missing between others
                }
            )
        )
        self._next = self._resumed()
        reader = self._kafka.reader()
        try:
            reader.assign([TopicPartition(self._letters, 0, self._next)])
            while not self._stop.is_set():
                found = reader.consume(_TOGETHER, timeout=_LOOK)
                self._check()
                for message in found:
                    if message.error() is not None:
                        continue
                    self._next = (message.offset() or 0) + 1
                    letter = letter_of(message)
                    # What a query of the log itself cannot read would come round for ever.
                    if letter is not None and letter.topic != self.topic:
                        self._write(producer, of_letter(letter, rows=self._rows))
                self._look(producer)
                self._flush(producer)
        finally:
            self._drain(producer)  # else they might come behind those of the next producer
            reader.close()

    def _look(self, producer: Producer) -> None:
        """Writes what is new of the queries themselves."""
        queries = list(self._queries())
        for query in queries:
            known = self._told.get(query.spec.id, self._began)
            for failure in [f for f in query.failures if f.at > known] if query.status.failed else ():
                self._told[query.spec.id] = failure.at
                self._write(producer, of_failure(query.spec.id, failure))
        if time.time() - self._asked >= ASK_SECONDS:
            self._asked = time.time()
            for told in self._functions():
                self._write(producer, of_function(told))
        if time.time() - self._counted >= COUNT_SECONDS:
            self._counted = time.time()
            before, self._counts = self._counts, {q.spec.id: self._failed(q.spec.id) for q in queries}
            for query_id, count in self._counts.items():
                last = before.get(query_id, 0)
                new = count - last if count >= last else count  # Spark's JVM counts from 0 when it is started again
                if new:
                    self._write(producer, of_failed_values(query_id, new))

    def _write(self, producer: Producer, entry: Mapping[str, Any]) -> None:
        producer.produce(
            self.topic,
            value=json.dumps(entry).encode(),
            partition=0,
            headers=[(UP_TO, str(self._next).encode())],
            on_delivery=self._delivered,
        )

    def _delivered(self, error: KafkaError | None, message: object) -> None:
        if error is not None:
            self._refused.append(error.str())

    def _drain(self, producer: Producer) -> None:
        while len(producer) and not self._stop.is_set():
            producer.flush(_LOOK)

    def _flush(self, producer: Producer) -> None:
        self._drain(producer)
        refused, self._refused = self._refused, []
        if refused:
            raise EngineProblem("not-written", f"{len(refused)} entries of the processing log: {refused[0]}")

    # ------------------------------------------------------------ where to go on

    def _resumed(self) -> int:
        """The offset of the first dead letter that has no entry yet."""
        reader = self._kafka.reader(ends=True)
        try:
            low, high = reader.get_watermark_offsets(TopicPartition(self.topic, 0), timeout=TIMEOUT)
            for back in _BACK if high > low else ():
                begin = max(low, high - back)
                reader.assign([TopicPartition(self.topic, 0, begin)])
                found = None
                while (message := reader.poll(TIMEOUT)) is not None and message.error() is None:
                    given = dict(message.headers() or ()).get(UP_TO) or b""
                    found = int(given) if given.isdigit() else found  # others may write into the topic
                if message is None:
                    raise EngineProblem("query-failed", "the brokers do not answer")
                if found is not None:
                    return found
                if begin == low:
                    break
            if high > low or not high:
                return 0
            # The topic was emptied, and with it the place. The letters are there; their entries were.
            return reader.get_watermark_offsets(TopicPartition(self._letters, 0), timeout=TIMEOUT)[1]
        finally:
            reader.close()
