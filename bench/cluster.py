"""The same server with its tasks in the driver's JVM, and on executors of a cluster on this machine, in one run.

GROUP BY over four partitions: latency of records that come one after the other, then the throughput of a backlog. Both
servers run all the time, on one broker; rounds alternate, so that what else happens on the machine meets both alike.
Both read the backlog twice before the rounds that count, so that their code is compiled. The server on executors keeps
no spare driver, since one would start during a measurement.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.jobs import bulk_producer, send
from bench.results import Results, watch
from bench.served import serve
from ksqlpy.embedded.kafka import EmbeddedKafka
from tests.harness.server import Server

__all__ = ["cluster", "fill", "flow"]

MASTERS = {"one JVM": "local[64]", "two executors": "local-cluster[2,32,1024]"}
PARTITIONS = 4
KEYS = 50
SETTLE = 10.0
"""Seconds of records that are not counted."""
WARM = 2
"""How often both read the backlog ahead of the rounds."""


def cluster(rate: int, seconds: int, records: int, rounds: int) -> Iterator[str]:
    """The lines of the table: per round and as medians, and the ratios of executors to one JVM."""
    with ExitStack() as stack:
        broker = stack.enter_context(EmbeddedKafka())
        servers = {}
        for number, (name, master) in enumerate(MASTERS.items()):
            servers[name] = serve(stack, broker.bootstrap, master, f"bench{number}_", memory="1g", spare_driver="false")
        backlog = "backlog"
        _declare(next(iter(servers.values())), backlog)
        _declare(list(servers.values())[1], backlog)
        fill(broker.bootstrap, backlog, records, KEYS)
        late: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
        flows: dict[str, list[Results]] = {name: [] for name in servers}
        for number in range(WARM):
            for name in servers:
                got = flow(servers[name], broker.bootstrap, backlog, f"w{number}_{len(name)}", records)
                yield f"not counted, {name}: {_shown(got)}"
        for number in range(rounds):
            order = list(servers)[:: 1 if number % 2 == 0 else -1]
            for name in order:
                late[name].append(_latency(servers[name], broker.bootstrap, f"l{number}_{len(name)}", rate, seconds))
                p50, p99 = late[name][-1]
                yield f"round {number + 1}, {name}: latency p50 {p50:.1f} ms, p99 {p99:.1f} ms"
            for name in order:
                flows[name].append(flow(servers[name], broker.bootstrap, backlog, f"b{number}_{len(name)}", records))
                yield f"round {number + 1}, {name}: {_shown(flows[name][-1])}"
    one, other = MASTERS
    for i, what in enumerate(("p50", "p99")):
        a, b = (statistics.median(each[i] for each in late[name]) for name in (one, other))
        yield f"latency {what}: {one} {a:.1f} ms, {other} {b:.1f} ms, ratio {b / a:.2f} (medians of {rounds})"
    for part, of in _PARTS.items():
        a, b = (statistics.median(of(each) for each in flows[name]) for name in (one, other))
        yield f"throughput, {part}: {one} {a:,.0f}/s, {other} {b:,.0f}/s, ratio {b / a:.2f} (medians of {rounds})"


_PARTS: dict[str, Callable[[Results], float]] = {
    "second half": lambda r: r.second_half,
    "first to last": lambda r: r.flow,
}


def _shown(found: Results) -> str:
    return ", ".join(f"{part} {of(found):,.0f} results/s" for part, of in _PARTS.items())


def _declare(server: Server, topic: str) -> None:
    server.statements(
        f"CREATE STREAM {topic} (k STRING KEY, v INT, t DOUBLE)"
        f" WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON', PARTITIONS={PARTITIONS});"
    )


def _query(server: Server, source: str, sink: str) -> str:
    """Makes the table; gives the id of its query."""
    (made,) = server.statements(
        f"CREATE TABLE {sink} WITH (KAFKA_TOPIC='{sink}', PARTITIONS={PARTITIONS}) AS"
        f" SELECT k, COUNT(*) AS c, SUM(v) AS s, MAX(t) AS t FROM {source} GROUP BY k;"
    )
    found: str = made["commandStatus"]["queryId"]
    return found


def fill(bootstrap: str, topic: str, records: int, keys: int) -> None:
    """Writes a backlog of so many records, with so many keys in turn."""
    producer = bulk_producer(bootstrap)
    for n in range(records):
        send(producer, topic, b"k%d" % (n % keys), b'{"V":%d,"T":0.0}' % n)
    producer.flush()


def _consumer(bootstrap: str, topic: str) -> Consumer:
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    return Consumer({**settings, "fetch.wait.max.ms": 5, "fetch.queue.backoff.ms": 5})


def _latency(server: Server, bootstrap: str, name: str, rate: int, seconds: int) -> tuple[float, float]:
    """p50 and p99 in ms from the moment that a record is sent until its result is received."""
    topic, sink = f"in_{name}", f"out_{name}"
    _declare(server, topic)
    query = _query(server, topic, sink)
    _wait_until_running(server, query)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    consumer = _consumer(bootstrap, sink)
    consumer.assign([TopicPartition(sink, p, 0) for p in range(PARTITIONS)])
    took: list[float] = []
    begin = time.time()
    sent = got = 0
    total = int(rate * (SETTLE + seconds))
    while got < total and time.time() < begin + SETTLE + seconds + 30:
        due = min(total, int((time.time() - begin) * rate))
        while sent < due:
            producer.produce(topic, key=b"k%d" % (sent % KEYS), value=json.dumps({"V": 1, "T": time.time()}).encode())
            sent += 1
        producer.poll(0)
        for message in consumer.consume(500, timeout=0.001):
            if message.error() is None:
                got += 1
                at = json.loads(message.value() or b"{}")["T"]
                if at > begin + SETTLE:
                    took.append((time.time() - at) * 1000)
    consumer.close()
    server.statements(f"TERMINATE {query};")
    if got < total:
        raise RuntimeError(f"{got} of {total} results came")
    took.sort()
    return took[len(took) // 2], took[len(took) * 99 // 100]


def flow(server: Server, bootstrap: str, topic: str, name: str, records: int) -> Results:
    """The results of a GROUP BY over a backlog of so many records; raises RuntimeError when some are missing."""
    sink = f"out_{name}"
    begin = time.monotonic()
    query = _query(server, topic, sink)
    found = watch(bootstrap, sink, records, begin, partitions=PARTITIONS)
    server.statements(f"TERMINATE {query};")
    if found.missing:
        raise RuntimeError(f"{found.missing} of {records} results did not come")
    return found


def _wait_until_running(server: Server, query: str) -> None:
    end = time.monotonic() + 60
    while server.queries().get(query) != "RUNNING" and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(1)
