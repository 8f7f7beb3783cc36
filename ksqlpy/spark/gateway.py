"""The way from Python into Spark's JVM: the only file that uses private members of PySpark.

``jvm/spark_internals.txt`` lists them. What the functions give are objects of py4j, whose members are those of Java.
Calls raise Py4JError or OSError when the JVM is gone.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

__all__ = [
    "forget_context",
    "gateway",
    "has_context",
    "jvm_of",
    "launch_jvm",
    "scala_context",
    "scala_frame",
    "scala_query",
    "scala_session",
    "use_gateway",
]

# Of whoever has pandas installed; nothing here uses it.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


def jvm_of(session: SparkSession) -> Any:
    """The packages and classes of the session's JVM."""
    return session._jvm


def scala_session(session: SparkSession) -> Any:
    """Spark's ``classic.SparkSession``."""
    return session._jsparkSession


def scala_context(session: SparkSession) -> Any:
    """Spark's ``SparkContext``."""
    return session.sparkContext._jsc.sc()


def scala_frame(frame: DataFrame) -> Any:
    """Spark's ``classic.Dataset``, of which ``DataFrame(…, session)`` makes a frame of Python."""
    return frame._jdf


def scala_query(query: StreamingQuery) -> Any:
    """Spark's ``StreamingQueryWrapper``."""
    return query._jsq


def launch_jvm(settings: Mapping[str, str], secrets: Mapping[str, str]) -> Any:
    """Starts a JVM without a context, beside the one of this process; returns its gateway.

    The settings stand on its command line. The secrets reach it over the connection, as properties of the system, in
    which spark-submit puts those of its command line: Spark finds all of them in one place.
    """
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    made = launch_gateway(conf)  # type: ignore[no-untyped-call]
    for name, value in secrets.items():
        made.jvm.System.setProperty(name, value)
    made.jvm.ksqlpy.internals.Guards.begin()  # ahead of all that the archive of classes is made of, too
    return made


def gateway() -> Any:
    """The gateway to the JVM of this process's context, None without one.

    ``proc`` is the JVM's process, None if another process has started it.
    """
    return SparkContext._gateway


def use_gateway(gateway: Any) -> None:
    """Has the next context of this process made in the JVM of this gateway."""
    SparkContext._gateway, SparkContext._jvm = gateway, gateway.jvm


def has_context() -> bool:
    """Whether this process has a context."""
    return SparkContext._active_spark_context is not None


def forget_context() -> None:
    """Drops what PySpark keeps of a context, also when its JVM is gone: the next session starts a JVM."""
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
