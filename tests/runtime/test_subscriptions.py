"""Subscriptions on a broker: where one goes on, and that rows are written with what is acknowledged, or not at all."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer

from ksqlpy.access import Principal, asking
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError
from ksqlpy.runtime.inserting import InsertStreams
from ksqlpy.runtime.subscriptions import SubscribedPush, Subscriptions
from ksqlpy.sql import parse
from ksqlpy.testing.memory import MemoryEngine
from tests.runtime.test_inserting import STATEMENTS, TOPICS, lines, streams_on, written
from tests.runtime.test_resuming import committed

pytestmark = pytest.mark.kafka

RIDES = "SELECT id, city FROM rides WHERE id >= 0 EMIT CHANGES;"


@pytest.fixture
def engine() -> MemoryEngine:
    made = MemoryEngine(None)  # type: ignore[arg-type]  # nothing is run
    made.execute(STATEMENTS)
    return made


@pytest.fixture
def streams(fresh_broker: EmbeddedKafka, engine: MemoryEngine) -> Iterator[InsertStreams]:
    made = streams_on(fresh_broker.bootstrap, engine)
    yield made
    made.close()


class Opening:
    """Opens subscriptions, and closes them when the test ends."""

    def __init__(self, engine: MemoryEngine, streams: InsertStreams) -> None:
        self.engine = engine
        self.streams = streams
        self.subscriptions = Subscriptions(streams)
        self.opened: list[SubscribedPush] = []

    def __call__(self, name: str = "s", sql: str = RIDES, *, latest: bool = False) -> SubscribedPush:
        [parsed] = parse(sql)
        audited: Any = SimpleNamespace(needed=lambda *given: None)
        asked, how = self.engine._asked(parsed, {}, audited)
        assert how is not None
        kafka, topic = self.streams.brokers.kafka, asked.plan.relations[0].source.topic
        self.opened.append(
            self.subscriptions.open(
                name,
                uuid.uuid4().hex,
                asked,
                how,
                lambda: kafka.reader(committed=True),
                lambda: kafka.offsets({topic: TOPICS[topic]}, latest=latest),
                lambda push: None,
            )
        )
        return self.opened[-1]

    def rides(self, *numbers: int) -> None:
        written(self.streams.open("rides"), lines(*[{"city": f"c{abs(n) % 7}", "id": n} for n in numbers]))


@pytest.fixture
def opening(engine: MemoryEngine, streams: InsertStreams) -> Iterator[Opening]:
    made = Opening(engine, streams)
    yield made
    for push in made.opened:
        push.close()


def taken(push: SubscribedPush, count: int) -> list[int]:
    """So many rows of a query."""
    found: list[int] = []
    rows = push.rows()
    while len(found) < count:
        row: Any = next(rows)
        if row is not None:
            found.append(row[0])
    return found


def test_it_goes_on_behind_the_last_row_that_is_acknowledged(opening: Opening) -> None:
    opening.rides(*range(100), -1, -2)
    first = opening()
    found = taken(first, 100)
    assert sorted(found) == list(range(100))
    first.acknowledge(30)
    opening.subscriptions.acknowledge(first.id, 60, None, ())
    again = opening()
    rest = taken(again, 40)
    assert sorted(rest) == sorted(found[60:])
    again.acknowledge(40)
    opening.rides(-3, 100)
    assert taken(opening(), 1) == [100]
    assert sorted(taken(opening("other"), 101)) == list(range(101))


def test_a_transaction_that_the_brokers_have_ended_is_nobody_elses(
    opening: Opening,
) -> None:
    opening.rides(*range(4))
    push = opening()
    found = taken(push, 4)
    push.acknowledge(1)
    name = f"{opening.streams.brokers.topics.subscriptions}//s"
    producer = Producer(opening.streams.brokers.connection.producer({"transactional.id": name}))
    producer.init_transactions()  # the epoch is another one, as after the end of a transaction, and nothing is noted
    with pytest.raises(EngineProblem) as ended:
        push.acknowledge(2)
    assert (ended.value.code, ended.value.error_code) == ("query-ended", 50000)
    again = opening()
    assert sorted(taken(again, 3)) == sorted(found[1:])
    again.acknowledge(3)
    with pytest.raises(EngineProblem) as refused:
        push.acknowledge(2)
    assert refused.value.code == "subscription-taken"


def test_where_a_new_one_begins_is_known_when_it_comes_back(opening: Opening) -> None:
    opening.rides(1, 2)
    opening("late", latest=True).close()
    opening.rides(3)
    assert taken(opening("late", latest=True), 1) == [3]


def test_rows_are_written_with_the_acknowledgement_or_not_at_all(opening: Opening) -> None:
    opening.rides(*range(6))
    push = opening()
    taken(push, 6)
    push.acknowledge(2, "people", lines({"id": 1, "name": "a"}, {"id": 2, "name": "b"}))
    push.acknowledge(2, "people", lines({"id": 2, "name": "sent again"}))
    for bad in ({"name": "nobody"}, {"id": "x"}, {"age": 3}, {"id": 3, "ROWTIME": 0}):
        with pytest.raises(KsqlError) as refused:
            push.acknowledge(4, "people", lines({"id": 3, "name": "c"}, bad))
        assert refused.value.error_code == 40000
    with pytest.raises(KsqlError) as large:
        push.acknowledge(4, "small", lines({"v": "fits"}, {"v": "x" * 5000}))
    assert "too many for the topic" in large.value.message
    with pytest.raises(ConfigProblem) as unknown:
        push.acknowledge(4, "nowhere", lines({"id": 3}))
    assert unknown.value.code == "unknown-source"
    push.acknowledge(5, "small", lines(*[{"v": f"{n:0900}"} for n in range(5)]))
    push.acknowledge(6)
    assert committed(opening.streams, "people") == [[b"a", b"b"]]
    assert [int(v or b"") for v in committed(opening.streams, "small")[0]] == [*range(5)]
    opening.rides(7)
    assert taken(opening(), 1) == [7]


def test_who_opens_it_takes_it(opening: Opening) -> None:
    opening.rides(1, 2, 3)
    older = opening()
    taken(older, 3)
    older.acknowledge(1, "people", lines({"id": 1, "name": "a"}))
    younger = opening()
    with pytest.raises(EngineProblem) as refused:
        older.acknowledge(2, "people", lines({"id": 2, "name": "lost"}))
    assert (refused.value.code, refused.value.error_code) == ("subscription-taken", 40900)
    taken(younger, 2)
    younger.acknowledge(2, "people", lines({"id": 2, "name": "b"}))
    with pytest.raises(EngineProblem) as again:  # with a producer of its own for this topic
        older.acknowledge(2, "small", lines({"v": "lost"}))
    assert again.value.code == "subscription-taken"
    assert committed(opening.streams, "small") == [[]]
    assert committed(opening.streams, "people") == [[b"a", b"b"]]


def test_what_cannot_be_acknowledged(opening: Opening) -> None:
    opening.rides(1, 2)
    push = opening()
    taken(push, 2)
    with pytest.raises(ConfigProblem) as more:
        push.acknowledge(3)
    assert (more.value.code, more.value.message) == (
        "bad-acknowledgement",
        "3 rows cannot be acknowledged: 2 were given",
    )
    push.close()
    with pytest.raises(EngineProblem) as closed:
        push.acknowledge(2)
    assert closed.value.code == "query-ended"
    with pytest.raises(ConfigProblem) as unknown:
        opening.subscriptions.acknowledge("nothing", 1, None, ())
    assert unknown.value.code == "unknown-query"


def test_subscriptions_belong_to_a_login(opening: Opening) -> None:
    def who(name: str, role: str = "writer") -> Principal:
        return Principal(name, frozenset({role}), "basic")

    opening.rides(1, 2)
    with asking(who("ann")):
        own = opening()
    taken(own, 2)
    with asking(who("bob")):
        assert sorted(taken(opening(), 2)) == [1, 2]
        with pytest.raises(ConfigProblem) as foreign:
            opening.subscriptions.acknowledge(own.id, 2, None, ())
    assert foreign.value.code == "unknown-query"
    with asking(who("ann", "reader")), pytest.raises(KsqlError) as caught:
        opening.subscriptions.acknowledge(own.id, 2, "people", lines({"id": 1}))
    assert caught.value.error_code == 40300
    with asking(who("ann")):
        opening.subscriptions.acknowledge(own.id, 2, "people", lines({"id": 1, "name": "a"}))
    assert [json.dumps(v.decode()) for v in committed(opening.streams, "people")[0]] == ['"a"']


def test_no_more_than_a_number_of_them(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.runtime.subscriptions.MOST", 1)
    held = opening("one")
    with pytest.raises(EngineProblem) as refused:
        opening("two")
    assert refused.value.error_code == 40003
    assert held is opening.opened[0]
    with pytest.raises(EngineProblem) as limited:
        opening("one", f"{RIDES[:-1]} LIMIT 3;")
    assert limited.value.code == "subscription-needs-query"
