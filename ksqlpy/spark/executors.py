"""The executors of a cluster: who is there, and whether they can do what queries will ask of them."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksqlpy.errors import EnvironmentProblem, KsqlError
from ksqlpy.spark.checkpoint import MADE, Checkpoint
from ksqlpy.spark.gateway import jvm_of
from ksqlpy.spark.session import is_local, slots_of
from ksqlpy.spark.version import check_spark

__all__ = ["Losses", "Member", "members", "problems", "wait_for_slots"]

_FIRST = 60.0
"""Seconds in which the first executor has to come, for :func:`problems`."""

_OTHERS = 1.5
"""Seconds without a new one after which all have come."""

_TRIED = 20.0
"""Seconds that executors have for what they try."""

_SKEW = 60_000
"""Ms by which the clock of an executor may differ from the server's."""


_NEWS = 0.5
"""Seconds in which the driver is told of an executor whose end a query has noticed."""


class Losses:
    """Whether executors were lost while something ran."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = jvm_of(session)
        self._cluster = not is_local(session)
        self._before = 0

    def begin(self) -> None:
        """Those that are lost from now on count."""
        self._before = self._count()

    def any(self) -> bool:
        """Whether one was lost; it waits a moment for the news where none is known of yet. False without a JVM."""
        end = time.monotonic() + (_NEWS if self._cluster else 0)
        with contextlib.suppress(Py4JError, OSError):
            while self._count() == self._before:
                if time.monotonic() >= end:
                    return False
                time.sleep(0.02)
            return True
        return False

    def _count(self) -> int:
        return int(self._jvm.ksqlpy.metrics.Reports.lost()) if self._cluster else 0


@dataclass(frozen=True)
class Member:
    """An executor.

    ``address``: host and port of its block manager. ``skew``: ms that its clock is ahead. ``checks``: what it has
    tried, empty where it went well. ``files``: how many it may have open at once, -1 for any number.
    """

    id: str
    address: str
    version: str
    skew: int
    checks: dict[str, str]
    files: int = -1


def members(session: SparkSession) -> list[Member]:
    """The executors that have reported."""
    jvm = jvm_of(session)
    found = json.loads(jvm.ksqlpy.metrics.Reports.members())
    return [Member(id_, **told) for id_, told in sorted(found.items()) if told is not None]


def wait_for_slots(session: SparkSession, wanted: int, seconds: float) -> None:
    """Returns when the executors that are there have so many task slots, or after so many seconds."""
    end = time.monotonic() + seconds
    while slots_of(session) < wanted and time.monotonic() < end:
        time.sleep(0.1)


def problems(session: SparkSession, checkpoints: str) -> Iterator[KsqlError]:
    """What keeps queries from running on the executors; ends with the first that makes the rest pointless.

    ``checkpoints``: the folder below which those of queries will be. The executors report within seconds of their
    start; all that are there are asked.
    """
    there = _wait(session)
    if not there:
        yield EnvironmentProblem(
            "no-executors",
            f"no executor of the Spark cluster has reported within {_FIRST:g} s",
            hint="see in Spark's Master whether the application got any, whether workers run Spark's version of the"
            " server, and whether they reach the driver: spark.driver.host, spark.driver.port",
        )
        return
    for member in there:
        try:
            check_spark(member.version)
        except EnvironmentProblem as e:
            yield EnvironmentProblem(e.code, f"executor {member.id} at {member.address}: {e.message}", hint=e.hint)
        if abs(member.skew) > _SKEW:
            yield EnvironmentProblem(
                "clock-skew",
                f"the clock of executor {member.id} at {member.address} is {member.skew / 1000:+.0f} s ahead",
                hint="set the clocks of all machines by NTP: functions of the present time give what executors have",
            )
    yield from _tried(session, checkpoints, there)


def _wait(session: SparkSession) -> list[Member]:
    end, changed = time.monotonic() + _FIRST, time.monotonic()
    found: list[Member] = []
    while time.monotonic() < end and not (found and time.monotonic() - changed > _OTHERS):
        now = members(session)
        if {m.id for m in now} != {m.id for m in found}:
            changed = time.monotonic()
        found = now
        time.sleep(0.1)
    return found


def _tried(session: SparkSession, checkpoints: str, there: list[Member]) -> Iterator[KsqlError]:
    """They read a file that the driver has written, and connect to each other."""
    jvm = jvm_of(session)
    reports = jvm.ksqlpy.metrics.Reports
    probe = Checkpoint(session, f"{checkpoints}/.probe-{uuid.uuid4().hex[:8]}")
    try:
        probe.make("probe")
        read = f"read {probe.folder}/{MADE}"
        connect = [f"connect {m.address}" for m in there]
        reports.check([read, *connect])
        end = time.monotonic() + _TRIED
        while time.monotonic() < end:
            now = members(session)
            if all({read, *connect} <= set(m.checks) for m in now):
                break
            time.sleep(0.1)
        left = members(session)
        # One that was lost meanwhile is nobody's fault: queries run on the others.
        connect = [f"connect {m.address}" for m in left if f"connect {m.address}" in connect]
        for member in left:
            said = member.checks.get(read, "it took too long")
            if said:
                yield EnvironmentProblem(
                    "checkpoint-not-shared",
                    f"executor {member.id} at {member.address} cannot read what the server writes below"
                    f" {checkpoints}: {said}",
                    hint="set ksqlpy.checkpoint.dir to a place that all machines reach, such as hdfs:// or s3a://",
                )
            for other in connect:
                said = member.checks.get(other, "it took too long")
                if said:
                    yield EnvironmentProblem(
                        "executors-apart",
                        f"executor {member.id} at {member.address} does not reach the one at"
                        f" {other.removeprefix('connect ')}: {said}",
                        hint="rows go from executor to executor: open the ports between their machines"
                        " (spark.blockManager.port fixes them)",
                    )
    finally:
        with contextlib.suppress(Py4JError, OSError, KsqlError):
            reports.check([])
            probe.remove()
