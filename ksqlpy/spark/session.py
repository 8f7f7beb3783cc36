"""The Spark session: one a process, with the settings that real-time mode and ksqlDB's semantics need.

Why each setting is there stands beside it; they were found by running them (see docs/internals/spark.md).
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksqlpy.embedded.cache import cache_folder, digest
from ksqlpy.embedded.classes import ClassArchive
from ksqlpy.embedded.collectors import small_collector
from ksqlpy.embedded.compilers import OPTIMIZED_LATER, PROFILES_UNUSED
from ksqlpy.embedded.folders import removed
from ksqlpy.embedded.jars import spark_jars
from ksqlpy.embedded.java import Java, find_java
from ksqlpy.embedded.spark_home import spark_home
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.logs import keep_java_settings
from ksqlpy.spark.gateway import (
    forget_context,
    gateway,
    has_context,
    jvm_of,
    launch_jvm,
    scala_context,
    scala_session,
    use_gateway,
)
from ksqlpy.spark.jvm.build import helper_jar
from ksqlpy.spark.launch import Launch
from ksqlpy.spark.masters import LOOPBACK, check_master, on_one_machine, one_jvm, settings_for
from ksqlpy.spark.spare import Spare
from ksqlpy.spark.speedups import settings_without, warnings_about
from ksqlpy.spark.userconf import allowed
from ksqlpy.spark.version import check_pyspark, check_spark
from ksqlpy.spark.working import Worked, read_working

__all__ = [
    "SETTINGS",
    "admit_expiring_state",
    "at_rest",
    "class_archive",
    "end_session",
    "has_session",
    "is_alive",
    "is_local",
    "jvm_alive",
    "keep_spare",
    "kill_jvm",
    "prepare_launch",
    "slots_of",
    "start_session",
]

log = logging.getLogger(__name__)

ENDING = 20.0
"""Seconds that a JVM may take to end in order."""

_UNUSED_RULES = (
    "catalyst.optimizer.OptimizeOneRowRelationSubquery",
    "catalyst.optimizer.RewriteCorrelatedScalarSubquery",
    "execution.datasources.PruneFileSourcePartitions",
    "execution.datasources.PushVariantIntoScan",
    "execution.datasources.SchemaPruning",
)
"""Rules of Spark's optimizer for files, variants and subqueries, which no plan of ours has."""

SETTINGS: Mapping[str, str] = {
    # A failing expression is NULL, as in ksqlDB; also casts of numbers to their big-endian bytes need it.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    # Spark would replace ${env:HOME} and ${name} in the texts of plans, by the environment and by its own settings.
    # Set here, these hold also where its configuration files or the options of the JVM say otherwise.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.catalog.ksqlpy": "ksqlpy.catalog.Functions",
    "spark.sql.extensions": "ksqlpy.internals.Extensions",
    "spark.shuffle.manager": "ksqlpy.internals.Shuffles",  # Spark's own, with guarded ports
    # By default as many as there are task slots, which are no processors here.
    "spark.rpc.netty.dispatcher.numThreads": "8",
    "spark.rpc.io.threads": "2",
    # RocksDB; deleted keys of tables do not stay in it.
    # The name of the class stands in checkpoints.
    "spark.sql.streaming.stateStore.providerClass": "ksqlpy.ExpiringStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Nobody asks how many keys there are. To know it, each write reads its key first, also when a restart makes the
    # changes since the last snapshot again.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # A restart makes all changes since the last stored snapshot again, some 300,000 a second. By default these are the
    # changes of ten checkpoints, and of the minute until the snapshot is stored. One at each checkpoint costs it 15 ms
    # (300 ms after half a million changes); it is stored in the background.
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "1",
    "spark.sql.streaming.stateStore.maintenanceInterval": "10s",
    # A second attempt of a task would write results again, and is refused (jvm/tasks/Attempts.java): none is made where
    # Spark can be told so.
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    # Required by real-time mode.
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # The per-row aggregate in micro-batches too, so that a backlog gives every change.
    "spark.sql.streaming.useStreamlineAggregator": "true",
    # Chained stateful operators in update mode, and the sort of a backlog.
    "spark.sql.streaming.unsupportedOperationCheck": "false",
    # coalesce is not on real-time mode's list; it replaces the shuffle where there is one source partition.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
    # The default of 50 ms costs 30 ms of latency at every shuffle.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "5",
    # Above so many source partitions idle consumers are closed at each checkpoint, and recreated for the next batch.
    "spark.kafka.consumer.cache.capacity": "4096",
    # By default the clients of a query that has ended, with their threads and buffers, stay for ten minutes (producers)
    # and five minutes (consumers and what they had fetched) more.
    "spark.kafka.consumer.cache.timeout": "30s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "10s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "30s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "10s",
    "spark.kafka.producer.cache.timeout": "30s",
    "spark.kafka.producer.cache.evictorThreadRunInterval": "10s",
    # What Spark's parser learns of each text it keeps for the life of the JVM, some 6 KB a state: a hundred large
    # expressions filled a heap of 1 GB.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "20000",
    # Options of sources and sinks hold no secrets, but name them (ksqlpy/connection). Others' might.
    "spark.redaction.regex": "(?i)secret|password|token|access[.]?key|jaas|keystore[.]key",
    "spark.sql.shuffle.partitions": "1",
    # A query has some ten pieces of generated code. By default a JVM keeps the last 100 that it has used, and compiles
    # others again when tasks start, which they do at each checkpoint.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Else every small job is cut into as many tasks as there are slots.
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    # They look for what no plan of ours has, at each checkpoint.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.exchange.reuse": "false",
    "spark.sql.optimizer.excludedRules": ",".join(f"org.apache.spark.sql.{rule}" for rule in _UNUSED_RULES),
    # Each batch is described to Spark's listeners, plan and all, while results wait: 50 ms for a join, and 480 ms the
    # first time. Without the fields it is 3 ms.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.debug.maxToStringFields": "0",
    "spark.ui.enabled": "false",
    # What the interface would show of batches long past stays in memory without it, too: by default 1000 of each.
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.ui.dagGraph.retainedRootRDDs": "10",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.streaming.ui.retainedQueries": "10",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.minBatchesToRetain": "4",
    # A second file beside every file of a checkpoint: results wait for it.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


def start_session(
    master: str,
    memory: str,
    folder: Path,
    progress: Callable[[str], None] | None = None,
    java_options: str = "",
    conf: Mapping[str, str] | None = None,
    *,
    archive: bool = True,
) -> SparkSession:
    """The session of this process.

    ``master``: a Spark master; ``memory``: heap of the driver such as ``700m``; ``folder``: for Spark's own files and
    the log ``spark.log``; ``java_options``: more options of the JVM; ``conf``: settings of Spark; ``archive``: whether
    it may use :func:`class_archive`.

    Raises EnvironmentProblem without a fit Java or the pinned jars, ``spark-version`` on an unfit Spark, and
    ``spark-in-process`` where another has started the session of this process;
    ConfigProblem ``reserved-setting`` for a setting that must stay.
    """
    lacking = check_pyspark(progress)
    launch = _spare_taken()
    if launch is None:
        there = has_session()
        if there and _work is None:
            raise EnvironmentProblem(
                "spark-in-process",
                "this process has a Spark session of its own, without the jars and settings that queries need",
                hint="stop it first, or run the engine in another process: ksqlpy server",
            )
        work = _work if there else None
        launch = prepare_launch(master, memory, folder, progress, java_options, conf, archive=archive, work=work)
        if not there:
            _begin_work(launch.work)
    if progress is not None:
        progress("starting Spark")
    builder = SparkSession.builder.appName("ksqlpy").master(master)
    for key, value in launch.settings.items():
        builder = builder.config(key, value)
    with launch.environ():
        if gateway() is None:
            named = {"spark.app.name": "ksqlpy", "spark.master": master}
            use_gateway(launch_jvm({**named, **launch.open_settings}, launch.secrets))
        session = builder.getOrCreate()
    try:
        check_spark(session.version)  # SPARK_HOME may name another than PySpark's
    except EnvironmentProblem:
        end_session(session)
        raise
    for line in warnings_about(jvm_of(session).ksqlpy.internals.Speedup.off(), lacking, launch.settings):
        log.warning("%s", line)
    if progress is not None:
        progress("")
    return session


def prepare_launch(
    master: str,
    memory: str,
    folder: Path,
    progress: Callable[[str], None] | None = None,
    java_options: str = "",
    conf: Mapping[str, str] | None = None,
    *,
    archive: bool = True,
    work: Path | None = None,
) -> Launch:
    """What a JVM is started with, for :func:`start_session` or as its spare; raises what that does.

    ``work``: a folder for the JVM's own files, None for a new one.
    """
    check_master(master)
    own = {**SETTINGS, **settings_for(master)}
    if on_one_machine(master):  # checkpoints hold what the topics hold
        own["spark.hadoop.fs.permissions.umask-mode"] = "077"
    given = allowed(conf or {}, own)
    java = find_java()
    jars = [*spark_jars(progress), helper_jar(progress)]
    folder.mkdir(parents=True, exist_ok=True)
    work = work or Path(tempfile.mkdtemp(prefix="work-", dir=folder))
    log_settings = folder / "log4j2.properties"
    keep_java_settings(log_settings, folder / "spark.log")
    classes = class_archive(java, jars)
    archived = classes.in_use if archive else ()
    cluster = not one_jvm(master)
    if archived and classes.with_profiles:
        archived += PROFILES_UNUSED
    options = (
        *archived,
        *OPTIMIZED_LATER,
        # A cluster whose driver has died starts all its JVMs again, and all queries are away meanwhile.
        *(small_collector(memory, java_options) if cluster else ()),
        "-XX:+ExitOnOutOfMemoryError",  # instead of going on with threads missing; the engine starts another
        "-XX:ReservedCodeCacheSize=240m",  # with the quick compiler alone it is 48 MB, and full after a minute
        # RocksDB may end with a crash where a JVM has lost its server: not in the folder that somebody works in.
        f"-XX:ErrorFile={folder.absolute()}/java-crash-%p.log",
        f"-Dlog4j2.configurationFile={log_settings.absolute().as_uri()}",
        f"-Dderby.system.home={folder}",
        f"-Djava.io.tmpdir={work}",
        *([] if cluster else [f"-Dksqlpy.working={work / WORKING}"]),
    )
    settings = {
        **own,
        # For executors on other machines. Where nobody needs them Spark copies each jar at the start all the same: that
        # takes 0.5 s in the driver, and 1 s in each executor.
        **({} if on_one_machine(master) else {"spark.jars": ",".join(map(str, jars))}),
        **(_executors(archived, jars, given, here=on_one_machine(master)) if cluster else {}),
        # Spark looks at files before it takes up its jars, and needs LocalFiles for it, which is in one of them.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": f"{' '.join(map(_quoted, options))} {java_options}",
        "spark.local.dir": str(work),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **given,
    }
    settings = settings_without(check_pyspark(progress), settings)
    environment = {**java.environ(), "SPARK_HOME": str(spark_home())}
    if on_one_machine(master):
        # The executors of local-cluster would have the address of a network, which may go while they run.
        environment["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP") or LOOPBACK
    return Launch(settings, environment, work, frozenset(given))


def _quoted(option: str) -> str:
    """An option of Java as Spark reads it: a folder may have a blank in its name."""
    return f'"{option}"' if " " in option else option


def _executors(
    archived: Sequence[str], jars: Sequence[Path], given: Mapping[str, str], *, here: bool
) -> dict[str, str]:
    """Settings of executors; ``given``: those of the user; ``here``: they run on this machine."""
    if not here:
        return {"spark.executor.defaultJavaOptions": " ".join(OPTIMIZED_LATER)}
    # With the class path of the driver they can have its archive of classes, too.
    collector = small_collector(
        given.get("spark.executor.memory", "1g"), given.get("spark.executor.extraJavaOptions", "")
    )
    return {
        "spark.executor.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.executor.defaultJavaOptions": " ".join((*archived, *OPTIMIZED_LATER, *collector)),
    }


WORKING = "working"
"""The file in a JVM's folder that says which records its tasks work on (``jvm/source/Working.java``)."""
_work: Path | None = None
_spare: Spare | None = None


def keep_spare(spare: Spare | None) -> None:
    """Has the next session of this process made in the JVM of this spare, if it is ready; ends the one before."""
    global _spare
    before, _spare = _spare, spare
    if before is not None and before is not spare:
        before.close()


def _spare_taken() -> Launch | None:
    """Makes a spare that is ready the JVM of this process's session, and gives what it was started with."""
    global _spare
    spare, _spare = _spare, None
    taken = None if spare is None or has_session() else spare.take()
    if spare is None or taken is None:
        return None
    use_gateway(taken)
    _begin_work(spare.launch.work)
    # The driver before it may have renamed the log.
    taken.jvm.org.apache.logging.log4j.core.config.Configurator.reconfigure()
    return spare.launch


def _begin_work(work: Path) -> None:
    """The folder for the files of a new JVM; a JVM that was killed has left its own beside it, which goes."""
    global _work
    for old in (f for pattern in ("work-*", "spark-*", "blockmgr-*") for f in work.parent.glob(pattern)):
        if old != work:
            removed(old)
    _work = work


def class_archive(java: Java, jars: Sequence[Path]) -> ClassArchive:
    """The archive of the classes of Spark's JVM: with it a start takes half the time, and half the CPU."""
    origins = digest(java.version, *map(str, (java.executable, spark_home(), *jars)))
    return ClassArchive(cache_folder("jvm") / f"spark-{origins}.jsa", java)


def has_session() -> bool:
    """Whether this process has a session already, which :func:`start_session` would give."""
    return has_context()


def is_local(session: SparkSession) -> bool:
    """Whether all tasks run in the driver's JVM."""
    return bool(scala_context(session).isLocal())


def slots_of(session: SparkSession) -> int:
    """How many tasks the executors that are there can run at once."""
    jvm = jvm_of(session)
    return int(jvm.ksqlpy.internals.Executors.slots(scala_context(session)))


def jvm_alive() -> bool:
    """Whether the JVM of this process's session runs."""
    there = gateway()
    if there is not None and there.proc is None:  # it was there before this process
        return True
    return there is not None and there.proc.poll() is None


def worked_on() -> list[Worked]:
    """Which records the tasks of this process's JVM work on, or worked on when it died; none of executors."""
    return read_working(_work / WORKING) if _work is not None else []


def left_over(folder: Path) -> list[Worked]:
    """Which records the tasks of a JVM worked on that died together with its server, before the next one starts.

    ``folder``: that of :func:`start_session`.
    """
    return [worked for file in folder.glob(f"work-*/{WORKING}") for worked in read_working(file)]


def died_by_itself() -> bool:
    """Whether the JVM of this process's session is gone and nobody has killed it: it lacked memory, or had a fault."""
    there = gateway()
    status = there.proc.poll() if there is not None and there.proc is not None else None
    return status is not None and status not in (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM)


def kill_jvm() -> None:
    """Ends the JVM of this process's session at once; calls into it fail then."""
    there = gateway()
    if there is not None:
        there.proc.kill()


def is_alive(session: SparkSession) -> bool:
    """Whether the session's JVM answers and its context runs."""
    try:
        return not scala_context(session).isStopped()
    except (Py4JError, OSError):
        return False


def hear(session: SparkSession) -> None:
    """Returns when the session's JVM has answered, or is gone; one that is stopped keeps silent."""
    with contextlib.suppress(Py4JError, OSError):
        jvm_of(session).System.currentTimeMillis()


def end_session(session: SparkSession, patience: float = ENDING) -> None:
    """Stops the session and ends its JVM, also one that no longer answers; the process may start a new session then.

    ``patience``: seconds that the JVM may take to end by itself. Its files are removed.
    """
    global _work
    there = gateway()
    if there is not None and there.proc.poll() is None:
        with contextlib.suppress(Py4JError, OSError):
            session.stop()
    # What stop() leaves, or could not reach in a JVM that is gone.
    forget_context()
    if there is None:
        return
    with contextlib.suppress(Py4JError, OSError):
        there.shutdown()
    _end_process(there.proc, patience)
    work, _work = _work, None
    if work is not None:
        removed(work)


def _end_process(jvm: subprocess.Popen[bytes], patience: float) -> None:
    """Ends the JVM, whose sign to end is the end of its standard input."""
    assert jvm.stdin is not None
    with contextlib.suppress(OSError):
        jvm.stdin.close()
    try:
        jvm.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


def admit_expiring_state(session: SparkSession) -> None:
    """Lets queries that this session starts in real-time mode have our state store, too."""
    jvm = jvm_of(session)
    jvm.ksqlpy.internals.Admission.of(scala_session(session))


def at_rest(session: SparkSession, query_id: str, tasks: int = 0) -> bool:
    """Whether a query waits for records: all that it has read is worked on, and its results are in their topics.

    Seen for one moment: a record on its way between two tasks is missed. ``tasks``: so many must run; with fewer it is
    between two batches, and may have read what the next one will work on.
    """
    try:
        jvm = jvm_of(session)
        return bool(jvm.ksqlpy.cluster.IdleCheck.isIdle(scala_context(session), query_id, tasks))
    except (Py4JError, OSError) as e:
        log.warning("not known whether query %s is at rest: %s", query_id, e)
        return False
