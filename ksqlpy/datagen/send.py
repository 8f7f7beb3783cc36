"""Rows leave: as JSON lines, or as records in the source's own formats into its topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TextIO

from confluent_kafka import KafkaException, Producer

from ksqlpy.catalog import Source
from ksqlpy.connection import KafkaConnection
from ksqlpy.datagen.pace import Pacer
from ksqlpy.errors import EngineProblem, reason_of
from ksqlpy.local.encode import encoded
from ksqlpy.local.rows import Row, shown_json

__all__ = ["print_rows", "producer", "send_rows"]

TIMEOUT = 30.0
"""Seconds that the brokers may take for a record."""

Tell = Callable[[int], None]
"""Told how many records there are so far."""


def print_rows(rows: Iterable[Row], source: Source, pacer: Pacer, stream: TextIO) -> None:
    """Writes each row as a line of JSON."""
    for row in rows:
        pacer.wait(stream.flush)
        print(shown_json(row, source), file=stream)


def producer(connection: KafkaConnection) -> Producer:
    """Writes records in their order, each to the partition that Kafka's own clients choose for its key."""
    return Producer(
        connection.producer(
            {
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "partitioner": "murmur2_random",
                "message.timeout.ms": int(TIMEOUT * 1000),
            }
        )
    )


def send_rows(
    rows: Iterable[Row],
    source: Source,
    pacer: Pacer,
    out: Producer,
    tell: Tell = lambda count: None,
) -> None:
    """Writes the rows into the topic, each when it is due, and waits until the brokers have them all.

    Raises EngineProblem ``not-written``, and what the rows raise.
    """
    failures: list[str] = []

    def delivered(error: object, message: object) -> None:
        if error is not None:
            failures.append(reason_of(error))

    def idle() -> None:
        out.poll(0)
        tell(pacer.count)

    try:
        for key, value, time in encoded(rows, source):
            pacer.wait(idle)
            _produce(out, source.topic, key, value, time, delivered)
            if pacer.count % 500 == 0:
                idle()
            if failures:
                break
    finally:
        left = out.flush(TIMEOUT)
    if left or failures:
        why = failures[0] if failures else "the brokers do not answer"
        raise EngineProblem("not-written", f"{left + len(failures)} records were not written to {source.topic}: {why}")
    tell(pacer.count)


def _produce(
    out: Producer,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    time: int | None,
    delivered: Callable[[object, object], None],
) -> None:
    while True:
        try:
            # 0 stands for now.
            out.produce(topic, key=key, value=value, timestamp=time or 0, on_delivery=delivered)
            return
        except BufferError:  # the brokers are slower than we are
            out.poll(0.1)
        except KafkaException as e:
            raise EngineProblem("not-written", f"a record was not written to {topic}: {reason_of(e)}") from e
