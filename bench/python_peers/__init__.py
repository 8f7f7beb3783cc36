"""Streaming libraries of Python that run the jobs of bench/functions.py: Faust, Quix Streams and PyFlink.

Each program (``programs``) is what a competent user of the library would write, in an environment of its own
(``environments.py``). Faust and Quix Streams run a process for each partition, PyFlink as many tasks in one JVM.
Their producers have the settings of ksqlpy's where a program may choose: batches of 128 KiB, acks of all replicas, no
compression; no linger where results shall go out at once, else Kafka Streams' 100 ms.

With exactly-once their results are there when a transaction commits: every 100 ms where results shall go out at once,
as Kafka Streams does by default; else at each library's own default, which gives more throughput. PyFlink has none: it
takes 10 s.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.contenders import BATCH, LINGER_MS, Contender, NotBuilt, Run, built, process
from bench.flink_sql import PROJECT as FLINK_PROJECT
from bench.jobs import Job
from bench.python_peers.environments import environment
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.runtime import Engine

__all__ = ["NAMES", "flink_statements", "python_peers"]

_PROGRAMS = Path(__file__).with_name("programs")

ALO, EO = "at_least_once", "exactly_once"
MODES = ("process", "thread")
"""How PyFlink runs Python: in processes beside its JVM, or in the JVM."""

NAMES = (
    *(f"{library} {guarantee}" for library in ("Faust", "Quix") for guarantee in (ALO, EO)),
    *(f"PyFlink {mode} {guarantee}" for mode in MODES for guarantee in (ALO, EO)),
)

_QUICK_COMMIT = 0.1
_COMMIT = {"Faust": 2.8, "Quix": 5.0, "PyFlink": 10.0}
"""Seconds between commits or checkpoints where throughput counts."""
_CHECKPOINT = 30.0
"""Of PyFlink with at_least_once, whose results do not wait for checkpoints: as often as Kafka Streams commits then."""

_JOBS = {
    "function in SELECT": "SELECT K, V, T, RULE(A) AS R FROM S WHERE V % 4 <> 0",
    "function in WHERE": "SELECT K, V, T, A AS R FROM S WHERE CHECKED(A)",
}
"""The jobs that the programs know, in Flink SQL."""


def _lacks(job: Job) -> str:
    return "" if job.name in _JOBS else "there is no program for it"


def _commit(library: str, guarantee: str, *, quick: bool) -> float:
    """Seconds between commits or checkpoints."""
    if guarantee == EO:
        return _QUICK_COMMIT if quick else _COMMIT[library]
    return _CHECKPOINT if library == "PyFlink" else _COMMIT[library]


def _plain() -> dict[str, str]:
    """The environment variables of a program, without this process's Python."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


@dataclass(frozen=True)
class _Library:
    """Faust or Quix Streams: a process for each partition."""

    library: str
    guarantee: str
    python: Path
    ours: bool = False

    @property
    def name(self) -> str:
        return f"{self.library} {self.guarantee}"

    @property
    def transactional(self) -> bool:
        return self.guarantee == EO

    def lacks(self, job: Job) -> str:
        return _lacks(job)

    @contextlib.contextmanager
    def run(self, engine: Engine, job: Job, suffix: str, sink: str, *, quick: bool) -> Iterator[Run]:
        engine.kafka.create_topic(sink, job.partitions, None, {})
        program = str(_PROGRAMS / f"with_{self.library.lower()}.py")
        arguments = (
            engine.bootstrap,
            job.name,
            job.topic(0, suffix),
            sink,
            self.guarantee,
            _commit(self.library, self.guarantee, quick=quick),
            0 if quick else LINGER_MS,
            BATCH,
        )

        def command(folder: Path) -> Sequence[str]:
            return [str(self.python), program, *map(str, arguments), str(folder)]

        try:
            with _processes(f"a {self.library} program", command, _plain(), job.partitions) as run:
                yield run
        finally:
            engine.kafka.delete_topics([sink])


@contextlib.contextmanager
def _processes(
    what: str, command: Callable[[Path], Sequence[str]], variables: dict[str, str], count: int
) -> Iterator[Run]:
    with contextlib.ExitStack() as stack:
        yield _Several([stack.enter_context(process(what, command, variables)) for _ in range(count)])


@dataclass(frozen=True)
class _Several:
    """One job in several processes."""

    runs: Sequence[Run]

    def wait(self) -> None:
        for run in self.runs:
            run.wait()

    def check(self) -> None:
        for run in self.runs:
            run.check()

    def cpu(self) -> float:
        return sum(run.cpu() for run in self.runs)

    def processes(self) -> Sequence[psutil.Process]:
        return [p for run in self.runs for p in run.processes()]

    def boundaries(self) -> list[float]:
        return []


@dataclass(frozen=True)
class _PyFlink:
    mode: str
    guarantee: str
    python: Path
    java: Path
    jars: tuple[Path, ...]
    ours: bool = False

    @property
    def name(self) -> str:
        return f"PyFlink {self.mode} {self.guarantee}"

    @property
    def transactional(self) -> bool:
        return self.guarantee == EO

    def lacks(self, job: Job) -> str:
        return _lacks(job)

    @contextlib.contextmanager
    def run(self, engine: Engine, job: Job, suffix: str, sink: str, *, quick: bool) -> Iterator[Run]:
        engine.kafka.create_topic(sink, job.partitions, None, {})
        arguments = (
            self.mode,
            round(_commit("PyFlink", self.guarantee, quick=quick) * 1000),
            *((1, 1) if quick else (0, 0)),
            job.partitions,
        )
        jars = ";".join(jar.as_uri() for jar in self.jars)
        statements = flink_statements(job, engine.bootstrap, suffix, sink, self.guarantee, quick=quick)

        def command(folder: Path) -> Sequence[str]:
            program = str(_PROGRAMS / "with_pyflink.py")
            return [str(self.python), program, *map(str, arguments), str(folder), jars, *statements]

        try:
            with process("a PyFlink program", command, {**_plain(), "JAVA_HOME": str(self.java)}) as run:
                yield run
        finally:
            engine.kafka.delete_topics([sink])


def flink_statements(job: Job, bootstrap: str, suffix: str, sink: str, guarantee: str, *, quick: bool) -> list[str]:
    """The statements of a job in Flink SQL, which calls the functions RULE and CHECKED."""
    common = (
        f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{bootstrap}', 'key.format' = 'raw',"
        " 'key.fields' = 'K', 'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY'"
    )
    delivery = f"'sink.delivery-guarantee' = '{guarantee.replace('_', '-')}'"
    if guarantee == EO:
        delivery += f", 'sink.transactional-id-prefix' = '{sink}', 'properties.transaction.timeout.ms' = '600000'"
    return [
        f"CREATE TABLE S (K STRING, V INT, T DOUBLE, A STRING) WITH ({common}, 'topic' = '{job.topic(0, suffix)}',"
        f" 'scan.startup.mode' = 'earliest-offset')",
        f"CREATE TABLE O (K STRING, V INT, T DOUBLE, R STRING) WITH ({common}, 'topic' = '{sink}', {delivery},"
        f" 'properties.linger.ms' = '{0 if quick else LINGER_MS}', 'properties.batch.size' = '{BATCH}')",
        f"INSERT INTO O {_JOBS[job.name]}",
    ]


def python_peers(wanted: Callable[[str], object]) -> list[Contender]:
    """Those whose names are wanted; a line for each library that cannot be installed here says why."""
    found: list[Contender] = []
    for library in ("Faust", "Quix", "PyFlink"):
        names = [name for name in NAMES if name.startswith(library) and wanted(name)]
        if not names:
            continue
        try:
            python = environment(library.lower())
            if library != "PyFlink":
                found.extend(_Library(library, name.split()[-1], python) for name in names)
                continue
            java, jars = find_java().home, _connector()
            found.extend(_PyFlink(*name.split()[1:], python, java, jars) for name in names)
        except (EnvironmentProblem, NotBuilt) as e:
            print(f"no {library} to compare with: {e.args[0]}", flush=True)
    return found


def _connector() -> tuple[Path, ...]:
    """The jars of Flink's Kafka connector, which PyFlink's packages lack; Maven fetches them for Flink SQL."""
    lib = built(FLINK_PROJECT).parent / "lib"
    return tuple(jar for part in ("flink-connector-kafka", "kafka-clients") for jar in lib.glob(f"{part}-*.jar"))
