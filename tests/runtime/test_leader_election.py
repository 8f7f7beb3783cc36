"""Requests for offsets while a partition's leader is elected: they are repeated; any other refusal is an error."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from confluent_kafka import KafkaError, KafkaException

from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark.kafka import Kafka


class Electing(Kafka):
    """Stands for brokers that refuse with each of these codes once, and then answer."""

    def __init__(self, *codes: int) -> None:
        super().__init__(KafkaConnection("localhost:1"))
        self.codes, self.refreshed = list(codes), 0

    def topics(self) -> dict[str, list[int]]:
        self.refreshed += 1
        return {}

    def _offsets(self, topics: Mapping[str, int], latest: bool, committed: bool) -> dict[str, dict[str, int]]:
        if self.codes:
            raise KafkaException(KafkaError(self.codes.pop(0)))
        return {t: {str(p): 7 for p in range(n)} for t, n in topics.items()}


def test_offsets_are_asked_for_again_while_leaders_change() -> None:
    kafka = Electing(
        KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.FENCED_LEADER_EPOCH, KafkaError.NOT_LEADER_FOR_PARTITION
    )
    assert kafka.offsets({"rides": 2}, latest=True) == {"rides": {"0": 7, "1": 7}}
    assert kafka.refreshed == 3  # the client has to learn who leads


def test_offsets_of_a_new_topic_are_asked_for_again_until_its_leaders_are_known() -> None:
    kafka = Electing(KafkaError._NOENT)
    assert kafka.offsets({"rides": 1}, latest=True) == {"rides": {"0": 7}}
    assert kafka.refreshed == 1


def test_any_other_refusal_is_an_error() -> None:
    kafka = Electing(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(EnvironmentProblem):
        kafka.offsets({"rides": 1}, latest=True)
    assert kafka.refreshed == 0
