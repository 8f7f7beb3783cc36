"""A record that ends Spark's JVM each time it is read: its queries are held, the others run on, SKIP ends it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from ksqlpy.connection import KafkaConnection
from ksqlpy.deadletters import read_letters
from ksqlpy.deadletters.letters import records
from ksqlpy.errors import KsqlError
from tests.harness.broker import Broker
from tests.harness.server import Server
from tests.support.waiting import until

STATEMENTS = """
CREATE STREAM maps (k STRING KEY, a ARRAY<MAP<STRING, INT>>)
  WITH (KAFKA_TOPIC = 'maps', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM orders (k STRING KEY, n INT) WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM counted WITH (QUERY_ID = 'counted', KAFKA_TOPIC = 'counted') AS
  SELECT k, ARRAY_LENGTH(a) AS n FROM maps;
CREATE TABLE per_key WITH (QUERY_ID = 'per_key', KAFKA_TOPIC = 'per_key') AS
  SELECT k, COUNT(a) AS n FROM maps GROUP BY k;
CREATE STREAM copied WITH (QUERY_ID = 'copied', KAFKA_TOPIC = 'copied') AS SELECT k, n FROM orders;
CREATE TABLE summed WITH (QUERY_ID = 'summed', KAFKA_TOPIC = 'summed') AS
  SELECT k, SUM(n) AS n FROM orders GROUP BY k;
"""
POISON = b'{"A": [' + b",".join([b"{}"] * 5_000_000) + b"]}"
"""It is small on its way; read, its 5,000,000 maps are larger than the JVM's memory."""


class Rig:
    """A broker, and a server whose JVM has little memory."""

    def __init__(self, folder: Path) -> None:
        self.broker = Broker(folder / "broker")
        self.broker.start()
        self.connection = KafkaConnection(self.broker.bootstrap)
        self.server = Server(self.connection, folder, {"ksqlpy.spark.memory": "480m"})
        self.producer = Producer(
            {"bootstrap.servers": self.broker.bootstrap, "compression.type": "zstd", "message.max.bytes": 10**8}
        )

    def write(self, topic: str, *values: bytes) -> None:
        for value in values:
            self.producer.produce(topic, key=b"k", value=value, partition=0)
        assert self.producer.flush(60) == 0

    def read(self, topic: str) -> list[dict[str, int]]:
        return [json.loads(m.value()) for m in records(self.connection, {topic: {}})]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    try:
        made.server.start()
        yield made
    finally:
        made.server.close()
        made.broker.end()


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process, whose JVM dies")
def test_a_record_that_ends_the_jvm(rig: Rig) -> None:
    server, write, read = rig.server, rig.write, rig.read
    server.statements("SET 'auto.offset.reset' = 'earliest';" + STATEMENTS)
    assert until(lambda: set(server.queries().values()) == {"RUNNING"})
    write("orders", b'{"N": 1}')
    write("maps", b'{"A": [{}]}', POISON, b'{"A": [{}, {}]}')
    found = {"COUNTED": "ERROR", "PER_KEY": "ERROR", "COPIED": "RUNNING", "SUMMED": "RUNNING"}
    assert until(lambda: server.queries() == found, 240), server.queries()
    (described,) = server.statements("EXPLAIN counted;")
    said = described["queryDescription"]["queryErrors"][-1]["errorMessage"]
    assert said.startswith("Spark's JVM dies when the query reads record maps/0/1")
    deaths = server.log.read_text().count("Spark's JVM is gone")
    server.kill()
    server.start()
    assert until(lambda: server.queries() == found), server.queries()
    write("orders", b'{"N": 2}')
    assert until(lambda: len(read("copied")) == 2)
    assert server.log.read_text().count("Spark's JVM is gone") == deaths
    server.statements("SKIP 'maps/0/1' FOR ALL;")
    assert until(lambda: set(server.queries().values()) == {"RUNNING"})
    assert until(lambda: [r["N"] for r in read("counted")] == [1, 2])
    assert until(lambda: [r["N"] for r in read("per_key")] == [1, 2])
    (topic,) = (t for t in AdminClient({"bootstrap.servers": rig.broker.bootstrap}).list_topics().topics if "dead" in t)
    letters = read_letters(rig.connection, topic).letters
    assert sorted((x.query, x.topic, x.offset, x.reason) for x in letters) == [
        ("COUNTED", "maps", 1, f"skipped by a statement, without its {len(POISON) + 1} bytes"),
        ("PER_KEY", "maps", 1, f"skipped by a statement, without its {len(POISON) + 1} bytes"),
    ]
    with pytest.raises(KsqlError) as refused:
        server.statements("SKIP 'orders/0/0' FOR counted;")
    assert refused.value.code == "bad-record"


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process, whose JVM dies")
def test_queries_are_paused_and_ended_while_another_jvm_starts(rig: Rig, tmp_path: Path) -> None:
    server, write, read = rig.server, rig.write, rig.read
    server.statements("SET 'auto.offset.reset' = 'earliest';" + STATEMENTS)
    write("orders", b'{"N": 1}')
    assert until(lambda: [len(read(topic)) for topic in ("copied", "summed")] == [1, 1])
    checkpoints = tmp_path / "checkpoints"
    assert list(checkpoints.rglob("PER_KEY"))
    server.kill_jvm()
    assert until(lambda: "Spark's JVM is gone" in server.log.read_text())
    server.statements("PAUSE summed; TERMINATE per_key;")
    write("orders", b'{"N": 2}')
    found = {"COUNTED": "RUNNING", "COPIED": "RUNNING", "SUMMED": "PAUSED"}
    assert until(lambda: server.queries() == found), server.queries()
    assert until(lambda: [r["N"] for r in read("copied")] == [1, 2])
    assert until(lambda: not list(checkpoints.rglob("PER_KEY"))), "the JVM that ended could not remove it"
    assert [r["N"] for r in read("summed")] == [1]
    server.statements("RESUME summed;")
    assert until(lambda: [r["N"] for r in read("summed")] == [1, 3])


def reader(name: str, topic: str) -> str:
    """A query of its own kind for each number."""
    into = f"CREATE {{}} {name} WITH (QUERY_ID = '{name}', KAFKA_TOPIC = '{name}') AS "
    count = "ARRAY_LENGTH(a)" if topic == "maps" else "n"
    match int(name[-1]) % 5:
        case 0:
            return into.format("STREAM") + f"SELECT k, {count} AS n FROM {topic};"
        case 1:
            return into.format("STREAM") + f"SELECT k, {count} AS n FROM {topic} WHERE {count} > 0;"
        case 2:
            return into.format("TABLE") + f"SELECT k, COUNT({count}) AS n FROM {topic} GROUP BY k;"
        case 3:
            return into.format("STREAM") + f"SELECT k, {count} AS n FROM {topic} PARTITION BY k;"
        case _:
            return (
                into.format("TABLE")
                + f"SELECT k, MAX({count}) AS n FROM {topic} WINDOW TUMBLING (SIZE 1 DAY) GROUP BY k;"
            )


ONE_MAP = b'{"A": [{' + b",".join(b'"%d": 1' % i for i in range(1_000_000)) + b"}]}"
PAIRS = b'{"A": [' + b",".join([b'{"x": 1}'] * 1_600_000) + b"]}"


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process, whose JVM dies")
def test_three_records_and_fifteen_queries(rig: Rig) -> None:
    maps, others = [f"bad{i}" for i in range(5)], [f"good{i}" for i in range(10)]
    server, write, read = rig.server, rig.write, rig.read
    server.statements("SET 'auto.offset.reset' = 'earliest';" + STATEMENTS[: STATEMENTS.index("CREATE STREAM counted")])
    for name in maps + others:
        server.statements(reader(name, "maps" if name in maps else "orders"))
    assert until(lambda: set(server.queries().values()) == {"RUNNING"}, 180), server.queries()
    write("maps", b'{"A": [{}]}')
    write("orders", b'{"N": 1}')
    assert until(lambda: all(len(read(name)) == 1 for name in maps + others))

    def settled() -> dict[str, str]:
        """The states, once all run, or are held with a record that their description names."""
        states = server.queries()
        return states if set(states.values()) <= {"RUNNING", "ERROR"} else {}

    begin = time.monotonic()
    write("maps", POISON, b'{"A": [{}, {}]}', ONE_MAP, b'{"A": [{}, {}, {}]}', PAIRS, b'{"A": [{}, {}, {}, {}]}')
    skipped: dict[str, set[str]] = {}
    while True:
        assert until(lambda: "ERROR" in server.queries().values() or len(read("bad0")) >= 7 - len(skipped), 240)
        assert until(lambda: bool(settled()), 240), server.queries()
        held = [name for name, state in server.queries().items() if state == "ERROR"]
        print(f"{time.monotonic() - begin:.1f} s: held {held}")
        assert {name.lower() for name in held} <= set(maps)
        write("orders", b'{"N": 1}')
        if not held:
            break
        (described,) = server.statements(f"EXPLAIN {held[0]};")
        said = described["queryDescription"]["queryErrors"][-1]["errorMessage"]
        (record,) = re.findall(r"reads record (maps/0/\d)", said)
        assert record not in skipped
        skipped[record] = {name.lower() for name in held}
        server.statements(f"SKIP '{record}' FOR ALL;")
        begin = time.monotonic()
    assert set(skipped) <= {"maps/0/1", "maps/0/3", "maps/0/5"}
    lengths = [1, 5_000_000, 2, 1, 3, 1_600_000, 4]

    def left(name: str) -> list[list[int]]:
        """What the query may have read: a record that ends the JVM for others can have fitted in for it."""
        found: list[list[int]] = [[]]
        for i, n in enumerate(lengths):
            held = skipped.get(f"maps/0/{i}")
            read_it = [] if held is not None and name in held else [[*ns, n] for ns in found]
            found = [*read_it, *found] if held is not None else read_it
        return found

    def is_read(name: str) -> bool:
        found = [r["N"] for r in read(name)]
        if name == "bad2":
            return found[-1] in {len(ns) for ns in left(name)}
        return found[-1] in {max(ns) for ns in left(name)} if name == "bad4" else found in left(name)

    for name in maps:
        assert until(partial(is_read, name)), (name, skipped, read(name))
    sent = len(read("orders"))

    def is_whole(name: str) -> bool:
        found = read(name)
        return found[-1]["N"] == sent if name in ("good2", "good7") else len(found) == sent

    for name in ("good0", "good1", "good2", "good3", "good5", "good6", "good7", "good8"):
        assert until(partial(is_whole, name)), name
