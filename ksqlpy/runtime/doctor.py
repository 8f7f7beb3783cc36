"""Whether a server with this configuration can run: what it needs is tried, one thing after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ksqlpy.config import Config
from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.spark.clients import check_python
from ksqlpy.spark.executors import Member, members, problems
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.masters import check_cluster, check_master, one_jvm
from ksqlpy.spark.secret import SECRET_FILE, authenticated
from ksqlpy.spark.session import end_session, slots_of, start_session

__all__ = ["Finding", "examine"]


@dataclass(frozen=True)
class Finding:
    """What was looked at and found, as a line, and what is wrong with it."""

    what: str
    problems: tuple[KsqlError, ...] = ()


def examine(config: Config) -> Iterator[Finding]:
    """The findings, as they come. Starts a Spark session, which uses the slots of the server for some seconds."""
    java = _java()
    yield java
    yield _brokers(config)
    if not java.problems:
        yield from _spark(config)


def _member(executor: Member) -> str:
    limit = f" (at most {executor.files:,} open files)" if executor.files > 0 else ""
    return f"{executor.id} at {executor.address}{limit}"


def _java() -> Finding:
    try:
        java = find_java()
    except KsqlError as e:
        return Finding("Java", (e,))
    return Finding(f"Java {java.version} at {java.home}")


def _brokers(config: Config) -> Finding:
    try:
        connection = config.connection()
        if not connection.bootstrap:
            return Finding("Kafka: the server starts a broker of its own")
        check_python(connection)
        kafka = Kafka(connection)
        kafka.check()
        return Finding(f"Kafka at {connection.bootstrap}: cluster {kafka.cluster_id()}")
    except KsqlError as e:
        return Finding("Kafka", (e,))


def _spark(config: Config) -> Iterator[Finding]:
    master, checkpoints = config.get("ksqlpy.spark.master"), config.get("ksqlpy.checkpoint.dir")
    what = f"Spark master {master}"
    with scratch_folder("ksqlpy-doctor-") as folder:
        try:
            check_master(master)
            check_cluster(master, checkpoints, config.connection().bootstrap)
            session = start_session(
                master, config.get("ksqlpy.spark.memory"), folder, None, config.get("ksqlpy.spark.java.options"),
                authenticated(master, config.spark, config.get(SECRET_FILE)),
            )  # fmt: skip
        except KsqlError as e:
            yield Finding(what, (e,))
            return
        try:
            yield Finding(f"{what}: Spark {session.version}")
            if one_jvm(master):
                return
            found = tuple(problems(session, checkpoints or str(folder / "checkpoints")))
            there = members(session)
            yield Finding(f"executors: {', '.join(map(_member, there)) or 'none'}", found)
            slots = slots_of(session)
            lacking = EngineProblem(
                "no-slots",
                "the executors have no task slots",
                hint="give Spark more executors, or executors with more cores",
            )
            yield Finding(f"task slots: {slots}", () if slots else (lacking,))
        finally:
            end_session(session)
