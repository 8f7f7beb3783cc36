"""What kills and queries leave behind: ``python -m tests.harness.leaks [--kills N] [--queries N]``.

Kills: a server of its own loses its JVM and is itself killed with SIGKILL, by turns. Queries: an engine of its own
makes a query, has it write results, and drops it with its topic. After the first and after the last of them folders,
threads, topics and memory are measured; it fails where more is there than before. Needs psutil (the extra ``dev``).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import logging
import os
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from ksqlpy.config import Config
from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.runtime import Engine
from ksqlpy.spark.kafka import Kafka
from tests.harness.broker import Broker
from tests.harness.problem import HarnessProblem
from tests.harness.server import Server, jvms
from tests.support.waiting import until

__all__ = ["Figures", "kills", "left_over", "main", "measured", "queries"]

PATIENCE = 120.0
"""Seconds that a query may take to be live, to write, or to be back after a kill, on a busy machine."""
SETTLED = 90.0
"""Seconds in which what has ended must be gone from a process: idle threads of Java's pools end after a minute."""

Tell = Callable[[str], None]

_SOURCE = (
    "CREATE STREAM leak_s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 'leak_s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
)
_QUERIES = (
    "CREATE TABLE leak_q WITH (KAFKA_TOPIC = 'leak_q') AS SELECT k, COUNT(*) AS n FROM leak_s GROUP BY k;",
    "CREATE STREAM leak_q WITH (KAFKA_TOPIC = 'leak_q') AS SELECT k, v FROM leak_s WHERE v >= 0;",
)
_DROPS = ("DROP TABLE leak_q DELETE TOPIC;", "DROP STREAM leak_q DELETE TOPIC;")


@dataclass(frozen=True)
class Figures:
    """What there is: ``files`` and ``bytes`` in the folders, without logs and what Kafka keeps; memory in MB.

    ``threads``: of the Python process, ``jvm_threads`` and ``heap`` (after a collection; 0 where it cannot be asked).
    """

    files: int
    bytes: int
    topics: int
    threads: int
    jvm_threads: int
    heap: int
    rss: int
    jvm_rss: int

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in asdict(self).items())


def left_over(first: Figures, last: Figures) -> list[str]:
    """In which figures more is there than before.

    A few files and threads may come and go; memory is left out where a collector has not run.
    """
    room = {"files": 20, "bytes": 2_000_000, "topics": 0, "threads": 5, "jvm_threads": 12, "heap": 30, "rss": 60}
    before, after = asdict(first), asdict(last)
    return [f"{n}: {before[n]:,} before, {after[n]:,} after" for n, more in room.items() if after[n] > before[n] + more]


def measured(folders: Sequence[Path], kafka: Kafka, server: psutil.Process, heap: Callable[[], int]) -> Figures:
    """The figures of a server process and its folders now."""
    # Not by rglob: folders go meanwhile.
    files = [f for top in folders for at, _, names in os.walk(top) for n in names if _counts(f := Path(at, n))]
    java = jvms(server.children(recursive=True))
    return Figures(
        len(files),
        sum(_size(f) for f in files),
        len(kafka.topics()),
        server.num_threads(),
        sum(j.num_threads() for j in java),
        heap(),
        server.memory_info().rss >> 20,
        sum(j.memory_info().rss for j in java) >> 20,
    )


def _counts(file: Path) -> bool:
    return not {"broker", "kafka"} & set(file.parts) and ".log" not in file.name and file.is_file()


def _size(file: Path) -> int:
    with contextlib.suppress(OSError):  # it is gone meanwhile
        return file.stat().st_size
    return 0


def _settled(measure: Callable[[], Figures], first: Figures | None) -> Figures:
    """The figures once nothing is left over any more, or at last; the first ones once the files stay."""
    end = time.monotonic() + SETTLED
    before, found = -1, measure()
    while time.monotonic() < end and (found.files != before if first is None else left_over(first, found)):
        time.sleep(2)
        before, found = found.files, measure()
    return found


# ---------------------------------------------------------------- kills


def kills(number: int, folder: Path, tell: Tell) -> tuple[Figures, Figures]:
    """Kills JVM and server by turns; gives the figures after the first kills of both, and after the last.

    Raises KsqlError, among them HarnessProblem ``not-back`` when the query does not write again.
    """
    tmp = folder / "tmp"
    tmp.mkdir()
    broker = Broker(folder / "broker")
    with contextlib.ExitStack() as stack:
        broker.start()
        stack.callback(broker.end)
        kafka = Kafka(broker.connection)
        with _temporary(tmp):
            server = Server(broker.connection, folder)
            stack.callback(server.close)
            server.start()
            server.statements(_SOURCE + _QUERIES[0])
            first: Figures | None = None
            last: Figures | None = None
            for n in range(number + 1):
                if n % 2:
                    server.kill_jvm()
                elif n:
                    server.kill()
                    server.wait_for_children()
                    server.start()
                server.statements(f"INSERT INTO leak_s VALUES ('k', {n});", PATIENCE)
                _wait(partial(_holds, kafka, "leak_q", n + 1), "not-back", f"after kill {n}")
                if n in (2, number):
                    process = psutil.Process(server.pid)
                    found = _settled(partial(measured, [folder], kafka, process, int), first)
                    first, last = first or found, found
                    tell(f"after {n} kills: {found}")
                elif n % 10 == 0:
                    tell(f"after {n} kills")
    assert first is not None and last is not None
    return first, last


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    """Children take this folder for temporary files."""
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before


# ---------------------------------------------------------------- queries


def queries(engine: Engine, number: int, folder: Path, tell: Tell) -> tuple[Figures, Figures]:
    """Makes and drops queries on a started engine; gives the figures after the first ones, and after the last.

    ``folder``: of the engine's data. Raises KsqlError.
    """
    engine.execute(_SOURCE)
    first: Figures | None = None
    last: Figures | None = None
    process = psutil.Process()
    for n in range(1, number + 1):
        engine.execute(_QUERIES[n % 2])
        _wait(lambda: all(_live(engine, q) for q in engine.catalog.queries), "not-live", f"query {n}")
        engine.execute(f"INSERT INTO leak_s VALUES ('k', {n});")
        _wait(partial(_holds, engine.kafka, "leak_q", 1), "no-result", f"query {n}")
        engine.execute(_DROPS[n % 2])
        _wait(lambda: "leak_q" not in engine.kafka.topics(), "topic-not-gone", f"query {n}")
        if n in (2, number) or n % 50 == 0:
            found = _settled(lambda: measured([folder], engine.kafka, process, lambda: _heap(engine)), first)
            first, last = first or found, found
            tell(f"after {n} queries: {found}")
            _tell_threads(engine, tell)
    engine.execute("DROP STREAM leak_s DELETE TOPIC;")
    assert first is not None and last is not None
    return first, last


def _tell_threads(engine: Engine, tell: Tell) -> None:
    """Which threads there are, for people; numbers in their names count as one."""
    jvm: Any = engine.session._jvm
    names = [t.getName() for t in jvm.java.lang.Thread.getAllStackTraces().keySet()]
    for whose, found in (("Python", [t.name for t in threading.enumerate()]), ("JVM", names)):
        groups = Counter(re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9]+", "#", name) for name in found)
        tell(f"    {whose}: {', '.join(f'{n} {name}' for name, n in groups.most_common(25))}")


def _live(engine: Engine, query_id: str) -> bool:
    running = engine.queries.get(query_id)
    return running is not None and running.live.is_set()


def _heap(engine: Engine) -> int:
    """MB of the heap that are in use after a collection."""
    gc.collect()
    jvm: Any = engine.session._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    for _ in range(2):
        runtime.gc()
    return (int(runtime.totalMemory()) - int(runtime.freeMemory())) >> 20


def _holds(kafka: Kafka, topic: str, number: int) -> bool:
    return sum(kafka.offsets(kafka.partitions([topic]), latest=True).get(topic, {}).values()) >= number


def _wait(done: Callable[[], bool], code: str, what: str) -> None:
    if not until(done, PATIENCE, every=0.05):
        raise HarnessProblem(code, f"{what}: not within {PATIENCE:g} s")


# ---------------------------------------------------------------- command


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives the exit code: 0 nothing is left, 1 something is."""
    parser = argparse.ArgumentParser(prog="leaks", description="What kills and queries leave behind.")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="so many kills of JVM and server by turns")
    parser.add_argument("--queries", type=int, default=0, metavar="N", help="so many queries, made and dropped")
    options = parser.parse_args(arguments)
    logging.getLogger().addHandler(logging.NullHandler())
    began = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    problems = []
    with scratch_folder("ksqlpy-leaks-") as folder:
        if options.kills:
            (folder / "kills").mkdir()
            problems += left_over(*kills(options.kills, folder / "kills", tell))
        if options.queries:
            problems += left_over(*_own_queries(options.queries, folder / "queries", tell))
    for problem in problems:
        tell(f"left over: {problem}")
    return 1 if problems else 0


def _own_queries(number: int, folder: Path, tell: Tell) -> tuple[Figures, Figures]:
    folder.mkdir()
    tmp = folder / "tmp"
    tmp.mkdir()
    before, tempfile.tempdir = tempfile.tempdir, str(tmp)
    try:
        engine = Engine(Config.of({"ksqlpy.data.dir": str(folder / "data"), "commit.interval.ms": 2000}))
        engine.start()
        try:
            return queries(engine, number, folder, tell)
        finally:
            engine.stop()
    finally:
        tempfile.tempdir = before


if __name__ == "__main__":
    sys.exit(main())
