"""The figures of GET /metrics are what the topics hold, to the record: also behind kills of Spark's JVM."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters import HEADERS
from ksqlpy.deadletters.letters import records
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.spark.kafka import Kafka
from ksqlpy.topicnames import dead_letters
from tests.harness.server import Server
from tests.support.monitoring import MADE
from tests.support.promql import Rule, Samples
from tests.support.waiting import until

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.extended("a server as a process, whose JVM dies"),
]

STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';
SET 'ksql.late.records.topic' = 'late_rides';
CREATE STREAM rides (id INT KEY, km INT, took INT)
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE people (id INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = 'people', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM speeds WITH (QUERY_ID = 'speeds', KAFKA_TOPIC = 'speeds') AS
  SELECT id, km / took AS speed FROM rides WHERE km > 0;
CREATE TABLE windows WITH (QUERY_ID = 'windows', KAFKA_TOPIC = 'windows') AS
  SELECT id, COUNT(*) AS n FROM rides WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY id;
CREATE STREAM named WITH (QUERY_ID = 'named', KAFKA_TOPIC = 'named') AS
  SELECT r.id, km, name FROM rides r JOIN people p ON r.id = p.id;
"""

INPUTS = {"SPEEDS": ("rides",), "WINDOWS": ("rides",), "NAMED": ("rides", "people")}
LETTER_TOPIC = dead_letters("truth_")
TOPICS = ("rides", "people", "speeds", "windows", "named", "late_rides", LETTER_TOPIC)

KEYS = 4

LARGEST = 1_000
"""Bytes of a record, at most."""

COMMIT = 1.0
"""Seconds between two checkpoints."""

Truth = dict[tuple[str, str], int]
"""Counts by query and figure; those of dead letters have their reason behind them."""

LETTERS = "dead_letters_total"


class World:
    """A server, its brokers, and what its topics hold."""

    def __init__(self, broker: EmbeddedKafka, folder: Path) -> None:
        self._connection = KafkaConnection(broker.bootstrap)
        self._kafka = Kafka(self._connection)
        settings = {
            "ksql.service.id": "truth_",
            "ksqlpy.warm.up": "false",
            "ksqlpy.record.max.bytes": str(LARGEST),
            "commit.interval.ms": f"{COMMIT * 1000:.0f}",
        }
        self.server = Server(self._connection, folder, settings)
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
        self._sent = 0
        self.samples = Samples()

    def send(self, count: int) -> None:
        """Rides, one a second by their time; of ten one cannot be read, one is too large, one late, one of no time."""
        for n in range(self._sent, self._sent + count):
            note = "x" * (2 * LARGEST if n % 10 == 9 else 1)
            value = json.dumps({"KM": 10, "TOOK": 0 if n % 10 == 5 else 2, "NOTE": note}).encode()
            self._producer.produce(
                "rides",
                key=(n % KEYS).to_bytes(4, "big"),
                value=b"nonsense" if n % 10 == 3 else value,
                partition=n % 2,
                timestamp=10_000_000 + n * 1000 - (100_000 if n % 10 == 7 else 0),
            )
        self._sent += count
        assert self._producer.flush(60) == 0

    def name_people(self) -> None:
        """People, in the partitions of their rides, who were there before the first ride."""
        for n in range(KEYS):
            value = json.dumps({"NAME": f"name {n}"}).encode()
            self._producer.produce("people", key=n.to_bytes(4, "big"), value=value, partition=n % 2, timestamp=1_000)
        assert self._producer.flush(60) == 0

    def held(self) -> Counter[str]:
        """How many records the topics have. Offsets are more: a producer that is fenced leaves a mark in them."""
        there = self._kafka.partitions(TOPICS)
        return Counter(str(m.topic()) for m in records(self._connection, {topic: {} for topic in there}))

    def letters(self) -> Counter[tuple[str, str]]:
        """How many dead letters each query has, by reason."""
        found: Counter[tuple[str, str]] = Counter()
        for m in records(self._connection, {LETTER_TOPIC: {}}):
            reason = "unreadable" if m.value() == b"nonsense" else "too_large"
            found[dict(m.headers() or ())[HEADERS["query"]].decode(), f"{LETTERS} {reason}"] += 1
        return found

    def failed(self) -> int:
        """How many results have no speed, which is that of a ride of no time."""
        values = [m.value() for m in records(self._connection, {"speeds": {}})]
        return sum(json.loads(v)["SPEED"] is None for v in values if v is not None)

    def truth(self) -> Truth:
        """The figures that follow from the topics."""
        held = self.held()
        found: Truth = dict(self.letters())
        for query, topics in INPUTS.items():
            found[query, "rows_in_total"] = sum(held[t] for t in topics)
            found[query, "rows_out_total"] = held[query.lower()]
            found[query, "late_rows_total"] = held["late_rides"] if query == "WINDOWS" else 0
            found[query, "failed_values_total"] = self.failed() if query == "SPEEDS" else 0
        return found

    def figures(self) -> Truth:
        """What the server tells, or nothing while it does not."""
        try:
            answer = httpx.get(f"{self.server.url}/metrics", timeout=10, trust_env=False)
        except httpx.TransportError:
            return {}
        found = Counter[tuple[str, str]]()
        for family in text_string_to_metric_families(answer.text):
            for s in family.samples:
                if (query := s.labels.get("query", "")) in INPUTS or s.name.startswith("ksqlpy_jvm"):
                    name = s.name.removeprefix("ksqlpy_").removeprefix("query_")
                    found[query, f"{name} {s.labels['reason']}" if name == LETTERS else name] += int(s.value)
        return dict(found)

    def scrape(self, minute: int) -> None:
        """Keeps what the server tells, for alert rules, as that of a time."""
        answer = httpx.get(f"{self.server.url}/metrics", timeout=10, trust_env=False)
        families = text_string_to_metric_families(answer.text)
        self.samples.scraped(60 * minute, [(s.name, s.labels, s.value) for family in families for s in family.samples])

    def differs(self, wanted: Truth) -> dict[tuple[str, str], tuple[int, int | None]]:
        """Waits until the figures are these; gives those that are others at last, behind what they should be."""
        found: dict[tuple[str, str], tuple[int, int | None]] = {}

        def agrees() -> bool:
            nonlocal found
            told = self.figures()
            known = {place: told.get(place) for place in wanted}
            found = {place: (n, known[place]) for place, n in wanted.items() if known[place] != n}
            return not found

        until(agrees, 120)
        return found

    def settled(self) -> Counter[str]:
        """What they have once nobody writes any more: the brokers may still take what a killed JVM had sent."""
        seen = self.held()

        def same() -> bool:
            nonlocal seen
            before, seen = seen, self.held()
            return before == seen

        assert until(same, every=0.5)
        return seen

    def all_done(self) -> None:
        """Waits until all that was sent is read and written."""
        readable = sum(n % 10 not in (3, 9) for n in range(self._sent))
        late = sum(n % 10 == 7 for n in range(self._sent))
        wanted = {"speeds": readable, "windows": readable - late, "named": readable, "late_rides": late}
        wanted[LETTER_TOPIC] = len(INPUTS) * (self._sent - readable)
        found: dict[str, int] = {}

        def done() -> bool:
            nonlocal found
            held = self.held()
            found = {topic: held[topic] for topic in wanted}
            return found == wanted

        assert until(done, 180, every=1), (found, wanted)

    def committed(self) -> None:
        """Waits for checkpoints of all queries that hold all that is there."""
        begin = time.time() + 2 * COMMIT
        name = "last_commit_timestamp_seconds"
        assert until(lambda: all(self.figures().get((q, name), 0) > begin for q in INPUTS)), self.figures()


@pytest.fixture
def world(broker: EmbeddedKafka, tmp_path: Path) -> Iterator[World]:
    made = World(broker, tmp_path)
    made.server.start()
    try:
        yield made
    finally:
        made.server.stop()


def test_the_figures_are_what_the_topics_hold(world: World) -> None:
    world.server.statements(STATEMENTS)
    world.name_people()
    at_rest = {(query, "lag_records"): 0 for query in INPUTS}
    assert world.differs({("NAMED", "rows_in_total"): KEYS}) == {}, "rides find their people"
    world.send(200)
    world.all_done()
    before = world.truth()
    assert before["SPEEDS", "rows_in_total"] == 200 and before["SPEEDS", "failed_values_total"] == 20
    assert before["WINDOWS", "late_rows_total"] == 20
    assert {before[query, f"{LETTERS} {reason}"] for query in INPUTS for reason in ("unreadable", "too_large")} == {20}
    assert world.differs({**before, **at_rest}) == {}
    world.committed()
    world.scrape(0)
    world.scrape(1)

    world.server.kill_jvm()  # at rest: what is counted from now on is what comes from now on
    world.send(100)
    world.all_done()
    now = world.truth()
    since = {place: n - before[place] for place, n in now.items()}
    since |= {place: n for place, n in now.items() if place[1].startswith(LETTERS)}  # which their topic counts
    assert since["SPEEDS", "rows_out_total"] == 80
    assert world.differs({**since, **at_rest, ("", "jvm_restarts_total"): 1}) == {}
    world.scrape(2)
    fired = {rule.name for a in MADE.ALERTS if (rule := Rule(a.name, a.expr, "0m")).firing(world.samples, 120)}
    assert fired >= {"KsqlpyJvmDied", "KsqlpyDeadLetters"}

    world.send(2_000)  # at work: some of it is read again, and none is written again
    assert until(lambda: world.held()["speeds"] > 300)
    world.server.kill_jvm()
    there = world.settled()
    world.all_done()
    now = world.truth()
    wanted = {(query, "rows_out_total"): now[query, "rows_out_total"] - there[query.lower()] for query in INPUTS}
    wanted |= {place: n for place, n in now.items() if place[1].startswith(LETTERS)}
    assert world.differs({**wanted, **at_rest, ("", "jvm_restarts_total"): 2}) == {}
    told = world.figures()
    for query in INPUTS:
        assert wanted[query, "rows_out_total"] <= told[query, "rows_in_total"] <= now[query, "rows_in_total"]
        for figure in ("late_rows_total", "failed_values_total"):
            assert told[query, figure] <= now[query, figure], "counts begin at 0 with a JVM"
    assert now["WINDOWS", "late_rows_total"] - there["late_rides"] <= told["WINDOWS", "late_rows_total"]
