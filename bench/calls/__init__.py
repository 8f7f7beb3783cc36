"""What a function in Python costs: a call alone, rows a second in one task, and how late results are with one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.jobs import STREAM, Job
from ksqlpy.embedded.jars import pyspark_jars_folder, spark_jars
from ksqlpy.embedded.java import find_java
from ksqlpy.functions import FUNCTIONS
from ksqlpy.functions.python import call_text, python_function
from ksqlpy.runtime import Engine
from ksqlpy.spark.jvm import build
from ksqlpy.types import BIGINT, STRING
from ksqlpy.udfs.definition import Definition

__all__ = ["alone", "function_jobs", "in_a_task"]

CALLED = Definition(
    "BENCH_SHOUT",
    "SCALAR",
    (("text", STRING), ("n", BIGINT)),
    STRING,
    "def shout(text, n):\n    return f'{text.upper()}-{n * 2}'\n",
    "shout",
)

_QUERY = "CREATE STREAM {o} AS SELECT K, V, T, "
_OF = " AS U FROM S{n};"
_JOBS = (
    Job("built-in function", STREAM, f"{_QUERY}UCASE(K) + '-' + CAST(V * 2 AS STRING){_OF}", timed=1),
    Job("Python function", STREAM, f"{_QUERY}BENCH_SHOUT(K, V){_OF}", timed=1),
)

_OPENED = ("java.lang", "java.nio", "java.util", "sun.nio.ch")


def function_jobs() -> tuple[Job, ...]:
    """A query with a built-in function, and one with a function in Python in its place."""
    if FUNCTIONS.find(CALLED.name) is None:
        FUNCTIONS.add(python_function(CALLED))
    return _JOBS


def alone(calls: int) -> str:
    """One thread that calls and does nothing else, in a JVM of its own."""
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


def in_a_task(engine: Engine, rows: int, rounds: int) -> Iterator[str]:
    """Rows a second of one task of Spark that calls the function on each; without Kafka."""
    text = call_text(CALLED, ["cast(id as string)", "id"])
    for number in range(rounds):
        begin = time.monotonic()
        engine.session.range(rows, numPartitions=1).selectExpr(f"{text} as made").selectExpr("max(made)").collect()
        yield f"round {number + 1}: {rows / (time.monotonic() - begin):,.0f} rows/s in one task"
