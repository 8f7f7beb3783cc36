"""The broker that all tests of a process share, as a pytest plugin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime.brokers import _BROKER_SETTINGS
from ksqlpy.spark.kafka import Kafka
from tests.support.waiting import until

__all__ = ["broker", "fresh_broker"]


@pytest.fixture(scope="session")
def _shared_broker() -> Iterator[EmbeddedKafka]:
    # A producer of a test that is over must not recreate its topics for the next one.
    with EmbeddedKafka(settings={**_BROKER_SETTINGS, "auto.create.topics.enable": "false"}) as started:
        yield started


@pytest.fixture(scope="module")
def broker(_shared_broker: EmbeddedKafka) -> Iterator[EmbeddedKafka]:
    """A broker for the tests of a file, which leave it empty: with the settings of a server's own, without topics.

    It is the same one for all files, so a file that stops it, or needs another one, starts its own.
    """
    yield _shared_broker
    _empty(_shared_broker)


@pytest.fixture
def fresh_broker(broker: EmbeddedKafka) -> Iterator[EmbeddedKafka]:
    """The same for a single test, after which it is empty."""
    yield broker
    _empty(broker)


def _empty(broker: EmbeddedKafka) -> None:
    """Takes away topics and groups; what is still in use shows that a test leaves something behind."""
    kafka = Kafka(KafkaConnection(broker.bootstrap))
    kafka.delete_topics(_topics(kafka))
    assert until(lambda: not _topics(kafka)), f"topics are still there: {_topics(kafka)}"
    groups = [g.group_id for g in kafka._admin.list_consumer_groups().result(20).valid]
    if groups:
        for ended in kafka._admin.delete_consumer_groups(groups).values():
            ended.result(20)


def _topics(kafka: Kafka) -> list[str]:
    return [t for t in kafka.topics() if not t.startswith("__")]
