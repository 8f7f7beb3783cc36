"""Of two engines of a service the later one knows the earlier one's producers, or the earlier one does not write."""

from __future__ import annotations

import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ServiceLost
from ksqlpy.spark.fencing import ProducerRegister, SinkProducer
from ksqlpy.spark.kafka import Kafka

OLD, NEW, LATE = (SinkProducer(jvm, n, ("results", "dead")) for n, jvm in enumerate(("a", "b", "c"), 7))


@pytest.mark.kafka
def test_a_takeover_ends_what_was_noted_and_refuses_what_comes_later() -> None:
    with EmbeddedKafka() as broker:
        kafka = Kafka(KafkaConnection(broker.bootstrap))
        first, second = (ProducerRegister(kafka, "register", name) for name in ("first", "second"))
        first.take()
        assert first.enter("Q", OLD) is None  # nothing is known of before
        assert first.enter("Q", OLD) == ()
        second.take()
        with pytest.raises(ServiceLost):
            first.check()
        with pytest.raises(ServiceLost):
            first.enter("Q", LATE)  # it is noted, though it must not write
        second.check()
        assert set(second.enter("Q", NEW) or ()) == {OLD, LATE}
        second.settle("Q", NEW)
        first.leave("Q")  # its query has ended now; that says nothing of the second engine's
        first.close()
        assert second.enter("Q", NEW) == ()
        third = ProducerRegister(kafka, "register", "third")
        third.take()
        assert third.enter("Q", LATE) == (NEW,)
        for register in (second, third):
            register.close()
