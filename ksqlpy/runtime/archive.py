"""Makes the archive of the classes that Spark's JVM loads, by running queries once and ending in order.

See :mod:`ksqlpy.embedded.classes`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ksqlpy.config import Config
from ksqlpy.embedded.cache import locked
from ksqlpy.embedded.classes import ClassArchive
from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.embedded.jars import spark_jars
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.engine import Engine
from ksqlpy.spark.jvm.build import helper_jar
from ksqlpy.spark.session import class_archive, end_session, has_session, start_session

__all__ = ["make_archive"]

PATIENCE = 60.0
"""Seconds for the statements."""
ENDING = 300.0
"""Seconds for the JVM to write the archive: it does that at its end, and slowly on a busy machine."""
LOADED, HOT = 3.0, 15.0
"""Seconds under load, three times: until all classes are loaded, and until it shows which methods are hot."""
KEPT = 3

_STATEMENTS = """
CREATE STREAM s (k STRING KEY, v INT, d DECIMAL(10, 2), t STRING)
  WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE t (k STRING PRIMARY KEY, n STRING) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
INSERT INTO t VALUES ('a', 'x');
INSERT INTO s VALUES ('a', 1, 2.50, '2026-01-01 00:00:00');
CREATE STREAM f AS SELECT k, UCASE(t) AS u, v * 2 AS w FROM s WHERE v > 0;
CREATE TABLE g AS SELECT n, COUNT(*) AS c, SUM(d) AS total FROM s JOIN t ON s.k = t.k GROUP BY n;
CREATE TABLE h AS SELECT k, MAX(v) AS m FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k HAVING COUNT(*) > 0;
CREATE STREAM j AS SELECT s.k, v, n FROM s JOIN t ON s.k = t.k;
"""
_AGAIN = "PAUSE ALL; RESUME ALL;"  # what came since the checkpoint is done again, in the order of its results
_RATE = 300
_BACKLOG = 200_000
"""Records that lie there at once: what is hot while they are read is hot at another place than under some load."""
_SINKS = ("F", "G", "H", "J")


def make_archive(progress: Callable[[str], None]) -> bool:
    """Makes the archive unless there is one; gives whether there is one now. Takes a minute or two.

    A process that has a session makes none: it would be that session's JVM that ends.
    """
    archive = class_archive(find_java(), [*spark_jars(progress), helper_jar(progress)])
    if archive.whole or has_session():
        return archive.whole
    with locked(archive.file.with_name("archive.lock")):
        if not archive.whole:
            progress("making an archive of Spark's classes, so that it starts quicker")
            # Without an archive all is slower, only.
            with contextlib.suppress(KsqlError), scratch_folder("ksqlpy-archive-") as folder:
                _run(archive, folder)
            if archive.take():
                _keep_newest(archive.file)
    progress("")
    return archive.whole


def _keep_newest(archive: Path) -> None:
    """Removes older archives, 200 MB each, of versions that are hardly in use any more."""
    others = sorted(archive.parent.glob("spark-*.jsa"), key=lambda f: f.stat().st_mtime)
    for old in others[:-KEPT]:
        old.unlink(missing_ok=True)


def _run(archive: ClassArchive, folder: Path) -> None:
    # Checkpoint after checkpoint: their code runs seldom, and results wait for it.
    config = Config.of({"ksqlpy.warm.up": "false", "commit.interval.ms": 1500})
    seconds = HOT if archive.with_profiles else LOADED
    with _silent():
        session = start_session(
            config.get("ksqlpy.spark.master"),
            config.get("ksqlpy.spark.memory"),
            folder,
            java_options=" ".join(archive.in_making),
            archive=False,
        )
    try:
        engine = Engine(config)
        engine.start()
        try:
            engine.execute(_STATEMENTS, {"auto.offset.reset": "earliest"})
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and not all(_written(engine).values()):
                time.sleep(0.2)
            for _ in range(2):
                _under_load(engine, seconds)
                engine.execute(_AGAIN)
            _under_load(engine, seconds)
            if archive.with_profiles:
                _behind(engine)
        finally:
            engine.stop()
    finally:
        end_session(session, ENDING)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Processes that are started here say nothing: a JVM that makes an archive prints all its options."""
    with open(os.devnull, "wb") as nowhere, contextlib.ExitStack() as stack:
        for stream in (1, 2):
            kept = os.dup(stream)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, stream)
            os.dup2(nowhere.fileno(), stream)
        yield


def _under_load(engine: Engine, seconds: float) -> None:
    """Sends records of both topics all the time, more than go into one checkpoint interval."""
    begin, sent = time.monotonic(), 0
    while (now := time.monotonic() - begin) < seconds:
        for i in range(sent, int(now * _RATE)):
            value = b'{"V": %d, "D": "1.50", "T": "2026-01-01 00:00:00"}' % i
            engine.brokers.producer.produce("s", key=b"%d" % (i % 50), value=value)
            if i % 50 == 0:
                engine.brokers.producer.produce("t", key=b"%d" % (i // 50 % 50), value=b'{"N": "%d"}' % i)
        sent = int(now * _RATE)
        engine.brokers.producer.poll(0)
        time.sleep(0.02)
    engine.brokers.producer.flush()


def _behind(engine: Engine) -> None:
    """Has the queries read a backlog."""
    due = _written(engine)["F"] + _BACKLOG
    for i in range(1, _BACKLOG + 1):
        value = b'{"V": %d, "D": "1.50", "T": "2026-01-01 00:00:00"}' % i
        engine.brokers.producer.produce("s", key=b"%d" % (i % 50), value=value)
        if i % 10_000 == 0:
            engine.brokers.producer.flush()  # its queue takes 100,000, which a slow broker lets fill up
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and _written(engine)["F"] < due:
        time.sleep(0.5)


def _written(engine: Engine) -> dict[str, int]:
    ends = engine.kafka.offsets(engine.kafka.partitions(_SINKS), latest=True)
    return {topic: sum(ends.get(topic, {}).values()) for topic in _SINKS}
