"""The running Spark has the internal classes and members on which our Java classes stand, and a version we know."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from java_readme import Internal, internals
from pyspark.sql import SparkSession

from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark import session as sessions
from ksqlpy.spark.version import SPARK_VERSION, check_spark

OTHERS = [
    # Found by reflection, or by its name in a stack trace: no compiler checks these.
    ("org.apache.kafka.clients.producer.KafkaProducer", "transactionManager"),
    ("org.apache.kafka.clients.producer.internals.TransactionManager", "producerIdAndEpoch"),
    ("org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager", "createAtomic"),
]


def members(spark: SparkSession, name: str) -> set[str]:
    """Names of the fields and methods of a class, also of private ones, and of what it inherits."""
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    found: set[str] = set()
    waiting = [jvm.java.lang.Class.forName(name, False, loader)]
    while waiting:
        each = waiting.pop()
        found |= {m.getName() for m in (*each.getDeclaredFields(), *each.getDeclaredMethods())}
        waiting += [c for c in (each.getSuperclass(), *each.getInterfaces()) if c is not None]
    return found


@pytest.mark.spark
@pytest.mark.parametrize("internal", internals(), ids=lambda row: row.name)
def test_spark_has_the_members(spark: SparkSession, internal: Internal) -> None:
    assert set(internal.members) - members(spark, f"org.apache.spark.{internal.name}") == set()


@pytest.mark.spark
@pytest.mark.parametrize(("name", "member"), OTHERS)
def test_what_no_compiler_checks(spark: SparkSession, name: str, member: str) -> None:
    assert member in members(spark, name)


@pytest.mark.spark
def test_spark_is_of_the_version_that_is_known(spark: SparkSession) -> None:
    assert spark.version == SPARK_VERSION


@pytest.mark.parametrize("version", ["4.2.0", "4.3.1", "4.30.0"])
def test_another_version_is_refused(version: str) -> None:
    with pytest.raises(EnvironmentProblem, match=rf"needs Spark {SPARK_VERSION}, and this is Spark {version}") as e:
        check_spark(version)
    assert e.value.code == "spark-version"
    assert e.value.hint is not None and f"pyspark=={SPARK_VERSION}" in e.value.hint


def test_no_jvm_starts_with_another_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.2.0")
    with pytest.raises(EnvironmentProblem, match=r"this is Spark 4\.2\.0"):
        sessions.start_session("local[1]", "700m", tmp_path / "spark")
    assert not (tmp_path / "spark").exists()


OTHER_JVM = """
import sys
from pathlib import Path
import pyspark
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark import session, version
version.SPARK_VERSION = pyspark.__version__ = "9.9.9"  # so Spark itself is the other one, as by SPARK_HOME
try:
    session.start_session("local[1]", "700m", Path(sys.argv[1]))
except EnvironmentProblem as e:
    print(e.code, session.has_session(), session.jvm_alive())
"""


@pytest.mark.spark
@pytest.mark.slow
def test_a_jvm_with_another_spark_is_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OTHER_JVM, str(tmp_path / "spark")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert said.stdout == "spark-version False False\n", said.stderr
