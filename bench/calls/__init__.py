"""What a function in Python costs; ``bench functions`` has queries with functions.

A call alone, the first one, and the memory of many functions side by side; the first one after CREATE FUNCTION; rows a
second in one task.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ksqlpy.embedded.jars import pyspark_jars_folder, spark_jars
from ksqlpy.embedded.java import find_java
from ksqlpy.functions.python import call_text
from ksqlpy.runtime import Engine
from ksqlpy.spark.jvm import build
from ksqlpy.types import BIGINT, STRING
from ksqlpy.udfs.definition import Definition

__all__ = ["alone", "first", "in_a_task"]

_BODY = "    return f'{text.upper()}-{n * 2}'\n"
CALLED = Definition(
    "BENCH_SHOUT",
    "SCALAR",
    (("text", STRING), ("n", BIGINT)),
    STRING,
    "def bench_shout(text, n):\n" + _BODY,
    "bench_shout",
)

_OPENED = ("java.lang", "java.nio", "java.util", "sun.nio.ch")


def alone(calls: int) -> str:
    """One thread that calls and does nothing else, in a JVM of its own; then 50 threads with a function each."""
    ours = build.helper_jar()
    jars = [ours, *build.libraries()]
    with tempfile.TemporaryDirectory(prefix="ksqlpy-bench-") as folder:
        jar = Path(folder) / "bench.jar"
        build.compile_jar(jar, build.compiler(), jars, Path(__file__).parent)
        command = [str(find_java().executable), *(f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in _OPENED)]
        command += [f"-Dksqlpy.functions.python.executable={sys.executable}"]
        command += ["-cp", os.pathsep.join(map(str, [jar, ours, *spark_jars(), pyspark_jars_folder() / "*"]))]
        command += ["ksqlpy.bench.Calls", json.dumps(CALLED.to_call()), str(calls)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.strip()


def first(engine: Engine) -> str:
    """The first call after CREATE FUNCTION: what a small query of Spark with it takes more than the next one."""

    def query(text: str) -> float:
        begin = time.monotonic()
        engine.session.range(1).selectExpr(f"{text} as made").collect()
        return (time.monotonic() - begin) * 1000

    for _ in range(5):  # Spark itself is warm
        query("concat(upper('hello world'), '-', id * 2)")
    begin = time.monotonic()
    engine.execute(
        f"CREATE FUNCTION BENCH_SHOUT(text STRING, n BIGINT) RETURNS STRING LANGUAGE PYTHON AS $$\n{_BODY}$$;"
    )
    made = (time.monotonic() - begin) * 1000
    text = call_text(engine.catalog.functions[CALLED.name], ["'hello world'", "id"])
    took, *more = (query(text) for _ in range(6))
    again = statistics.median(more)
    return (
        f"first call after CREATE FUNCTION ({made:.0f} ms): {took - again:.0f} ms more than the {again:.0f} of the next"
    )


def in_a_task(engine: Engine, rows: int, rounds: int) -> Iterator[str]:
    """Rows a second of one task of Spark that calls the function on each; without Kafka."""
    text = call_text(CALLED, ["cast(id as string)", "id"])
    for number in range(rounds):
        begin = time.monotonic()
        engine.session.range(rows, numPartitions=1).selectExpr(f"{text} as made").selectExpr("max(made)").collect()
        yield f"round {number + 1}: {rows / (time.monotonic() - begin):,.0f} rows/s in one task"
