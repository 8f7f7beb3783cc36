"""What a Spark master means for the session: where tasks run, and the settings that depend on it.

A master is ``local[n]`` (all tasks in the driver's JVM), or a cluster: ``local-cluster[executors,cores,MB]``,
``spark://host:port``, ``k8s://url``, ``yarn``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from ksqlpy.errors import ConfigProblem

__all__ = ["LOOPBACK", "check_cluster", "check_master", "local_slots", "on_one_machine", "one_jvm", "settings_for"]

_LOCAL = re.compile(r"local(\[(\d+|\*)\])?")
_KNOWN = re.compile(r"local(\[(\d+|\*)\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|spark://.+|k8s://.+|yarn")
_LOOPBACK = re.compile(r"local-cluster\[.*|spark://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(,.*)?")

_FILES: Mapping[str, str] = {
    # No process for every file of a checkpoint: results wait for it. The manager that Spark takes by itself goes round
    # this file system, and runs readlink twice for every rename besides.
    "spark.hadoop.fs.file.impl": "ksqlpy.state.LocalFiles",
}

LOOPBACK = "127.0.0.1"
"""The address of driver and executors that share a machine."""

_HERE: Mapping[str, str] = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}

_CLUSTER: Mapping[str, str] = {
    # Reports of executors, and producers that ask before they write.
    "spark.plugins": "ksqlpy.cluster.Plugin",
    # An executor that is stopped or cannot be reached is given up after 20 s, not after two minutes. One that is killed
    # is known at once, by its connection.
    "spark.executor.heartbeatInterval": "2s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "20s",
    "spark.network.timeoutInterval": "5s",
    # An application whose executors fail goes on: its queries start again by themselves.
    "spark.deploy.maxExecutorRetries": "-1",
    # A real-time query has to have all its tasks at once: it fails, and starts again, where slots are missing.
    "spark.dynamicAllocation.enabled": "false",
}


def check_master(master: str) -> None:
    """Raises ConfigProblem ``invalid-property`` for a text that no master of Spark's is."""
    if _KNOWN.fullmatch(master) is None:
        raise ConfigProblem(
            "invalid-property",
            f"ksqlpy.spark.master={master} is no master of Spark",
            hint="local[512], local-cluster[2,64,1024], spark://host:7077, k8s://https://host:443 or yarn",
        )


def check_cluster(master: str, checkpoints: str, bootstrap: str) -> None:
    """Refuses what executors on other machines could not reach.

    ``checkpoints``: the property ksqlpy.checkpoint.dir. ``bootstrap``: addresses of the brokers, empty for a broker
    that the server starts itself. Raises ConfigProblem ``checkpoint-not-shared`` and ``cluster-needs-brokers``.
    """
    if on_one_machine(master):
        return
    scheme = urlsplit(checkpoints).scheme
    if scheme in ("", "file"):
        where = checkpoints or "a folder of ksqlpy.data.dir"
        raise ConfigProblem(
            "checkpoint-not-shared",
            f"executors of {master} on other machines cannot read and write checkpoints in {where}",
            hint="set ksqlpy.checkpoint.dir to a place that all of them reach, such as hdfs:// or s3a://",
        )
    if not bootstrap:
        raise ConfigProblem(
            "cluster-needs-brokers",
            f"executors of {master} on other machines cannot reach a broker that the server starts for itself",
            hint="name your brokers with bootstrap.servers",
        )


def one_jvm(master: str) -> bool:
    """Whether all tasks run in the driver's JVM."""
    return _LOCAL.fullmatch(master) is not None


def on_one_machine(master: str) -> bool:
    """Whether driver and executors share the files and the loopback address of one machine."""
    return one_jvm(master) or _LOOPBACK.fullmatch(master) is not None


def local_slots(master: str) -> int | None:
    """The task slots of ``local[n]``; None where executors bring them, or the machine's cores are counted."""
    found = _LOCAL.fullmatch(master)
    if found is None or found[2] == "*":
        return None
    return int(found[2] or 1)


def settings_for(master: str) -> dict[str, str]:
    """The settings of a session that depend on its master."""
    return {
        **(_FILES if on_one_machine(master) else {}),
        **(_HERE if on_one_machine(master) else {}),
        **({} if one_jvm(master) else _CLUSTER),
    }
