"""One engine a service: who has it, who loses it, and who comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest
from confluent_kafka import Consumer

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime.cluster import ownership
from ksqlpy.runtime.cluster.ownership import Ownership
from ksqlpy.spark.kafka import Kafka
from tests.support.waiting import until as wait_until

until = partial(wait_until, seconds=60)

TOPIC, GROUP = "commands", "engines"


@pytest.fixture(scope="module")
def kafka(broker: EmbeddedKafka) -> Iterator[Kafka]:
    found = Kafka(KafkaConnection(broker.bootstrap))
    found.create_topic(TOPIC, 1, None, {})
    yield found


@pytest.fixture
def ours(kafka: Kafka) -> Iterator[Ownership]:
    made = Ownership(kafka, GROUP, TOPIC, "ours")
    made.take()
    yield made
    made.release()


def joined(kafka: Kafka, identity: str, *, owns: bool = True) -> Consumer:
    """A member of the group that has come with this identity; ``owns``: and has got the service."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.connection.bootstrap,
            "group.id": GROUP,
            "group.instance.id": identity,
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 1500,
            "log_level": 0,
        }
    )
    consumer.subscribe([TOPIC])
    assert until(lambda: consumer.poll(0.1) is None and (bool(consumer.assignment()) or not owns))
    return consumer


@pytest.mark.kafka
@pytest.mark.slow
def test_another_self_that_ends_gives_it_back(kafka: Kafka, ours: Ownership) -> None:
    """As where brokers that were killed take the engine for an older self, which does not live."""
    joined(kafka, "ours").close()  # a static member that closes stays in the group until its session ends
    assert until(lambda: not kafka.members(GROUP))
    assert until(lambda: kafka.members(GROUP) == {"ours": True})
    assert not ours.lost.is_set()


@pytest.mark.kafka
@pytest.mark.slow
def test_another_self_that_lives_has_it(kafka: Kafka, ours: Ownership, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "PATIENCE", 4.0)
    other = joined(kafka, "ours")

    def lost() -> bool:
        other.poll(0.1)
        return ours.lost.is_set()

    assert until(lost)
    other.close()


@pytest.fixture
def standby(kafka: Kafka, ours: Ownership, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ownership]:
    """Waits for what is ours, and is less patient than others."""
    monkeypatch.setattr(ownership, "PATIENCE", 1.0)
    made, waited = Ownership(kafka, GROUP, TOPIC, "standby"), threading.Event()
    taking = threading.Thread(target=made.take, args=(waited.set,), daemon=True)
    with monkeypatch.context() as sooner:
        sooner.setattr(ownership, "SESSION_SECONDS", 1)  # others are looked for after two of them
        taking.start()
        assert waited.wait(60)
    yield made
    made.give_up()
    made.release()


@pytest.mark.kafka
@pytest.mark.slow
def test_a_standby_that_has_waited_for_long_keeps_what_it_takes_over(
    kafka: Kafka, ours: Ownership, standby: Ownership
) -> None:
    """What another engine had while it waited was never its own, and is not lost."""
    time.sleep(4)  # it looks for others every two seconds
    ours.release()
    assert until(lambda: kafka.members(GROUP).get("standby", False))
    assert until(lambda: not standby.doubtful.is_set())
    assert not standby.lost.is_set()


@pytest.mark.kafka
@pytest.mark.slow
def test_a_standby_that_the_brokers_refuse_waits_on(kafka: Kafka, ours: Ownership, standby: Ownership) -> None:
    """As where brokers that were killed take it for an older self: it joins again when nobody is in the group."""
    other = joined(kafka, "standby", owns=False)
    assert until(lambda: other.poll(0.1) is None and standby.doubtful.is_set())
    time.sleep(4)
    assert not standby.lost.is_set()
    other.close()
    ours.release()
    assert until(lambda: kafka.members(GROUP).get("standby", False))
    assert until(lambda: not standby.doubtful.is_set())
    assert not standby.lost.is_set()
