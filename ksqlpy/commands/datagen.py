"""``ksqlpy datagen``: records for a stream or table, invented from its schema or taken from a file."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.commands.options import add_kafka, connection, kafka_settings
from ksqlpy.commands.values import count, probability, rate
from ksqlpy.errors import ConfigProblem, EngineProblem

if TYPE_CHECKING:
    from ksqlpy.catalog import Source
    from ksqlpy.connection import KafkaConnection
    from ksqlpy.datagen import Pacer
    from ksqlpy.local.rows import Row
    from ksqlpy.local.sources import Declared

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy datagen``."""
    parser.add_argument("name", metavar="NAME", help="the stream or table to write")
    where = parser.add_argument_group("what and where")
    where.add_argument(
        "-f", "--file", metavar="FILE.sql", type=Path, action="append", default=[], help="statements that declare it"
    )
    where.add_argument(
        "--server", metavar="URL", default=argparse.SUPPRESS, help="a server that knows it, where no file is given"
    )
    add_kafka(where, "Kafka to write to (default: what the server uses)")
    where.add_argument("--print", action="store_true", help="write JSON lines to the standard output, and no records")
    how = parser.add_argument_group("how many, how fast")
    how.add_argument("--count", metavar="N", type=count, help="records to write (default: until Ctrl-C, or all rows)")
    how.add_argument("--rate", metavar="N[/s]", type=rate, help="records a second (default: as fast as they go)")
    rows = parser.add_argument_group("invented rows")
    rows.add_argument("--seed", metavar="S", type=int, help="the same seed gives the same records")
    rows.add_argument("--keys", metavar="N", type=count, help="different keys (default 100)")
    rows.add_argument(
        "--nulls", metavar="P", type=probability, help="how often a value is NULL, from 0 to 1 (default 0)"
    )
    rows.add_argument("--start", metavar="TIME", type=_moment, help="first event time, ISO 8601 (default now)")
    files = parser.add_argument_group("rows of a file")
    files.add_argument(
        "--from", dest="rows", metavar="FILE", type=Path, help="rows from FILE.csv, .json, .jsonl or .parquet"
    )
    files.add_argument("--loop", action="store_true", help="begin again at the end of the file")


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 2026-01-31T12:00:00") from e
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def run(options: argparse.Namespace) -> int:
    """Writes the records: 0 when all are written. Raises KsqlError."""
    if options.rows is None and options.loop:
        return _usage("--loop is for rows of a file: name one with --from")
    for name in ("seed", "keys", "nulls", "start"):
        if options.rows is not None and getattr(options, name) is not None:
            return _usage(f"--{name} is for invented rows: leave it or --from out")
    from ksqlpy.datagen import Pacer, print_rows

    declared, source, brokers = _target(options)
    if source.window is not None:
        raise ConfigProblem("windowed-source", f"{source.name} has a windowed key, only a query writes it")
    rows = itertools.islice(_rows(options, source), options.count)
    pacer = Pacer(options.rate)
    try:
        if options.print:
            print_rows(rows, source, pacer, sys.stdout)
        else:
            _send(rows, source, declared, brokers, pacer)
    except EngineProblem:  # how many are written is not known
        raise
    except BaseException:
        _say(pacer, source, options)
        raise
    _say(pacer, source, options)
    return 0


def _say(pacer: Pacer, source: Source, options: argparse.Namespace) -> None:
    if not pacer.count:
        return
    what = "printed" if options.print else f"written to topic {source.topic}"
    rate = pacer.count / pacer.seconds if pacer.seconds else pacer.count
    print(f"{pacer.count:,} records {what} in {pacer.seconds:.1f} s ({rate:,.0f}/s)", file=sys.stderr)


def _usage(message: str) -> int:
    print(f"ksqlpy datagen: {message}", file=sys.stderr)
    return 2


def _target(options: argparse.Namespace) -> tuple[Declared | None, Source, KafkaConnection]:
    """What is to be written, with the file's statements if it is from one, and how Kafka is reached."""
    from ksqlpy.config import Config
    from ksqlpy.local.sources import Declared, read_text

    given = Config.of(kafka_settings(options)).connection()
    if options.file:
        declared = Declared()
        for file in options.file:
            declared.take(read_text(file))
        return declared, declared.source(options.name), given
    from ksqlpy.client import Client
    from ksqlpy.datagen.remote import described

    with Client(connection(options)) as client:
        source, bootstrap = described(client, options.name)
    return None, source, given if given.bootstrap else given.to(bootstrap)


def _rows(options: argparse.Namespace, source: Source) -> Iterator[Row]:
    from ksqlpy.datagen import Generator, GeneratorSettings
    from ksqlpy.local.files import read_rows

    if options.rows is not None:
        if options.loop:
            return _again(lambda: read_rows(options.rows, source))
        return read_rows(options.rows, source)
    settings = GeneratorSettings(
        keys=options.keys or 100,
        nulls=options.nulls or 0.0,
        step_ms=1000 / options.rate if options.rate else 1000,
        seed=options.seed,
        start=options.start,
    )
    return Generator(source, settings).rows()


def _again(rows: Callable[[], Iterable[Row]]) -> Iterator[Row]:
    """The rows again and again; nothing if there are none."""
    while True:
        some = False
        for row in rows():
            some = True
            yield row
        if not some:
            return


def _send(
    rows: Iterable[Row], source: Source, declared: Declared | None, brokers: KafkaConnection, pacer: Pacer
) -> None:
    from ksqlpy.datagen import send_rows
    from ksqlpy.datagen.send import producer
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.embedded.process import ended_in_order

    if not brokers.bootstrap:
        raise ConfigProblem(
            "no-kafka", "it is not said where Kafka is", hint="name it with --bootstrap-servers, or print with --print"
        )
    tell = StatusLine()
    _check_topic(source, declared, brokers)
    with ended_in_order():
        send_rows(rows, source, pacer, producer(brokers), lambda n: tell(_progress(n, pacer.seconds)))
        tell("")


def _check_topic(source: Source, declared: Declared | None, brokers: KafkaConnection) -> None:
    """Makes the topic if it is not there and the statement says how; raises AnalysisProblem ``missing-topic``."""
    from ksqlpy.analysis import Declare
    from ksqlpy.config import Config
    from ksqlpy.runtime.topics import Topics
    from ksqlpy.spark.clients import check_python
    from ksqlpy.spark.kafka import Kafka

    check_python(brokers)
    kafka = Kafka(brokers)
    kafka.check()
    topics = Topics(kafka, Config.of({}).get("ksql.service.id"))
    spec = declared.topics.get(source.name) if declared is not None else None
    if spec is None:
        topics.partitions([source.topic])
    else:
        topics.check(spec, {}, declared=True)
        topics.ensure_declared(Declare(source, spec))


def _progress(count: int, seconds: float) -> str:
    return f"datagen: {count:,} records, {count / seconds:,.0f}/s" if seconds >= 1 else f"datagen: {count:,} records"
