"""Ten healthy queries at work beside something hostile: what they must not feel is measured all the time."""

from __future__ import annotations

import asyncio
import http.client
import multiprocessing
import time
from collections.abc import Mapping
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from types import TracebackType

from confluent_kafka import Consumer, TopicPartition

from ksqlpy.connection import KafkaConnection
from tests.chaos.jobs import JOBS
from tests.chaos.load import Load
from tests.chaos.sinks import Topics
from tests.chaos.verdict import HEADER, Verdict
from tests.harness.broker import Broker
from tests.harness.server import Server
from tests.support.waiting import until

__all__ = ["Beside"]

TEN = ("filter", "explode", "group", "join", "having", "window", "session", "between", "best", "chain")
RATE = 500
"""Records a second, of all together."""
PARTITIONS = 2
LOOK = 0.05
"""Seconds between two questions."""

_PROCESSES = multiprocessing.get_context("spawn")
"""What measures has a process of its own: it must not wait for what the test does."""


def _answers(port: Synchronized[int]) -> None:
    """A server that does nothing else than to answer: what the machine alone makes of a request."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(one, "127.0.0.1", 0)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    asyncio.run(run())


def _asks(host: str, longest: Synchronized[float], failures: Synchronized[int]) -> None:
    """Asks for ``/info``, on a new connection each time, for ever."""
    while True:
        time.sleep(LOOK)
        begin = time.monotonic()
        connection = http.client.HTTPConnection(host, timeout=60)
        try:
            connection.request("GET", "/info")
            failed = connection.getresponse().status != 200
        except OSError:
            failed = True
        finally:
            connection.close()
        with longest.get_lock():
            longest.value = max(longest.value, time.monotonic() - begin)
        failures.value += failed


def _reads(bootstrap: str, sinks: Mapping[str, int], latest: Synchronized[float]) -> None:
    """Reads all results from now on, for ever."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "late", "fetch.wait.max.ms": 20}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    places = [TopicPartition(topic, number) for topic, count in sinks.items() for number in range(count)]
    for place in places:
        place.offset = consumer.get_watermark_offsets(place, timeout=30)[1]
    consumer.assign(places)
    while True:
        for message in consumer.consume(1000, LOOK):
            if message.error() is None:
                late = time.time() - message.timestamp()[1] / 1000
                with latest.get_lock():
                    latest.value = max(latest.value, late)


class Beside:
    """A broker and a server with ten queries under load, from the beginning to the end of the context."""

    def __init__(self, folder: Path, more: Mapping[str, str] | None = None) -> None:
        self._broker = Broker(folder / "broker")
        self._broker.start()
        self.connection: KafkaConnection = self._broker.connection
        self.server = Server(self.connection, folder, more)
        self._jobs = [JOBS[name] for name in TEN]
        self._load = Load(
            self.connection,
            [f for j in self._jobs for f in j.feeds],
            rate=RATE,
            partitions=PARTITIONS,
            seed=1,
            scatter=False,
            encode=lambda _, value: value,
        )
        self._topics = Topics(self.connection, lambda value: value)
        self._longest = _PROCESSES.Value("d", 0.0)
        self._latest = _PROCESSES.Value("d", 0.0)
        self._bare = _PROCESSES.Value("d", 0.0)
        self._port = _PROCESSES.Value("i", 0)
        self._failures = _PROCESSES.Value("i", 0)
        self._processes: list[multiprocessing.process.BaseProcess] = []

    def __enter__(self) -> Beside:
        self.server.start()
        for job in self._jobs:
            self.server.statements(job.declare.format(p=PARTITIONS))
        self._load.preload()
        for job in self._jobs:
            self.server.statements("SET 'auto.offset.reset' = 'earliest'; " + job.query)
        self._load.start()
        sinks = self._topics.partitions([j.sink for j in self._jobs])
        assert until(lambda: all((self._topics.ends(sinks) or {"": 0}).values()), 180)
        time.sleep(5)  # from here on they are at the end of their topics
        host = self.server.url.removeprefix("http://")
        peer = _PROCESSES.Process(target=_answers, args=(self._port,), daemon=True)
        self._processes.append(peer)
        peer.start()
        assert until(lambda: bool(self._port.value))
        bare = f"127.0.0.1:{self._port.value}"
        asking = [
            _PROCESSES.Process(target=_asks, args=(host, self._longest, self._failures), daemon=True),
            _PROCESSES.Process(target=_asks, args=(bare, self._bare, self._failures), daemon=True),
            _PROCESSES.Process(target=_reads, args=(self.connection.bootstrap, sinks, self._latest), daemon=True),
        ]
        for process in asking:
            self._processes.append(process)
            process.start()
        assert until(lambda: self.info > 0 and self.late > 0 and self.bare > 0)
        return self

    @property
    def info(self) -> float:
        """The longest answer of ``/info`` since the last :meth:`forget`, in seconds."""
        return float(self._longest.value)

    @property
    def bare(self) -> float:
        """The longest answer of a server of some lines beside it, in seconds: what the machine alone takes."""
        return float(self._bare.value)

    @property
    def late(self) -> float:
        """How long after its record's time the latest result was there, in seconds."""
        return float(self._latest.value)

    @property
    def failures(self) -> int:
        """How often ``/info`` did not answer, or with an error."""
        return int(self._failures.value)

    def forget(self) -> None:
        """What was measured up to now is not counted."""
        self._longest.value = self._bare.value = self._latest.value = 0.0

    def verdicts(self) -> list[Verdict]:
        """Ends the load, and compares all results with what was sent."""
        self._load.finish()
        sinks = self._topics.partitions([j.sink for j in self._jobs])

        def found() -> list[Verdict]:
            return [j.check(self._load.sent, self._topics.read(j.sink, sinks[j.sink])) for j in self._jobs]

        until(lambda: not any(v.missing for v in found()), 60, every=1)
        verdicts = found()
        print("\n".join(["", HEADER, *(v.line() for v in verdicts)]))
        return verdicts

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.terminate()
            process.join()
        self._topics.close()
        self.server.close()
        self._broker.end()
