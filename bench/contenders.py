"""Who runs the jobs: ksqlpy, and Kafka Streams programs (``bench/peers``), each in a JVM of its own.

``bench/flink_sql.py`` and ``bench/python_peers`` have more.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from bench.jobs import Job
from ksqlpy.embedded.guard import Guarded
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.runtime import Engine

__all__ = [
    "BATCH",
    "HEAP",
    "LINGER_MS",
    "PEERS",
    "Contender",
    "NotBuilt",
    "Run",
    "built",
    "kafka_streams",
    "ours",
    "process",
    "program",
    "spark_jvms",
    "stolen",
]

GUARANTEE = "processing.guarantee"
HEAP = "700m"
"""What the JVM of a program has: as much as Spark's JVM by default."""

READY_WITHIN = 60.0
"""Seconds that a job may take from its start to being able to process records."""

ENDS_WITHIN = 10.0
"""Seconds that what a program has started may take to end behind it."""

PEERS = {"Kafka Streams at_least_once": 30_000, "Kafka Streams exactly_once_v2": 100}
"""Kafka Streams with either guarantee, and its own commit interval then (ms)."""

_PROJECT = Path(__file__).with_name("peers")


class Run(Protocol):
    """A job that runs."""

    def wait(self) -> None:
        """Returns once it processes records."""

    def check(self) -> None:
        """Raises RuntimeError if it has ended by itself."""

    def cpu(self) -> float:
        """Seconds of processor time that its JVM has used since the start of the job."""

    def processes(self) -> Sequence[psutil.Process]:
        """Those in which it processes records."""

    def boundaries(self) -> list[float]:
        """The times (seconds since 1970) of its checkpoints, where they make results wait."""


class Contender(Protocol):
    """Something that can run the jobs."""

    @property
    def name(self) -> str:
        """What tables call it: who, and with which guarantee."""

    @property
    def ours(self) -> bool:
        """Whether it is ksqlpy."""

    @property
    def transactional(self) -> bool:
        """Whether it writes in transactions, whose markers take offsets of the sink topic."""

    def lacks(self, job: Job) -> str:
        """Why it has no program for a job that could be compared; empty if it has one."""

    def run(
        self, engine: Engine, job: Job, suffix: str, sink: str, *, quick: bool
    ) -> contextlib.AbstractContextManager[Run]:
        """Runs a job from the start of its source topics, ``bench_s{suffix}`` and others.

        They must exist and be declared in ``engine``, whose broker all contenders use. ``sink``: the name of the sink
        topic, which goes at the end. ``quick``: results go out at once, whatever that costs in throughput.
        """


def stolen() -> float:
    """Seconds of processor time that the host of this machine has given to others since its start; 0 if not known."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def spark_jvms(engine: Engine) -> list[psutil.Process]:
    """The JVM in which the queries of an engine run; a list since launchers may stand in between."""
    gateway = engine.session.sparkContext._gateway
    assert gateway is not None
    jvm = psutil.Process(gateway.proc.pid)
    return [p for p in [jvm, *jvm.children(recursive=True)] if _is_java(p)]


def _is_java(process: psutil.Process) -> bool:
    """Whether it is a JVM; programs that a JVM calls are soon gone."""
    try:
        return "java" in process.name()
    except psutil.NoSuchProcess:
        return False


def _cpu(processes: Sequence[psutil.Process]) -> float:
    return sum(sum(p.cpu_times()[:2]) for p in processes)


# ------------------------------------------------------------ ksqlpy


@dataclass(frozen=True)
class _Ours:
    guarantee: str
    ours: bool = True
    transactional: bool = False

    @property
    def name(self) -> str:
        return f"ksqlpy {self.guarantee}"

    def lacks(self, job: Job) -> str:
        del job
        return ""

    @contextlib.contextmanager
    def run(self, engine: Engine, job: Job, suffix: str, sink: str, *, quick: bool) -> Iterator[Run]:
        del quick  # ksqlpy has no such choice: results always go out at once
        properties = {"auto.offset.reset": "earliest", GUARANTEE: self.guarantee}
        used = _cpu(spark_jvms(engine))
        [entity] = engine.execute(job.query.format(n=suffix, o=sink), properties)
        try:
            yield _OurRun(engine, entity["commandStatus"]["queryId"], used)
        finally:
            engine.execute(f"DROP {job.kind} {sink} DELETE TOPIC;")


@dataclass(frozen=True)
class _OurRun:
    engine: Engine
    query_id: str
    used_before: float

    def wait(self) -> None:
        running = self.engine.queries.get(self.query_id)
        assert running is not None
        deadline = time.monotonic() + READY_WITHIN
        while not running.live.wait(0.2):
            self.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.query_id} is not running after {READY_WITHIN:.0f} s")

    def check(self) -> None:
        running = self.engine.queries.get(self.query_id)
        if running is None or running.status.failed:
            raise RuntimeError(f"{self.query_id} failed: {running.error if running else 'it is gone'}")

    def cpu(self) -> float:
        return _cpu(spark_jvms(self.engine)) - self.used_before

    def processes(self) -> Sequence[psutil.Process]:
        return spark_jvms(self.engine)

    def boundaries(self) -> list[float]:
        checkpoint = self.engine.queries.checkpoints.folder(self.query_id)
        folder = Path(checkpoint) / "spark" / "commits"
        found: list[float] = []
        for file in folder.iterdir() if folder.is_dir() else ():
            with contextlib.suppress(FileNotFoundError):  # old ones go
                if file.name.isdigit():
                    found.append(file.stat().st_mtime)
        return sorted(found)


def ours() -> list[Contender]:
    """ksqlpy, once for every processing guarantee that it can give, its default first."""
    return [_Ours("exactly_once"), _Ours("at_least_once")]


# ------------------------------------------------------------ programs in processes of their own


@contextlib.contextmanager
def program(what: str, java: Sequence[str], jar: Path, arguments: Sequence[str]) -> Iterator[Run]:
    """Runs a jar that prints RUNNING once it processes records.

    ``what``: what errors call it. ``java``: the command, and options that only this program needs.
    """

    def command(folder: Path) -> Sequence[str]:
        return [
            *java,
            f"-Xmx{HEAP}",
            f"-Djava.io.tmpdir={folder}",  # here its state goes
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
            "-jar",
            str(jar),
            *arguments,
        ]

    with process(what, command) as run:
        yield run


@contextlib.contextmanager
def process(
    what: str, command: Callable[[Path], Sequence[str]], variables: Mapping[str, str] | None = None
) -> Iterator[Run]:
    """Runs a command that prints RUNNING once it processes records.

    ``what``: what errors call it. ``command``: made of a folder for its state. ``variables``: its environment, by
    default that of this process.
    """
    folder = Path(tempfile.mkdtemp(prefix="ksqlpy-peer-"))
    log = folder / "log"
    child = Guarded(command(folder), log=log, env=variables, remove=[folder])
    run = _ProgramRun(what, child, log)
    try:
        yield run
    finally:
        own = run.processes()
        child.stop()
        for left in psutil.wait_procs(own, ENDS_WITHIN)[1]:
            left.kill()
        shutil.rmtree(folder, ignore_errors=True)  # the guard leaves it where the child had ended by itself


@dataclass(frozen=True)
class _ProgramRun:
    what: str
    child: Guarded
    log: Path

    def wait(self) -> None:
        deadline = time.monotonic() + READY_WITHIN
        while "RUNNING" not in self.log.read_text(errors="replace"):
            self.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.what} is not running after {READY_WITHIN:.0f} s")
            time.sleep(0.1)

    def check(self) -> None:
        if self.child.poll() is not None:
            said = self.log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{self.what} ended by itself:\n{said}")

    def cpu(self) -> float:
        return _cpu(self.processes())

    def processes(self) -> Sequence[psutil.Process]:
        try:
            child = psutil.Process(self.child.pid)
            return [child, *child.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def boundaries(self) -> list[float]:
        return []


class NotBuilt(Exception):
    """The programs of a contender cannot be built here; the text says why."""


def built(project: Path) -> Path:
    """The jar of a Maven project, made when it is missing or older than its sources."""
    jar = project / "target" / f"{project.name}.jar"
    sources = [project / "pom.xml", *(project / "src").rglob("*.java")]
    if jar.exists() and jar.stat().st_mtime >= max(s.stat().st_mtime for s in sources):
        return jar
    maven = shutil.which("mvn")
    if maven is None:
        raise NotBuilt(f"there is no mvn to build bench/{project.name} with")
    print(f"building bench/{project.name}", flush=True)
    jar.unlink(missing_ok=True)
    log = jar.with_name("build.log")
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as out:
        command = [maven, "--quiet", "--batch-mode", "-Dstyle.color=never", "--strict-checksums", "package"]
        try:
            status = subprocess.run(
                command, cwd=project, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=900
            ).returncode
        except subprocess.TimeoutExpired:
            status = -1
    if status != 0 or not jar.exists():
        said = log.read_text(errors="replace").partition("[ERROR] ")[2].partition("\n")[0]
        raise NotBuilt(f"mvn did not build bench/{project.name}: {said or 'it says nothing'}")
    return jar


# ------------------------------------------------------------ Kafka Streams


@dataclass(frozen=True)
class _KafkaStreams:
    jar: Path
    java: Path
    guarantee: str
    commit_ms: int
    ours: bool = False

    @property
    def name(self) -> str:
        return f"Kafka Streams {self.guarantee}"

    @property
    def transactional(self) -> bool:
        return self.guarantee != "at_least_once"

    def lacks(self, job: Job) -> str:
        return "" if job.dsl else "Kafka Streams' DSL has no such operation"

    @contextlib.contextmanager
    def run(self, engine: Engine, job: Job, suffix: str, sink: str, *, quick: bool) -> Iterator[Run]:
        engine.kafka.create_topic(sink, 1, None, {})
        arguments = (
            engine.bootstrap,
            job.name,
            suffix,
            sink,
            self.guarantee,
            self.commit_ms,
            0 if quick else LINGER_MS,
            BATCH,
        )
        try:
            with program("a Kafka Streams program", [str(self.java)], self.jar, [*map(str, arguments)]) as run:
                yield run
        finally:
            own = f"peer-{sink}-"  # topics of its state, by its application id
            engine.kafka.delete_topics([sink, *(t for t in engine.kafka.topics() if t.startswith(own))])


LINGER_MS = 100
"""Kafka Streams' own setting for its producer; that of all peers where throughput counts."""

BATCH = 128 * 1024
"""``batch.size`` of every producer: ksqlpy's. With Kafka's own, 16 KiB, peers have fewer results a second."""


def kafka_streams() -> list[Contender]:
    """Kafka Streams with either guarantee, at its own commit intervals; built first if need be.

    An empty list, and one line that says why, where that cannot be done.
    """
    try:
        java = find_java().executable
        jar = built(_PROJECT)
    except (EnvironmentProblem, NotBuilt) as e:
        print(f"no Kafka Streams to compare with: {e.args[0]}", flush=True)
        return []
    return [_KafkaStreams(jar, java, name.split()[-1], commit) for name, commit in PEERS.items()]
