"""Programs with an embedded engine and its own broker: all that they have started ends with them, however they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.waiting import until

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.java, pytest.mark.slow]

BEGIN = """
import os, sys, threading
import ksqlpy, psutil

def engine():
    return ksqlpy.Engine(config={"ksqlpy.warm.up": "false"})

def told(word):
    print(word, *(c.pid for c in psutil.Process().children(recursive=True)), flush=True)

RIDES = "CREATE STREAM rides (id INT KEY, n INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"
"""

INTERRUPTED = """
with engine() as e:
    e.sql(RIDES)
    try:
        engine()
    except ksqlpy.KsqlError as refused:
        assert refused.code == "engine-open"
    with e.query("SELECT * FROM rides EMIT CHANGES") as rides:
        e.insert("rides", [{"id": 1, "n": 2}])
        for ride in rides:
            assert ride == (1, 2)
            told("ready")
"""

FORGOTTEN = """
with engine() as e:
    told("first")
    e.sql(RIDES)
e = engine()
assert e.sql("SHOW STREAMS;")[0]["streams"] == []
e.sql(RIDES)
rides = e.query("SELECT * FROM rides EMIT CHANGES")
told("ready")
"""


FROZEN = """
import signal
from ksqlpy.spark.gateway import gateway
e = engine()
e.sql(RIDES + "CREATE TABLE n AS SELECT n, COUNT(*) AS c FROM rides GROUP BY n;")
told("ready")
os.kill(gateway().proc.pid, signal.SIGSTOP)
e.close()
assert e.closed
with engine() as another:
    assert another.sql("SHOW STREAMS;")[0]["streams"] == []
print("over", flush=True)
"""


def run(program: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "default::ResourceWarning", "-c", BEGIN + program]
    env = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=env)


def ready(process: subprocess.Popen[str]) -> list[int]:
    """The children that the program has, when it says so."""
    assert process.stdout is not None
    children: list[int] = []
    for line in process.stdout:
        word, *pids = line.split()
        children += [int(p) for p in pids]
        if word == "ready":
            break
    return children


def test_ctrl_c_in_a_loop_over_rows(tmp_path: Path) -> None:
    with run(INTERRUPTED, tmp_path) as process:
        children = ready(process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGINT, said
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert len(children) >= 3, "a guard, the broker and the JVM"
    assert until(lambda: not any(psutil.pid_exists(p) for p in children))
    assert not list(tmp_path.glob("ksqlpy-*"))


def test_an_engine_again_and_one_that_is_forgotten(tmp_path: Path) -> None:
    with run(FORGOTTEN, tmp_path) as process:
        children = ready(process)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "ResourceWarning: the session with an embedded engine was not closed" in said
    assert "ResourceWarning: the result of query" in said
    assert until(lambda: not any(psutil.pid_exists(p) for p in children))
    assert not list(tmp_path.glob("ksqlpy-*"))


@pytest.mark.extended("an engine is closed whose JVM keeps silent for 20 seconds")
def test_a_jvm_that_does_not_answer_is_killed_at_the_end(tmp_path: Path) -> None:
    with run(FROZEN, tmp_path) as process:
        children = ready(process)
        said, problems = process.communicate(timeout=240)
    assert (process.returncode, said.strip()) == (0, "over"), problems
    assert until(lambda: not any(psutil.pid_exists(p) for p in children))
    assert not list(tmp_path.glob("ksqlpy-*"))


@pytest.mark.extended("many starts of an engine with its broker")
def test_engines_that_were_closed_leave_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.harness.lifetimes", "--times", "6"]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "behind all 6" in done.stdout
    assert not list(tmp_path.glob("ksqlpy-*"))
