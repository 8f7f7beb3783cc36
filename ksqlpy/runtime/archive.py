"""Makes the archive of the classes that Spark's JVM loads, by running queries once and ending in order.

A later JVM maps the archive instead of loading, checking and linking 20,000 classes again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from ksqlpy.config import Config
from ksqlpy.embedded.cache import locked
from ksqlpy.embedded.jars import spark_jars
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.engine import Engine
from ksqlpy.spark.jvm.build import helper_jar
from ksqlpy.spark.session import class_archive

__all__ = ["make_archive"]

PATIENCE = 60.0
KEPT = 2

_STATEMENTS = """
CREATE STREAM s (k STRING KEY, v INT, d DECIMAL(10, 2), t STRING)
  WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE t (k STRING PRIMARY KEY, n STRING) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
INSERT INTO t VALUES ('a', 'x');
INSERT INTO s VALUES ('a', 1, 2.50, '2026-01-01 00:00:00');
CREATE STREAM f AS SELECT k, UCASE(t) AS u, v * 2 AS w FROM s WHERE v > 0;
CREATE TABLE g AS SELECT n, COUNT(*) AS c, SUM(d) AS total FROM s JOIN t ON s.k = t.k GROUP BY n;
CREATE TABLE h AS SELECT k, MAX(v) AS m FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k HAVING COUNT(*) > 0;
PAUSE ALL;
RESUME ALL;
"""
_SINKS = ("F", "G", "H")


def make_archive(progress: Callable[[str], None]) -> bool:
    """Makes the archive unless there is one; gives whether there is one now. Takes half a minute."""
    archive = class_archive(find_java(), [*spark_jars(progress), helper_jar(progress)])
    if archive.exists():
        return True
    with locked(archive.with_name("archive.lock")):
        if not archive.exists():
            part = archive.with_suffix(f".{os.getpid()}")
            progress("making an archive of Spark's classes, so that it starts quicker")
            with contextlib.suppress(KsqlError):  # without it all works, only slower
                _run(part)
            if part.exists():
                part.replace(archive)
                _keep_newest(archive)
    progress("")
    return archive.exists()


def _keep_newest(archive: Path) -> None:
    """Removes older archives, 200 MB each, of versions that are hardly in use any more."""
    others = sorted(archive.parent.glob("spark-*.jsa"), key=lambda f: f.stat().st_mtime)
    for old in others[:-KEPT]:
        old.unlink(missing_ok=True)


def _run(part: Path) -> None:
    options = f"-XX:ArchiveClassesAtExit={part} -Xlog:disable -Xlog:all=error:stderr"
    engine = Engine(Config.of({"ksqlpy.spark.java.options": options, "ksqlpy.warm.up": "false"}))
    engine.start()
    try:
        engine.execute(_STATEMENTS, {"auto.offset.reset": "earliest"})
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not _all_written(engine):
            time.sleep(0.2)
    finally:
        engine.stop()


def _all_written(engine: Engine) -> bool:
    ends = engine.kafka.offsets(engine.kafka.partitions(_SINKS), latest=True)
    return all(sum(ends.get(topic, {}).values()) > 0 for topic in _SINKS)
