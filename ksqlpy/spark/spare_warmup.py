"""Warms up the JVM of a spare driver; a program that :mod:`ksqlpy.spark.spare` starts.

It connects to the JVM that the environment names, as PySpark does, makes a session on one machine there, runs queries
over invented records and the command log, and ends the session. So the JVM has loaded and compiled what a driver plans
queries with. Standard input has what :class:`ksqlpy.spark.spare.Spare` gives it.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
import tempfile

from pyspark.sql import SparkSession

from ksqlpy.spark.gateway import jvm_of
from ksqlpy.spark.masters import LOOPBACK
from ksqlpy.spark.warmup import WarmUp

_LOCAL = {
    "spark.master": "local[16]",
    # What belongs to executors, and to the driver that is at work.
    "spark.plugins": "",
    "spark.jars": "",
    # On one machine Spark would make a secret, and keep it for the driver that uses this JVM.
    "spark.authenticate": "false",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.port": "0",
    "spark.driver.blockManager.port": "0",
    "spark.blockManager.port": "0",
}


def main() -> int:
    """Warms the JVM up; returns 0 if all of it was done, else 1."""
    settings, connection, command_log = pickle.load(sys.stdin.buffer)
    builder = SparkSession.builder.appName("ksqlpy")
    for key, value in {**settings, **_LOCAL}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    with tempfile.TemporaryDirectory(dir=settings["spark.local.dir"]) as folder:
        warm_up = WarmUp(session, connection, command_log, lambda: contextlib.nullcontext(folder))
        warm_up.start()
        warm_up.wait()
        jvm = jvm_of(session)
        jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()
        session.stop()
        jvm.System.gc()  # what is left of it need not stay until the JVM is used
    return 0 if warm_up.complete else 1


if __name__ == "__main__":
    sys.exit(main())
