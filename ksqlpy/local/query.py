"""One question over topics and files, answered by the planner's own plan without a server; nothing stays.

Topics are read from their first record to the end that they have when the question is asked, or between two times;
nothing is written on the brokers, and no offsets are committed. Of a table comes what it holds at the end, or with
``changes`` every change.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksqlpy.analysis import Text, TypedQuery, analyze_query
from ksqlpy.analysis.identity import identity_of
from ksqlpy.catalog import Column, Source
from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import AnalysisProblem, ConfigProblem, similar_names
from ksqlpy.local.files import FileRowProblem, read_rows
from ksqlpy.local.rows import plain_json
from ksqlpy.local.sources import Declared
from ksqlpy.plan import Plan, build_plan
from ksqlpy.spark.bounded import Change, Held, Inputs, Run, Unread
from ksqlpy.spark.check import check_plan
from ksqlpy.spark.clients import check_python
from ksqlpy.spark.kafka import Kafka
from ksqlpy.types import DOUBLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Answer", "Question", "Wanted", "ask", "inputs_of", "read_question"]

Offsets = dict[str, dict[str, int]]

_AT_ONCE = 20_000
"""Records of a partition whose rows are in memory together, twice: while some are taken, the next are fetched."""


@dataclass(frozen=True)
class Question:
    """A query that is legal, with its plan."""

    typed: TypedQuery
    plan: Plan
    sql: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """The result's columns, in the order in which they are selected."""
        return tuple(Column(o.name, o.expr.type) for o in self.typed.outputs)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources that it reads."""
        return tuple({r.source.name: r.source for r in self.plan.relations}.values())


def read_question(declared: Declared) -> tuple[Question, bool]:
    """The SELECT of the statements, and whether EMIT CHANGES says that every change is wanted.

    Raises AnalysisProblem, also where there is no SELECT (``no-query``).
    """
    if declared.query is None:
        raise AnalysisProblem("no-query", "there is no SELECT among the statements")
    parsed = declared.query
    text = Text(parsed.sql, declared.catalog.types)
    typed = analyze_query(parsed.node, declared.catalog, text, persistent=False, config=declared.config)
    if typed.order:
        order = parsed.node.args["order"]
        text.refuse("unsupported-clause", "ORDER BY is not possible here", order, hint="sort the rows that come out")
    plan = build_plan(typed)
    check_plan(plan)
    return Question(typed, plan, parsed.sql), parsed.node.args.get("emit") is not None


@dataclass(frozen=True)
class Wanted:
    """How the question is to be answered.

    ``changes``: every change of a table; ``follow``: goes on with what comes; ``latest``: without what is there, save
    tables; ``limit``: rows at most; ``timeout``: seconds at most. ``since``, ``until``: times in ms since 1970, by the
    timestamps of records: of streams, records from the one on, of all sources records before the other.
    """

    changes: bool = False
    follow: bool = False
    latest: bool = False
    limit: int | None = None
    timeout: float | None = None
    since: int | None = None
    until: int | None = None


@dataclass
class Answer:
    """What became of it: rows given out, whether the time was enough, and the records that could not be read."""

    rows: int = 0
    complete: bool = True
    unread: int = 0
    examples: list[Unread] = field(default_factory=list)


class _Enough(Exception):
    """The limit is reached."""


def ask(
    question: Question,
    inputs: Inputs,
    wanted: Wanted,
    session: SparkSession,
    folder: Path,
    row: Callable[[Sequence[Any]], None],
) -> Answer:
    """Answers the question; ``row`` gets the rows, in the order of the columns, fractions as Decimals.

    ``folder``: for files on the way. Raises KsqlError.
    """
    table = question.plan.kind == "TABLE"
    final = table and not (wanted.changes or wanted.follow)
    limit = wanted.limit if question.typed.limit is None else min(question.typed.limit, wanted.limit or 2**31)
    answer = Answer()
    held = Held()
    columns = question.columns

    def give(text: str) -> None:
        values = json.loads(text, parse_float=Decimal)
        row([_value(values[c.name], c) for c in columns])
        answer.rows += 1
        if answer.rows == limit:
            raise _Enough

    def take(change: Change | Unread) -> None:
        if isinstance(change, Unread):
            answer.unread += 1
            answer.examples += [change] if len(answer.examples) < 3 else []
        elif final:
            held.take(change)
        elif change.columns is not None:
            give(change.columns)

    run = Run(session, question.plan, identity_of(question.typed) if table else (), inputs, str(folder))
    try:
        if limit == 0:
            return answer
        if question.plan.stateful or wanted.follow or wanted.timeout is not None:  # only a stream can be stopped
            answer.complete = run.changes(take, follow=wanted.follow, timeout=wanted.timeout)
        else:
            for change in run.batch(None if final else limit):
                take(change)
        for text in held.rows if answer.complete else ():
            give(text)
    except _Enough:
        pass
    return answer


def _value(value: Any, column: Column) -> Any:
    return float(value) if column.type == DOUBLE and isinstance(value, Decimal) else value


# ---------------------------------------------------------------- where records come from


def inputs_of(question: Question, config: Config, files: Mapping[str, Path], wanted: Wanted, folder: Path) -> Inputs:
    """Where the records of the question are: in topics, from first to last, or in files, by the names of sources.

    ``config``: how brokers and schema registry are reached, and which records count (``committed``); ``folder``: for
    files on the way. Raises KsqlError:
    ``no-kafka``, ``missing-topic``, ``unknown-input``, and for what is wrong in a file, also rows of a stream without a
    time that has to be known.
    """
    connection = config.connection()
    by_name = {s.name: s for s in question.sources}
    given = {_named(name, by_name): file for name, file in files.items()}
    streams = [s.topic for s in question.sources if s.kind == "STREAM"]  # a table's earlier records are its state
    cut = wanted.since is not None or wanted.until is not None
    rows = 0
    places: dict[str, tuple[Source, Path]] = {}
    for name, file in given.items():
        source = by_name[name]
        if source.window is not None:
            raise ConfigProblem("windowed-source", f"{name} has a windowed key, its rows cannot be read from a file")
        place = folder / f"input-{len(places)}"
        rows += _as_lines(file, source, place, timed=cut and source.kind == "STREAM")
        places[source.topic] = (source, place)
    topics = {s.topic: s for s in by_name.values() if s.name not in given}
    start, end = _offsets(topics, connection, wanted, committed=config.committed) if topics else ({}, {})
    return Inputs(
        connection,
        start,
        end,
        places,
        now=int(time.time() * 1000),
        since=dict.fromkeys(streams, wanted.since) if wanted.since is not None else {},
        until=wanted.until,
        rows=rows,
        at_once=_AT_ONCE,
        registry=config.registry(),
        committed=config.committed,
        largest_record=config.number("ksqlpy.record.max.bytes"),
    )


def _named(name: str, sources: Mapping[str, Source]) -> str:
    found = name if name in sources else name.upper()
    if found not in sources:
        raise ConfigProblem(
            "unknown-input",
            f"the query reads no source called {name}",
            similar=similar_names(name, sources),
            hint=f"it reads {', '.join(sources)}",
        )
    return found


def _as_lines(file: Path, source: Source, folder: Path, *, timed: bool) -> int:
    """Writes the file's rows as lines that Spark reads; gives their number. ``timed``: each must have a time."""
    folder.mkdir(parents=True)
    number = 0
    with (folder / "rows.jsonl").open("w", encoding="utf-8", newline="\n") as lines:
        for number, row in enumerate(read_rows(file, source), 1):
            if timed and row.time is None:
                raise FileRowProblem(
                    "no-rowtime",
                    f"{file}: row {number} has no ROWTIME, the time of its record, by which --from and --to choose",
                    hint="add a field ROWTIME, or choose by WHERE ROWTIME, which knows the TIMESTAMP of the source",
                )
            lines.write(plain_json(row, source, number - 1) + "\n")
    return number


def _offsets(
    topics: Mapping[str, Source], connection: KafkaConnection, wanted: Wanted, *, committed: bool
) -> tuple[Offsets, Offsets]:
    if not connection.bootstrap:
        names = ", ".join(s.name for s in topics.values())
        raise ConfigProblem(
            "no-kafka",
            f"it is not said where the records of {names} are",
            hint="name Kafka with --bootstrap-servers, or a file with --input NAME=FILE",
        )
    check_python(connection)
    kafka = Kafka(connection)
    kafka.check()
    known = kafka.topics()
    for topic, source in topics.items():
        if topic not in known:
            raise AnalysisProblem(
                "missing-topic",
                f"topic {topic} of {source.name} does not exist",
                similar=similar_names(topic, known),
                hint="it is there once the statement has run" if source.statement else None,
            )
    partitions = {topic: len(known[topic]) for topic in topics}
    end = kafka.offsets(partitions, latest=True, committed=committed)
    whole = not wanted.latest and wanted.since is None
    first = {topic: n for topic, n in partitions.items() if whole or topics[topic].kind == "TABLE"}
    start = {**end, **(kafka.offsets(first, latest=False) if first else {})}
    streams = {topic: n for topic, n in partitions.items() if topic not in first}
    if streams and wanted.since is not None:
        for topic, found in kafka.offsets_since(streams, wanted.since, committed=committed).items():
            # -1: there is no such record; what has come since the end was asked for is not looked at
            start[topic] = {p: min(o, end[topic][p]) if o >= 0 else end[topic][p] for p, o in found.items()}
    return start, end
