"""The version of Spark on whose internals the Java classes stand (jvm/README.md lists them)."""

from __future__ import annotations

from ksqlpy.errors import EnvironmentProblem

__all__ = ["SPARK_VERSION", "check_spark"]

SPARK_VERSION = "4.3.0"


def check_spark(version: str) -> None:
    """Raises EnvironmentProblem ``spark-version`` if this is another version of Spark than ksqlpy is made for."""
    if version != SPARK_VERSION:
        raise EnvironmentProblem(
            "spark-version",
            f"ksqlpy needs Spark {SPARK_VERSION}, and this is Spark {version}",
            hint=f"pip install pyspark=={SPARK_VERSION}; if SPARK_HOME is set, unset it or name such a Spark",
        )
