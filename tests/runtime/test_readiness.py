"""A standby that is ready, as the active server sees it in the brokers."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import EngineProblem
from ksqlpy.runtime.cluster.readiness import Readiness
from ksqlpy.spark.kafka import Kafka
from tests.support.waiting import until


@pytest.mark.kafka
def test_a_standby_is_seen_while_it_is_ready(broker: EmbeddedKafka) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic("commands", 1, 1)])["commands"].result()
    active, standby = (Readiness(Kafka(KafkaConnection(broker.bootstrap)), "ready", "commands") for _ in range(2))
    assert not active.any()
    standby.say(ready=True)
    assert until(active.any)
    standby.say(ready=False)
    assert until(lambda: not active.any())
    standby.say(ready=True)
    assert until(active.any), "it is ready again"
    standby.say(ready=False)


def test_brokers_that_do_not_say_keep_nobody_from_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = Kafka(KafkaConnection("127.0.0.1:1"))

    def refused(group: str) -> dict[str, bool]:
        raise EngineProblem("not-authorized", f"group {group} may not be described")

    monkeypatch.setattr(kafka, "members", refused)
    assert not Readiness(kafka, "ready", "commands").any()
