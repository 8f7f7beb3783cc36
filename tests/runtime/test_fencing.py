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
def test_a_takeover_ends_what_was_noted_and_refuses_what_comes_later(fresh_broker: EmbeddedKafka) -> None:
    kafka = Kafka(KafkaConnection(fresh_broker.bootstrap))
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


@pytest.mark.kafka
def test_on_a_cluster_only_producers_of_the_present_life_are_admitted_and_all_are_known_to_the_next(
    fresh_broker: EmbeddedKafka,
) -> None:
    kafka = Kafka(KafkaConnection(fresh_broker.bootstrap))
    first = ProducerRegister(kafka, "register", "first")
    first.take()
    assert first.begin_life("Q", "1", ("results", "dead")) is None  # nothing is known of before
    first.settle("Q")
    assert first.admit("Q", "1", "a", 7) is None
    assert first.admit("Q", "1", "b", 8) is None
    assert first.admit("Q", "1", "b", 8) is None  # it asks again
    assert set(first.begin_life("Q", "2", ("results", "dead")) or ()) == {OLD, NEW}
    assert first.admit("Q", "1", "c", 9) == "the query has been started again since, or has ended"
    first.settle("Q")
    assert first.admit("Q", "2", "c", 9) is None
    second = ProducerRegister(kafka, "register", "second")
    second.take()
    late = first.admit("Q", "2", "a", 7)  # it is noted, and must not write
    assert late is not None and "another engine has taken this service" in late
    assert set(second.begin_life("Q", "3", ("results", "dead")) or ()) == {LATE, OLD}
    first.end_life("Q", "2")
    assert first.admit("Q", "2", "c", 9) == "the query has been started again since, or has ended"
    for register in (first, second):
        register.close()


@pytest.mark.kafka
def test_queries_that_have_ended_are_forgotten_whoever_noted_them(fresh_broker: EmbeddedKafka) -> None:
    kafka = Kafka(KafkaConnection(fresh_broker.bootstrap))
    first = ProducerRegister(kafka, "register", "first")
    first.take()
    for query, producer in (("ENDED", OLD), ("PAUSED", NEW), ("EMPTY", LATE)):
        first.enter(query, producer)
    first.leave("EMPTY")
    second = ProducerRegister(kafka, "register", "second")
    second.take()
    second.enter("ENDED", NEW)
    with pytest.raises(ServiceLost):
        first.of_ended(())  # it does not know the queries of the second engine
    assert second.of_ended(("PAUSED",)) == {"EMPTY": (), "ENDED": (OLD, NEW)}
    for query in ("EMPTY", "ENDED"):
        second.forget(query)
    second.close()  # all is noted then
    third = ProducerRegister(kafka, "register", "third")
    third.take()
    assert third.of_ended(()) == {"PAUSED": (NEW,)}
    assert third.enter("ENDED", LATE) is None  # as one that never was
    for register in (first, third):
        register.close()
