"""One question over topics and files, answered by the planner's own plan on Spark, without a server; nothing stays.

Topics are read from their first record to the end that they have when the question is asked, or between two times;
nothing is written on the brokers, and no offsets are committed. Of a table comes what it holds at the end, or with
``changes`` every change.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksqlpy.analysis.identity import identity_of
from ksqlpy.catalog import Source
from ksqlpy.config import Config
from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import AnalysisProblem, ConfigProblem, similar_names
from ksqlpy.local.answer import Answer, Enough, Giving, Row
from ksqlpy.local.inputs import input_rows
from ksqlpy.local.question import Question, Wanted
from ksqlpy.local.rows import Row as FileRow
from ksqlpy.local.rows import plain_json
from ksqlpy.spark.bounded import Inputs, Run
from ksqlpy.spark.clients import check_python
from ksqlpy.spark.kafka import Kafka
from ksqlpy.types import DOUBLE, ArrayType, MapType, SqlType, StructType

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ask", "inputs_of"]

Offsets = dict[str, dict[str, int]]

_AT_ONCE = 20_000
"""Records of a partition whose rows are in memory together, twice: while some are taken, the next are fetched."""


def ask(
    question: Question,
    inputs: Inputs,
    wanted: Wanted,
    session: SparkSession,
    folder: Path,
    row: Row,
) -> Answer:
    """Answers the question; ``row`` gets the rows, in the order of the columns, fractions as Decimals.

    ``folder``: for files on the way. Raises KsqlError.
    """
    columns = [(c.name, _read(c.type)) for c in question.columns]

    def values(text: str) -> list[Any]:
        found = json.loads(text, parse_float=Decimal)
        return [found[name] if read is None else read(found[name]) for name, read in columns]

    giving = Giving[str](question, wanted, row, values)
    if giving.limit == 0:
        return giving.answer
    identity = identity_of(question.typed) if question.plan.kind == "TABLE" else ()
    run = Run(session, question.plan, identity, inputs, str(folder))
    try:
        if question.plan.stateful or wanted.follow or wanted.timeout is not None:  # only a stream can be stopped
            giving.answer.complete = run.changes(giving.take, follow=wanted.follow, timeout=wanted.timeout)
        else:
            for change in run.batch(None if giving.final else giving.limit):
                giving.take(change)
        giving.end()
    except Enough:
        pass
    return giving.answer


def _read(type_: SqlType) -> Callable[[Any], Any] | None:
    """What makes a DOUBLE of a value of JSON a float again, wherever it stands; None where there is none."""
    if type_ == DOUBLE:
        return lambda v: float(v) if isinstance(v, Decimal) else v
    match type_:
        case ArrayType(item) if (one := _read(item)) is not None:
            each = one
            return lambda v: v if v is None else [each(x) for x in v]
        case MapType(_, item) if (one := _read(item)) is not None:
            each = one
            return lambda v: v if v is None else {k: each(x) for k, x in v.items()}
        case StructType(fields):
            found = {name: read for name, t in fields if (read := _read(t)) is not None}
            if found:
                return lambda v: v if v is None else {n: found[n](x) if n in found else x for n, x in v.items()}
    return None


# ---------------------------------------------------------------- where records come from


def inputs_of(question: Question, config: Config, files: Mapping[str, Path], wanted: Wanted, folder: Path) -> Inputs:
    """Where the records of the question are: in topics, from first to last, or in files, by the names of sources.

    ``config``: how brokers and schema registry are reached, and which records count (``committed``); ``files``: of
    :func:`~ksqlpy.local.question.files_of`; ``folder``: for files on the way. Raises KsqlError: ``no-kafka``,
    ``missing-topic``, and for what is wrong in a file, also rows of a stream without a time that has to be known.
    """
    connection = config.connection()
    by_name = {s.name: s for s in question.sources}
    streams = [s.topic for s in question.sources if s.kind == "STREAM"]  # a table's earlier records are its state
    rows = 0
    places: dict[str, tuple[Source, Path]] = {}
    for name, file in files.items():
        source = by_name[name]
        place = folder / f"input-{len(places)}"
        rows += _as_lines(input_rows(question, source, file, wanted), source, place)
        places[source.topic] = (source, place)
    topics = {s.topic: s for s in by_name.values() if s.name not in files}
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


def _as_lines(rows: Iterable[FileRow], source: Source, folder: Path) -> int:
    """Writes the rows as lines that Spark reads; gives their number."""
    folder.mkdir(parents=True)
    number = 0
    with (folder / "rows.jsonl").open("w", encoding="utf-8", newline="\n") as lines:
        for number, row in enumerate(rows, 1):
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
