"""Streams of rows with an id on a broker: what is there when one begins is exact, and each row is written once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.access import Principal, asking
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError
from ksqlpy.runtime.inserting import InsertStreams
from ksqlpy.runtime.insertrows import InsertStream
from ksqlpy.testing.memory import MemoryEngine
from tests.harness.broker import Broker
from tests.runtime.test_inserting import STATEMENTS, TOPICS, lines, streams_on, written
from tests.support.waiting import until

pytestmark = pytest.mark.kafka


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


def committed(streams: InsertStreams, topic: str) -> list[list[Any]]:
    """The values in each partition, without those of transactions that were aborted."""
    kafka = streams.brokers.kafka
    ends = kafka.offsets({topic: TOPICS[topic]}, latest=True)[topic]
    return [
        [value for _, value in kafka._records(topic, {int(p): 0}, end + 1, 30, committed=True)]
        for p, end in ends.items()
    ]


def test_each_row_once_and_in_order(streams: InsertStreams) -> None:
    rows = lines(*[{"ID": n} for n in range(30_000)])  # without keys: to any partition
    begun = 0
    for end in (1, 2, 9_000, 9_000, 30_000):
        stream = streams.open("rides", "loader")
        assert (stream.standing, stream.taken, stream.acked) == (begun, begun, begun)
        written(stream, rows[begun:end])
        assert (stream.acked, stream.taken, stream.failure) == (end, end, None)
        begun = end
    again = streams.open("rides", "loader", 29_990)
    written(again, [*rows[29_990:], *lines({"ID": 30_000})])
    assert (again.standing, again.acked) == (30_000, 30_001)
    found = [[json.loads(value)["ID"] for value in each] for each in committed(streams, "rides")]
    assert sorted(n for each in found for n in each) == list(range(30_001))
    assert all(each == sorted(each) for each in found)


def test_a_row_that_is_there_can_be_read(streams: InsertStreams) -> None:
    kafka, stream, place = streams.brokers.kafka, streams.open("people", "loader"), {"people": TOPICS["people"]}
    for number in range(100):
        written(stream, lines({"id": number}))
        ends, stable = (kafka.offsets(place, latest=True, committed=committed) for committed in (False, True))
        assert stable == ends


def test_rows_may_not_be_left_out(streams: InsertStreams) -> None:
    written(streams.open("people", "loader"), lines({"id": 1}, {"id": 2}))
    with pytest.raises(ConfigProblem) as caught:
        streams.open("people", "loader", 3)
    assert (caught.value.code, caught.value.error_code) == ("rows-missing", 40000)
    assert caught.value.message == "row 3 cannot come next: 2 rows of id loader are there"


def test_a_row_that_the_topic_does_not_take(streams: InsertStreams) -> None:
    stream = streams.open("small", "loader")
    written(stream, lines(*[{"v": "x" * (5000 if n == 30 else n)} for n in range(40)]))
    assert (stream.acked, stream.taken) == (30, 30)
    assert stream.failure is not None
    assert "which are too many for the topic" in stream.failure.message
    assert stream.failure.error_code == 40001
    again = streams.open("small", "loader", 0)
    written(again, lines(*[{"v": "x" * (0 if n == 30 else n)} for n in range(40)]))
    assert (again.standing, again.acked) == (30, 40)
    assert [len(v or b"") for v in committed(streams, "small")[0]] == [*range(30), 0, *range(31, 40)]


def test_a_bad_row_ends_it_behind_those_before_it(streams: InsertStreams) -> None:
    stream = streams.open("people", "loader")
    written(stream, lines({"id": 1}, {"name": "nobody"}, {"id": 3}))
    assert (stream.acked, stream.ended) == (1, True)
    assert stream.failure is not None and stream.failure.code == "no-key"
    again = streams.open("people", "loader")
    written(again, lines({"id": 2, "ROWTIME": 0}))
    assert again.standing == again.acked == 1
    assert again.failure is not None and again.failure.message == "ROWTIME 0 needs a stream without an id"


def test_the_younger_of_two_goes_on(streams: InsertStreams) -> None:
    older = streams.open("people", "loader")
    written(older, lines({"id": 1, "name": "a"}))
    younger = streams.open("people", "loader")
    written(older, lines({"id": 2, "name": "lost"}))
    assert older.failure is not None
    assert (older.acked, older.failure.code, older.failure.error_code) == (1, "insert-id-taken", 40900)
    written(younger, lines({"id": 2, "name": "b"}))
    assert younger.acked == 2
    assert committed(streams, "people") == [[b"a", b"b"]]


def test_ids_belong_to_topic_and_login(streams: InsertStreams) -> None:
    def who(name: str, how: str, role: str = "writer") -> Principal:
        return Principal(name, frozenset({role}), how)

    people = [who("ann", "basic"), who("ann", "token"), who("b/ob", "basic"), who("b", "jwt"), None]
    opened = []
    for person in people:
        with asking(person):
            opened.append(streams.open("people", "loader"))
    for number, stream in enumerate(opened, 1):
        written(stream, lines(*[{"id": n} for n in range(number)]))
        assert stream.acked == number  # nobody has taken it
    for number, person in enumerate(people, 1):
        with asking(person):
            assert streams.open("people", "loader").standing == number
    assert streams.open("rides", "loader").standing == streams.open("people", "other").standing == 0
    with asking(who("ann", "basic", "reader")), pytest.raises(KsqlError) as caught:
        streams.open("people", "loader")
    assert caught.value.error_code == 40300


def test_what_is_known_goes_with_the_topic(streams: InsertStreams) -> None:
    written(streams.open("people", "loader"), lines({"id": 1}))
    kafka = streams.brokers.kafka
    kafka.delete_topics(["people"])
    kafka.create_topic("people", 1, None, {})
    assert until(lambda: streams.open("people", "loader").standing == 0)


def test_so_many_are_open_at_one_time(streams: InsertStreams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.runtime.resuming.MOST", 1)
    first = streams.open("people", "first")
    with pytest.raises(EngineProblem) as caught:
        streams.open("people", "second")
    assert (caught.value.code, caught.value.error_code) == ("too-many-inserts", 42900)
    first.close()
    assert first.write(lines({"id": 1})) == 0
    streams.open("people", "second")
    # One that nobody holds any more is not open either.
    assert streams.open("people", "third").standing == 0


def test_all_end_with_the_engine(streams: InsertStreams) -> None:
    stream = streams.open("people", "loader")
    streams.close()
    written(stream, lines({"id": 1}))
    assert stream.failure is not None and stream.failure.error_code == 50303
    with pytest.raises(EngineProblem) as caught:
        streams.open("people", "loader")
    assert caught.value.error_code == 50303


@pytest.mark.slow
def opened(streams: InsertStreams) -> InsertStream:
    """As a client does who tries again: a broker that comes back takes its time for groups and transactions."""
    for _ in range(8):
        with contextlib.suppress(EngineProblem):
            return streams.open("people", "loader", 0)
    return streams.open("people", "loader", 0)


@pytest.mark.extended("streams of rows with an id, whose broker is killed and comes back")
def test_brokers_that_are_away(tmp_path: Path, engine: MemoryEngine) -> None:
    broker = Broker(tmp_path / "broker")
    broker.start()
    streams = streams_on(broker.bootstrap, engine)
    stream = streams.open("people", "loader")
    written(stream, lines({"id": 1, "name": "a"}))

    def away() -> None:
        written(stream, lines({"id": 2, "name": "b"}, {"id": 3, "name": "c"}), 90)
        assert stream.acked == 1
        assert stream.failure is not None
        assert (stream.failure.code, stream.failure.error_code) == ("not-inserted", 50000)

    broker.kill(0, away)
    again = opened(streams)
    written(again, lines(*[{"id": n, "name": name} for n, name in enumerate("abcd", 1)]), 90)
    assert again.acked == 4
    assert committed(streams, "people") == [[b"a", b"b", b"c", b"d"]]
    streams.close()
    broker.end()
