"""Measures the report on performance, run by run, and keeps the figures in its file.

All contenders use one broker, which stays. Each run has a JVM that has just started, ksqlpy's server too: so nobody is
warmed up for longer than the others. While a peer runs, ksqlpy does not.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import psutil
import pyspark

from bench import latency, throughput
from bench.contenders import BATCH, HEAP, LINGER_MS, PEERS, Contender, kafka_streams, ours, stolen
from bench.flink_sql import FLINKS, PROJECT, flink
from bench.jobs import JOBS, Job
from bench.report.record import LATENCY, THROUGHPUT, Record, Refused, Settings, Step
from ksqlpy.analysis import Declare, analyze_create
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.embedded.folders import scratch_folder
from ksqlpy.embedded.jars import broker_jars
from ksqlpy.embedded.java import find_java
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.runtime.topics import Topics
from ksqlpy.spark.kafka import Kafka
from ksqlpy.sql import parse
from ksqlpy.version import __version__

__all__ = ["OF_REPORT", "contenders", "report"]

OF_REPORT = ("filter + project", "GROUP BY", "stream-stream join", "session count", "foreign-key join")
"""The jobs of the report."""

REST = 3.0
"""Seconds between two runs, in which what the last one has left ends."""


def contenders(wanted: re.Pattern[str], checkpoint: float) -> list[Contender]:
    """Those whose names are wanted, built if need be; raises Refused where one of them cannot be.

    ``checkpoint``: seconds between those of Flink.
    """
    groups: Sequence[tuple[Callable[[], list[Contender]], Sequence[str]]] = [
        (ours, [w.name for w in ours()]),
        (kafka_streams, [*PEERS]),
        (lambda: flink(checkpoint), [*FLINKS]),
    ]
    found: list[Contender] = []
    for make, names in groups:
        if not any(map(wanted.search, names)):
            continue
        made = make()
        if not made:
            raise Refused(f"{' and '.join(names)} cannot run here: --who leaves them out")
        found.extend(who for who in made if wanted.search(who.name))
    return found


def report(path: Path, settings: Settings, who: Sequence[Contender], master: str, *, go_on: bool) -> Iterator[str]:
    """Measures what is left to measure; gives a line for each run. Raises Refused."""
    jobs = {job.name: job for job in JOBS if job.name in settings.jobs}
    left_out = [
        {"job": name, "who": w.name, "why": why} for name, job in jobs.items() for w in who if (why := w.lacks(job))
    ]
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    conditions = {"queries": {name: _shown(job) for name, job in jobs.items()}, **_conditions()}
    record = Record.begin(path, settings, conditions, left_out, date, go_on=go_on)
    left = record.left()
    yield f"{len(left)} runs; figures in {path}"
    with EmbeddedKafka() as broker:
        rig = _Rig(settings, master, _Brokers(broker.bootstrap))
        for number, step in enumerate(left, 1):
            by_name = {w.name: w for w in who}
            try:
                figures = rig.run(step, jobs[step.job], by_name[step.who])
            except (RuntimeError, KsqlError) as e:  # the others' figures are still worth having
                record.fail(step, str(e).partition("\n")[0])
                told = f"no figures: {e}"
            else:
                record.add(step, figures)
                told = _told(step, figures)
            yield f"{number} of {len(left)}, {step.part}, round {step.round}, {step.job}, {step.who}: {told}"


def _shown(job: Job) -> str:
    """The job's query, as a reader would write it."""
    return job.query.format(n="", o="O").removesuffix(";")


def _told(step: Step, figures: dict[str, Any]) -> str:
    if step.part == THROUGHPUT:
        found = f"{figures['flow']:,.0f} results/s, 2nd half {figures['second_half']:,.0f}"
    else:
        found = f"p50 {figures['p50']:.1f} ms, p99.9 {figures['p99.9']:.1f} ms"
    return f"{found}, load {figures['load'][0]:.1f} to {figures['load'][1]:.1f}, stolen {figures['stolen']:.1f} s"


# ------------------------------------------------------------ conditions


def _conditions() -> dict[str, dict[str, Any]]:
    java = find_java()
    pom = (PROJECT / "pom.xml").read_text(encoding="utf-8")
    [of_flink] = re.findall(r"<flink.version>(.+)</flink.version>", pom)
    [of_kafka] = [m[1] for jar in broker_jars() if (m := re.fullmatch(r"kafka-clients-(.+)\.jar", jar.name))]
    with scratch_folder("bench-") as folder:
        disk = _file_system(folder)
    return {
        "machine": {
            "processor": _processor(),
            "processors": os.cpu_count() or 0,
            "memory": psutil.virtual_memory().total,
            "system": platform.system(),
            "disk": disk,
        },
        "versions": {
            "ksqlpy": __version__,
            "commit": _commit(),
            "java": java.version,
            "spark": pyspark.__version__,
            "kafka": of_kafka,
            "flink": of_flink,
            "python": platform.python_version(),
        },
        "same": {"heap": HEAP, "batch": BATCH, "linger": LINGER_MS, "settle": latency.SETTLE},
    }


def _processor() -> str:
    """What the processor is called, where that is known."""
    file = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", file.read_text(encoding="utf-8")) if file.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


def _file_system(folder: Path) -> str:
    """The kind of that in which broker, state and checkpoints lie."""
    mounts = [m for m in psutil.disk_partitions(all=True) if folder.resolve().is_relative_to(m.mountpoint)]
    return max(mounts, key=lambda m: len(m.mountpoint)).fstype if mounts else "unknown"


def _commit() -> str:
    """That of the sources, with a + if they are changed; empty without git."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        found = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, timeout=30)
        changed = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, timeout=30)
    except OSError:
        return ""
    return found.stdout.strip() + ("+" if changed.stdout.strip() else "")


# ------------------------------------------------------------ runs


@dataclass
class _Brokers:
    """Stands for an engine beside a peer: its brokers, and topics as ksqlpy makes them, but no Spark."""

    bootstrap: str
    catalog: Catalog = field(default_factory=Catalog)

    @property
    def kafka(self) -> Kafka:
        return Kafka(KafkaConnection(self.bootstrap))

    def execute(self, sql: str) -> None:
        """Makes the topics of CREATE statements."""
        topics = Topics(self.kafka, "bench_")
        for parsed in parse(sql):
            made = analyze_create(parsed, self.catalog, Config.of())
            assert isinstance(made, Declare)
            topics.ensure_declared(made)


@dataclass
class _Rig:
    """The broker, and the backlogs in it, by their jobs."""

    settings: Settings
    master: str
    brokers: _Brokers
    backlogs: dict[str, str] = field(default_factory=dict)
    runs: int = 0

    def run(self, step: Step, job: Job, who: Contender) -> dict[str, Any]:
        """The figures of a run; raises RuntimeError and KsqlError."""
        self.runs += 1
        own = f"R{self.runs}"
        of = self._backlog(job) if step.part == THROUGHPUT else own
        kafka = self.brokers.kafka
        before = {*kafka.topics()}
        time.sleep(REST)
        load, taken = os.getloadavg()[0], stolen()
        try:
            with self._engine(who) as (engine, start):
                if step.part == LATENCY:
                    rate, seconds = self.settings.rate, self.settings.seconds
                    figures = _latencies(latency.measure(engine, who, job, own, rate=rate, seconds=seconds))
                else:
                    engine.execute(job.setup.format(n=of, p=job.partitions))
                    figures = _rates(throughput.measure(engine, who, job, of, own, self.settings.records))
        finally:
            kafka.delete_topics([t for t in kafka.topics() if t not in before and not t.startswith("__")])
        return {**figures, "start": start, "load": [load, os.getloadavg()[0]], "stolen": stolen() - taken}

    def _backlog(self, job: Job) -> str:
        """The suffix of the job's backlog, which is written if it is not there yet."""
        if job.name not in self.backlogs:
            suffix = f"B{len(self.backlogs)}"
            throughput.fill(cast(Engine, self.brokers), job, suffix, self.settings.records)
            self.backlogs[job.name] = suffix
        return self.backlogs[job.name]

    @contextlib.contextmanager
    def _engine(self, who: Contender) -> Iterator[tuple[Engine, float | None]]:
        """An engine, and the seconds of its start; for peers the brokers alone."""
        if not who.ours:
            yield cast(Engine, self.brokers), None
            return
        begin = time.monotonic()
        engine = Engine(
            Config.of(
                {
                    "bootstrap.servers": self.brokers.bootstrap,
                    "commit.interval.ms": self.settings.interval * 1000,
                    "ksqlpy.spark.master": self.master,
                    "ksql.service.id": f"bench{self.runs}_",
                }
            )
        )
        engine.start()
        try:
            yield engine, time.monotonic() - begin
        finally:
            engine.stop()


def _rates(run: throughput.Backlog) -> dict[str, Any]:
    return {
        "due": run.due,
        "missing": run.missing,
        "flow": run.flow,
        "second_half": run.second_half,
        "whole": run.whole,
        "first": run.first,
        "cpu": run.cpu,
    }


_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def _latencies(run: latency.Latency) -> dict[str, Any]:
    return {
        "due": run.sent,
        "missing": max(0, run.sent - len(run.millis)),
        **{name: latency.quantile(run.millis, q) for name, q in _QUANTILES.items()},
        "calm": {name: latency.quantile(run.calm, q) for name, q in _QUANTILES.items()} if run.boundaries else None,
        "stalls": run.stalls,
        "stall": statistics.median(run.stalls) if run.stalls else None,
        "quiet_stalls": run.quiet_stalls,
    }
