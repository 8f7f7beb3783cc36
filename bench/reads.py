"""Reading tables and streams: lookups, copies, and push queries with many clients.

The server is a process of its own, its clients are this process, on the same processors.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import uvloop
from confluent_kafka import Producer

from ksqlpy.runtime import Engine
from tests.harness.server import Server

__all__ = ["reads"]

CONNECTIONS = 8
KEYS = 10_000
SECONDS = 15.0
WARM_UP = 20.0
"""Seconds: in its first ones a JVM compiles what the query that feeds the table runs."""
_DELIMITED = "application/vnd.ksqlapi.delimited.v1"


def reads(engine: Engine, rows: int) -> Iterator[str]:
    """All figures, in lines; ``rows``: of the large table."""
    with tempfile.TemporaryDirectory(prefix="bench-reads-") as name:
        server = Server(engine.connection, Path(name), {"ksql.service.id": "reads_", "ksql.max.push.queries": "1000"})
        server.start()
        try:
            yield from _lookups(engine, server)
            yield from _visible(engine, server)
            yield from _first_rows(engine, server)
            yield from _clients(engine, server, clients=100, rate=100)
            yield from _clients(engine, server, clients=500, rate=20)
        finally:
            server.end()
    yield from _library(engine)
    yield from _large(engine, rows)


def _table(server: Server | Engine, name: str) -> None:
    sql = (
        f"CREATE STREAM {name}_S (K STRING KEY, V INT) WITH (KAFKA_TOPIC='{name}_s', FORMAT='JSON', PARTITIONS=1);"
        f"CREATE TABLE {name} AS SELECT K, COUNT(*) AS N, MAX(V) AS V FROM {name}_S GROUP BY K;"
    )
    if isinstance(server, Server):
        server.statements(sql)
    else:
        server.execute(sql, {"auto.offset.reset": "earliest"})


class _Feed:
    """Records that come all the time, so many a second, into a topic; a context manager."""

    def __init__(self, engine: Engine, topic: str, rate: float) -> None:
        self._producer = Producer(engine.connection.producer({"linger.ms": 0}))
        self._topic, self._rate = topic, rate
        self._ended = threading.Event()
        self.sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        begin = time.monotonic()
        while not self._ended.is_set():
            due = int((time.monotonic() - begin) * self._rate)
            while self.sent < due:
                key, value = _key(self.sent % KEYS), json.dumps({"V": self.sent})
                self._producer.produce(self._topic, key=json.dumps(key), value=value)
                self.sent += 1
            self._producer.poll(0)
            time.sleep(0.002)
        self._producer.flush()

    def __enter__(self) -> _Feed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def _key(i: int) -> str:
    return f"key{i:06}"


def _percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


# ---------------------------------------------------------------- lookups


def _fill(engine: Engine, topic: str) -> None:
    producer = Producer(engine.connection.producer({"linger.ms": 20}))
    for i in range(KEYS):
        producer.produce(topic, key=json.dumps(_key(i)), value='{"V": 1}')
        producer.poll(0)
    producer.flush()


def _lookups(engine: Engine, server: Server) -> Iterator[str]:
    _table(server, "LOOKED_UP")
    with _Feed(engine, "LOOKED_UP_s", 1000):
        time.sleep(KEYS / 1000 + 5)
        uvloop.run(_ask(server, WARM_UP))
        times, answered = uvloop.run(_ask(server, SECONDS))
    ms = [t * 1000 for t in times]
    yield (
        f"lookups over REST, {CONNECTIONS} connections, 1,000 records/s feed the table: {len(ms) / SECONDS:,.0f}/s,"
        f" p50 {statistics.median(ms):.1f} ms, p99 {_percentile(ms, 0.99):.1f} ms, {answered:,} with a row"
    )


async def _ask(server: Server, seconds: float) -> tuple[list[float], int]:
    times: list[float] = []
    answered = 0

    async def one(number: int) -> None:
        nonlocal answered
        http = await _Http.open(server)
        i = number
        while time.monotonic() < end:
            i = (i * 7919 + 13) % KEYS
            sql = f"SELECT * FROM LOOKED_UP WHERE K = '{_key(i)}';"
            begin = time.perf_counter()
            body = await http.post("/query-stream", {"sql": sql}, "application/json")
            times.append(time.perf_counter() - begin)
            answered += body.count(b"key")
        http.close()

    end = time.monotonic() + seconds
    await asyncio.gather(*(one(n) for n in range(CONNECTIONS)))
    return times, answered


class _Http:
    """A connection that is kept, with nothing but what is needed here."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @staticmethod
    async def open(server: Server) -> _Http:
        place = urlsplit(server._client.url)
        return _Http(*await asyncio.open_connection(place.hostname, place.port))

    async def begin(self, path: str, body: dict[str, Any], accept: str) -> dict[bytes, bytes]:
        """Sends a request; gives the headers of the answer."""
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accept}\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        if b" 200" not in lines[0]:
            raise RuntimeError(lines[0].decode() + (await self._reader.read(500)).decode())
        return {n.lower(): v.strip() for n, _, v in (line.partition(b":") for line in lines[1:]) if n}

    async def chunk(self) -> bytes:
        """The next chunk; empty at the end."""
        size = int(await self._reader.readline(), 16)
        data = await self._reader.readexactly(size + 2)
        return data[:size]

    async def post(self, path: str, body: dict[str, Any], accept: str) -> bytes:
        """The whole answer to a request."""
        headers = await self.begin(path, body, accept)
        if b"content-length" in headers:
            return await self._reader.readexactly(int(headers[b"content-length"]))
        whole = b""
        while data := await self.chunk():
            whole += data
        return whole

    def close(self) -> None:
        self._writer.close()


def _library(engine: Engine) -> Iterator[str]:
    _table(engine, "INSIDE")
    _fill(engine, "INSIDE_s")
    sql = "SELECT * FROM INSIDE WHERE K = '{}';"
    while True:
        query = engine.query("SELECT K FROM INSIDE;")
        if sum(1 for _ in query.rows()) == KEYS:
            break
        time.sleep(0.5)
    engine.query(sql.format(_key(1)))
    rounds = []
    for _ in range(3):
        count, end = 0, time.perf_counter() + 3
        while time.perf_counter() < end:
            found = engine.look_up(sql.format(_key(count % KEYS)))
            assert found is not None and len(found[1]) == 1
            count += 1
        rounds.append(count / 3)
    shown = " ".join(f"{r:,.0f}" for r in rounds)
    yield f"lookups in the library: {statistics.median(rounds):,.0f}/s (median of {shown})"


def _visible(engine: Engine, server: Server) -> Iterator[str]:
    server.statements(
        "CREATE TABLE SEEN (K STRING PRIMARY KEY, V INT) WITH (KAFKA_TOPIC='seen', FORMAT='JSON', PARTITIONS=1);"
    )
    producer = Producer(engine.connection.producer({"linger.ms": 0}))

    async def measured() -> list[float]:
        http = await _Http.open(server)
        ask = {"sql": "SELECT V FROM SEEN WHERE K = 'a';"}
        await http.post("/query-stream", ask, "application/json")
        found = []
        for i in range(300):
            producer.produce("seen", key='"a"', value=json.dumps({"V": i}))
            producer.flush()  # the brokers have it
            begin = time.perf_counter()
            while f"[{i}]".encode() not in await http.post("/query-stream", ask, "application/json"):
                pass
            found.append((time.perf_counter() - begin) * 1000)
            await asyncio.sleep(0.01)
        http.close()
        return found

    ms = uvloop.run(measured())
    p50, p99 = statistics.median(ms), _percentile(ms, 0.99)
    yield f"a record in the topic is seen by a lookup after p50 {p50:.1f} ms, p99 {p99:.1f} ms"


# ---------------------------------------------------------------- push queries


def _first_rows(engine: Engine, server: Server) -> Iterator[str]:
    server.statements(
        "CREATE STREAM LIVE (K STRING KEY, V INT) WITH (KAFKA_TOPIC='live', FORMAT='JSON', PARTITIONS=1);"
    )
    server.statements("INSERT INTO LIVE VALUES ('a', 1);")
    for what, select in (("plain", "K, V"), ("with an expression", "K, V + 1 AS W")):
        found = []
        for _ in range(5):
            found.append(uvloop.run(_first_row(server, f"SELECT {select} FROM LIVE EMIT CHANGES LIMIT 1;")))
            time.sleep(0.5)
        shown = " ".join(f"{s:.3f}" for s in found)
        yield f"first row of a push query, {what}: {statistics.median(found):.3f} s (median of {shown})"


async def _first_row(server: Server, sql: str) -> float:
    http = await _Http.open(server)
    begin = time.perf_counter()
    properties = {"auto.offset.reset": "earliest"}
    await http.begin("/query-stream", {"sql": sql, "properties": properties}, _DELIMITED)
    text = b""
    while text.count(b"\n") < 2:
        text += await http.chunk()
    took = time.perf_counter() - begin
    http.close()
    return took


def _clients(engine: Engine, server: Server, *, clients: int, rate: int, seconds: float = 20.0) -> Iterator[str]:
    name = f"MANY{clients}"
    server.statements(
        f"CREATE STREAM {name} (K STRING KEY, V INT) WITH (KAFKA_TOPIC='{name.lower()}', FORMAT='JSON', PARTITIONS=1);"
    )
    process = psutil.Process(server.pid)
    counts = [0] * clients
    last = [-1] * clients
    wrong = 0

    async def one(number: int, ready: asyncio.Semaphore) -> None:
        nonlocal wrong
        http = await _Http.open(server)
        await http.begin("/query-stream", {"sql": f"SELECT V FROM {name} EMIT CHANGES;"}, _DELIMITED)
        text = await http.chunk()
        while text.count(b"\n") < 1:
            text += await http.chunk()
        ready.release()
        rest = b""
        while True:
            *lines, rest = (rest + await http.chunk()).split(b"\n")
            for line in lines:
                value = int(line[1:-1])
                wrong += value != last[number] + 1 and last[number] >= 0
                last[number] = value
                counts[number] += 1

    async def run() -> tuple[int, float, float, float]:
        ready = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(one(n, ready)) for n in range(clients)]
        for _ in range(clients):
            await ready.acquire()
        before, cpu = process.memory_info().rss / 2**20, sum(process.cpu_times()[:2])
        with _Feed(engine, name.lower(), rate) as feed:
            await asyncio.sleep(seconds)
        end = time.monotonic() + 30
        while min(counts) < feed.sent and time.monotonic() < end and not any(t.done() for t in tasks):
            await asyncio.sleep(0.1)
        after = process.memory_info().rss / 2**20
        used = sum(process.cpu_times()[:2]) - cpu
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return feed.sent, before, after, used

    sent, before, after, used = uvloop.run(run())
    lost = sum(sent - c for c in counts)
    yield (
        f"{clients} push clients at {rate} records/s for {seconds:.0f} s: {sum(counts):,} rows, {lost} lost,"
        f" {wrong} out of order; memory of the server {before:.0f} MB before, {after:.0f} MB after;"
        f" {used:.1f} s of its processor time"
    )


# ---------------------------------------------------------------- a large table


def _large(engine: Engine, rows: int) -> Iterator[str]:
    engine.execute(
        "CREATE TABLE LARGE (K BIGINT PRIMARY KEY, V STRING) WITH (KAFKA_TOPIC='large', KEY_FORMAT='KAFKA',"
        " VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    producer = Producer(engine.connection.producer({"linger.ms": 50, "batch.size": 1_000_000}))
    for i in range(rows):
        while True:
            try:
                producer.produce("large", key=i.to_bytes(8, "big"), value=b'{"V":"value %d of the table"}' % i)
                break
            except BufferError:
                producer.poll(0.1)
        if i % 10_000 == 0:
            producer.poll(0)
    producer.flush()
    process = psutil.Process()
    before = process.memory_info().rss / 2**20
    begin = time.perf_counter()
    while True:
        copy = engine.reads.copies
        try:
            list(engine.query("SELECT V FROM LARGE WHERE K = 1;").rows())
            break
        except Exception as e:
            if getattr(e, "code", "") != "copy-behind":
                raise
    took = time.perf_counter() - begin
    yield f"a table of {rows:,} rows copied in {took:.1f} s: {rows / took:,.0f} records/s"
    copy.close()
    begin = time.perf_counter()
    [row] = [r for r in engine.query(f"SELECT V FROM LARGE WHERE K = {rows - 1};").rows() if r is not None]
    opened = time.perf_counter() - begin
    assert row == [f"value {rows - 1} of the table"]
    after = process.memory_info().rss / 2**20
    yield f"opened again, with its first lookup, in {opened:.2f} s; memory {before:.0f} MB before, {after:.0f} MB after"
