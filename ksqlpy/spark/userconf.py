"""Settings of Spark that users may give (``ksqlpy.spark.conf.*``), and those that must stay."""

from __future__ import annotations

from collections.abc import Mapping

from ksqlpy.errors import ConfigProblem

__all__ = ["allowed"]

_OPEN = {
    "spark.driver.host",
    "spark.driver.bindAddress",
    "spark.sql.streaming.minBatchesToRetain",
    "spark.ui.dagGraph.retainedRootRDDs",
    "spark.ui.enabled",
    "spark.ui.retainedJobs",
    "spark.ui.retainedStages",
    "spark.ui.retainedTasks",
    "spark.hadoop.fs.permissions.umask-mode",
    "spark.rpc.io.threads",
    "spark.rpc.netty.dispatcher.numThreads",
    "spark.sql.ui.retainedExecutions",
    "spark.sql.streaming.ui.retainedQueries",
}
"""Settings of ours that may be others: no result depends on them."""

_OURS = {
    "spark.app.name": "it is ksqlpy's",
    "spark.master": "the property ksqlpy.spark.master is for it",
    "spark.submit.deployMode": "the driver is the server's own process",
    "spark.driver.memory": "the property ksqlpy.spark.memory is for it",
    "spark.driver.extraJavaOptions": "the property ksqlpy.spark.java.options is for it",
    "spark.driver.defaultJavaOptions": "the property ksqlpy.spark.java.options is for it",
    "spark.driver.extraClassPath": "ksqlpy's classes are found by it",
    "spark.jars": "ksqlpy's classes are found by it",
    "spark.local.dir": "it is a folder of ksqlpy.data.dir, which is removed at the end",
    "spark.sql.warehouse.dir": "it is a folder of ksqlpy.data.dir",
    "spark.redaction.regex": "it keeps secrets out of Spark's log",
    "spark.dynamicAllocation.enabled": "all tasks of a query run at the same time, with a fixed number of executors",
    "spark.shuffle.manager": "real-time queries hand rows from task to task by the one that Spark takes for them",
}
"""Why these must not be set."""


def allowed(conf: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The settings of a user; ``own``: those that ksqlpy makes. Raises ConfigProblem ``reserved-setting``."""
    for name in conf:
        if not name.startswith("spark."):
            raise ConfigProblem(
                "invalid-property",
                f"ksqlpy.spark.conf.{name} is no setting of Spark: their names begin with 'spark.'",
                hint=f"ksqlpy.spark.conf.spark.{name}?",
            )
        why = _OURS.get(name)
        if why is None and name in own and name not in _OPEN:
            why = "results, or how quickly they come, depend on it"
        if why is not None:
            raise ConfigProblem("reserved-setting", f"ksqlpy.spark.conf.{name} cannot be set: {why}", hint="remove it")
    return dict(conf)
