"""Spark, in which queries run."""

from __future__ import annotations

from ksqlpy.config.checks import memory, one_of
from ksqlpy.config.property import Property

__all__ = ["SPARK"]

SPARK = (
    Property("ksqlpy.spark.master", "local[512]", "Spark master; every task of a running query holds a slot of it."),
    Property(
        "ksqlpy.warm.up",
        "true",
        "Runs a small warm-up query at the server's start, and on executors that join later.",
        one_of("true", "false"),
    ),
    Property(
        "ksqlpy.spark.spare.driver",
        "true",
        "Whether a server on a Spark cluster keeps a second, warm JVM for its driver, so that queries are back sooner "
        "when the driver has died. It needs the memory of one more driver.",
        one_of("true", "false"),
    ),
    Property(
        "ksqlpy.spark.secret.file",
        "",
        "File whose first line is the secret by which driver, Master, Workers and executors of spark:// know each "
        "other; empty: ksqlpy.spark.conf.spark.authenticate.secret says it, for local-cluster each start makes one, "
        "on Kubernetes and YARN Spark makes it.",
    ),
    Property("ksqlpy.spark.java.options", "", "More options of Spark's driver JVM."),
    Property("ksqlpy.spark.memory", "700m", "Heap of Spark's driver JVM.", memory),
)
