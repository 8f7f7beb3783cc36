"""Flink SQL as a contender: each job in a mini cluster of its own, in one JVM (``bench/flink``).

It takes part where `--who` names it, since Maven fetches 100 MB of libraries for it. The programs are what a user of
Flink would write to get the results of the job, as many and from the same records. Jobs that have no such program are
left out, for the reason in ``_LACKS``.

It takes checkpoints as often as ksqlpy. With exactly_once readers see its results at the next checkpoint: where results
shall go out at once it takes one every 100 ms, as often as Kafka Streams commits then.

Time comes from the records' timestamps. A watermark follows each record where results shall go out at once; else
every 200 ms, as is Flink's own setting, since that gives more throughput.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.contenders import BATCH, LINGER_MS, Contender, NotBuilt, Run, built, program
from bench.jobs import Job
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.runtime import Engine

__all__ = ["FLINKS", "PROJECT", "flink", "flink_lacks", "flink_statements", "started"]

FLINKS = ("Flink at_least_once", "Flink exactly_once")

PROJECT = Path(__file__).with_name("flink")

_OPENS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in (
        "java.lang",
        "java.lang.reflect",
        "java.io",
        "java.net",
        "java.nio",
        "java.text",
        "java.time",
        "java.util",
        "java.util.concurrent",
        "java.util.concurrent.atomic",
        "sun.nio.ch",
    )
)
"""What Flink's own launcher opens of the JDK for it."""

QUICK = 0.1
"""Seconds between checkpoints with exactly_once where results shall go out at once."""

TRANSACTION_MS = 600_000
"""How long a transaction may take: brokers refuse Flink's own setting, an hour, as theirs is a quarter of one."""

IDLE = "1 s"
"""After so long without records a table holds up the stream's time no longer."""


@dataclass(frozen=True)
class _Program:
    """A job in Flink SQL: the columns of its result and the query.

    ``sources``: its topics, by the letters of ``bench_s{n}`` and so on; they are tables S, D and so on. ``changes``:
    S is a table, not a stream. ``key``: of a result that is a table, whose rows change, its primary key.
    ``watermark``: what stands behind WATERMARK FOR TS AS, where the query uses TS, the time of the record.
    """

    columns: str
    query: str
    sources: str = "S"
    changes: bool = False
    key: str = ""
    watermark: str = "TS"

    def statements(self, bootstrap: str, suffix: str, sink: str, *, once: bool, quick: bool) -> list[str]:
        """The statements that run it; ``once``: its results are written exactly once."""
        common = (
            f"'properties.bootstrap.servers' = '{bootstrap}', 'value.format' = 'json',"
            " 'value.fields-include' = 'EXCEPT_KEY'"
        )
        made = [self._source(name, suffix, common, each=quick) for name in self.sources]
        if self.key:
            connector, primary = "'upsert-kafka'", f", PRIMARY KEY ({self.key}) NOT ENFORCED"
        else:
            connector, primary = "'kafka', 'key.fields' = 'K'", ""
        delivery = "'sink.delivery-guarantee' = 'at-least-once'"
        if once:  # pooling: a transaction of each checkpoint needs no new id
            delivery = (
                f"'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{sink}',"
                f" 'sink.transaction-naming-strategy' = 'pooling',"
                f" 'properties.transaction.timeout.ms' = '{TRANSACTION_MS}'"
            )
        return [
            *made,
            f"CREATE TABLE O (K STRING, {self.columns}{primary}) WITH ('connector' = {connector}, {common},"
            f" 'topic' = '{sink}', 'key.format' = '{'json' if ',' in self.key else 'raw'}',"
            f" {delivery},"
            f" 'properties.linger.ms' = '{0 if quick else LINGER_MS}', 'properties.batch.size' = '{BATCH}')",
            f"INSERT INTO O {self.query}",
        ]

    def _source(self, name: str, suffix: str, common: str, *, each: bool) -> str:
        """The statement that declares a source; ``each``: a watermark follows each record."""
        beside = name in "DE"
        columns = f"K STRING, {'NAME STRING' if beside else 'V INT, T DOUBLE'}"
        options = f"{common}, 'topic' = 'bench_{name.lower()}{suffix}', 'key.format' = 'raw'"
        if "TS" in self.query:
            columns += ", TS TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
            columns += f", WATERMARK FOR TS AS {self.watermark}"
            options += ", 'scan.watermark.emit.strategy' = 'on-event'" if each else ""
            options += f", 'scan.watermark.idle-timeout' = '{IDLE}'" if beside else ""
        if beside or self.changes:
            return (
                f"CREATE TABLE {name} ({columns}, PRIMARY KEY (K) NOT ENFORCED)"
                f" WITH ('connector' = 'upsert-kafka', {options})"
            )
        return (
            f"CREATE TABLE {name} ({columns})"
            f" WITH ('connector' = 'kafka', 'key.fields' = 'K', 'scan.startup.mode' = 'earliest-offset', {options})"
        )


_AS_OF = "FOR SYSTEM_TIME AS OF S.TS"

_PROGRAMS = {
    "filter + project": _Program("V INT, T DOUBLE", "SELECT K, V, T FROM S WHERE V >= 0"),
    "GROUP BY": _Program("N BIGINT, T DOUBLE", "SELECT K, COUNT(*) AS N, MAX(T) AS T FROM S GROUP BY K", key="K"),
    # Grouped by one bound of the window, not by both: so each record has its results at once, as in ksqlDB.
    "hopping count": _Program(
        "N BIGINT, T DOUBLE, W TIMESTAMP(3)",
        "SELECT K, COUNT(*) AS N, MAX(T) AS T, window_start AS W FROM TABLE("
        "HOP(TABLE S, DESCRIPTOR(TS), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY K, window_start",
        key="K, W",
    ),
    "stream-table join": _Program(
        "V INT, T DOUBLE, NAME STRING",
        f"SELECT S.K, S.V, S.T, D.NAME FROM S JOIN D {_AS_OF} ON S.K = D.K",
        sources="SD",
    ),
    "three-way join": _Program(
        "V INT, T DOUBLE, NAME STRING, OTHER STRING",
        f"SELECT S.K, S.V, S.T, D.NAME, E.NAME FROM S JOIN D {_AS_OF} ON S.K = D.K JOIN E {_AS_OF} ON S.K = E.K",
        sources="SDE",
    ),
    # The later of two records makes the result, whichever comes last.
    "stream-stream join": _Program(
        "V INT, T DOUBLE",
        "SELECT S.K, S.V, R.T FROM S JOIN R ON S.K = R.K"
        " AND R.TS BETWEEN S.TS - INTERVAL '1' SECOND AND S.TS + INTERVAL '1' SECOND",
        sources="SR",
    ),
    # So a record of a window's end closes it, as in ksqlDB; with TS one of the millisecond before would.
    "EMIT FINAL": _Program(
        "N BIGINT, T DOUBLE",
        "SELECT K, COUNT(*) AS N, TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_end)"
        " + EXTRACT(MILLISECOND FROM window_end) / 1E3 AS T"
        " FROM TABLE(TUMBLE(TABLE S, DESCRIPTOR(TS), INTERVAL '0.1' SECOND)) GROUP BY K, window_start, window_end",
        watermark="TS - INTERVAL '0.001' SECOND",
    ),
    # Each row is new, and so has one result, whether it comes before the row of D or after it.
    "foreign-key join": _Program(
        "V INT, T DOUBLE, NAME STRING",
        "SELECT S.K, S.V, S.T, D.NAME FROM S JOIN D ON CONCAT('k', CAST(S.V % 50 AS STRING)) = D.K",
        sources="SD",
        changes=True,
        key="K",
    ),
}

_LACKS = {
    "session count": "its sessions have a result when they close, ksqlDB's with each record",
    "table aggregate": "each update gives it two results: one without the old row, one with the new one",
    "table-table join": "rows that it reads ahead of those of the other table have no results of their own",
}
"""Why jobs have no program that could be compared, by their names."""


@dataclass(frozen=True)
class _Flink:
    """``checkpoint``: seconds between two of them."""

    jar: Path
    java: Path
    name: str
    checkpoint: float
    ours: bool = False

    @property
    def transactional(self) -> bool:
        return self.name == FLINKS[1]

    def lacks(self, job: Job) -> str:
        return flink_lacks(job)

    @contextlib.contextmanager
    def run(self, engine: Engine, job: Job, suffix: str, sink: str, *, quick: bool) -> Iterator[Run]:
        engine.kafka.create_topic(sink, 1, None, {})
        once = self.transactional
        statements = flink_statements(job, engine.bootstrap, suffix, sink, once=once, quick=quick)
        checkpoint = round(1000 * (QUICK if once and quick else self.checkpoint))
        try:
            with program("a Flink program", [str(self.java), *_OPENS], self.jar, [str(checkpoint), *statements]) as run:
                yield run
        finally:
            engine.kafka.delete_topics([sink])


def flink_lacks(job: Job) -> str:
    """Why Flink has no program for a job that could be compared; empty if it has one."""
    return "" if job.name in _PROGRAMS else _LACKS.get(job.name, "there is no program for it")


def flink_statements(job: Job, bootstrap: str, suffix: str, sink: str, *, once: bool, quick: bool) -> list[str]:
    """The statements of a job's program; ``once``: its results are written exactly once; ``quick``: at once."""
    return _PROGRAMS[job.name].statements(bootstrap, suffix, sink, once=once, quick=quick)


def flink(checkpoint: float) -> list[Contender]:
    """Flink SQL with either guarantee and so many seconds between checkpoints, built first if need be.

    An empty list, and one line that says why, where that cannot be done.
    """
    try:
        jar, java = built(PROJECT), find_java().executable
        return [_Flink(jar, java, name, checkpoint) for name in FLINKS]
    except (EnvironmentProblem, NotBuilt) as e:
        print(f"no Flink to compare with: {e.args[0]}", flush=True)
        return []


def started(checkpoint: float, statements: Sequence[str]) -> contextlib.AbstractContextManager[Run]:
    """Runs other statements than those of a job, the last of which is an INSERT.

    ``checkpoint``: seconds between two of them. Raises NotBuilt or EnvironmentProblem where there is no Flink here.
    """
    arguments = [str(round(1000 * checkpoint)), *statements]
    return program("a Flink program", [str(find_java().executable), *_OPENS], built(PROJECT), arguments)
