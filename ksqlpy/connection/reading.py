"""A consumer of librdkafka that goes on behind batches which it cannot unpack.

librdkafka unpacks a batch up to ``receive.message.max.bytes`` (100 MB) and takes a larger one for a damaged one. It
gives an error, asks for the batch again, and comes no further: one record of 12 KB would hold all who read its topic.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from ksqlpy.atwork import waiting

__all__ = ["Reader"]

log = logging.getLogger(__name__)

_UNREADABLE = {KafkaError._BAD_COMPRESSION, KafkaError._BAD_MSG}
_SECONDS = 30.0
"""How long the end of a batch is looked for."""


class Reader(Consumer):
    """A consumer of partitions that are assigned by hand; a batch that cannot be unpacked is left out, and logged."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(dict(settings))
        self._settings = dict(settings)

    def poll(self, timeout: float = -1) -> Message | None:
        """As that of :class:`Consumer`."""
        message = super().poll(0)
        if message is not None and message.error() is None:
            return message
        end = time.monotonic() + timeout
        with waiting():
            while message is None or self._left_out(message):
                left = max(0.0, end - time.monotonic()) if timeout >= 0 else timeout
                message = super().poll(left)
                if message is None:
                    return None
        return message

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """As that of :class:`Consumer`."""
        with waiting():
            return [m for m in super().consume(num_messages, timeout) if not self._left_out(m)]

    def close(self) -> None:
        """As that of :class:`Consumer`, which waits for its threads."""
        with waiting():
            super().close()

    def _left_out(self, message: Message) -> bool:
        error = message.error()
        topic, partition, first = message.topic(), message.partition(), message.offset()
        if error is None or error.code() not in _UNREADABLE or topic is None or partition is None or first is None:
            return False
        behind = self._behind(topic, partition, first)
        if behind is not None:
            log.warning(
                "records %d to %d of partition %d of topic %s are left out: they cannot be unpacked (%s)",
                first, behind - 1, partition, topic, error.str(),
            )  # fmt: skip
            self.seek(TopicPartition(topic, partition, behind))
        return True

    def _behind(self, topic: str, partition: int, first: int) -> int | None:
        """The offset behind the batch that begins with this one; None where the brokers do not answer in time."""
        end = time.monotonic() + _SECONDS
        probe = Consumer({**self._settings, "enable.partition.eof": True})

        def within(offset: int) -> bool:
            probe.assign([TopicPartition(topic, partition, offset)])
            while (left := end - time.monotonic()) > 0:
                message = probe.poll(left)
                if message is None:
                    continue
                if (error := message.error()) is None:
                    return False
                if error.code() in _UNREADABLE:
                    return message.offset() == first
                if error.code() == KafkaError._PARTITION_EOF:
                    return False
            raise TimeoutError

        try:
            last = probe.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)[1]
            inside, step = first, 1
            while (behind := min(first + step, last)) < last and within(behind):
                inside, step = behind, 2 * step
            while behind - inside > 1:
                middle = (inside + behind) // 2
                inside, behind = (middle, behind) if within(middle) else (inside, middle)
            return behind
        except Exception as e:  # brokers that are away: the batch is met again
            log.debug("the end of a batch was not found: %s", e)
            return None
        finally:
            probe.close()
