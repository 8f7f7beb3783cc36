"""``ksqlpy query``: one question, answered without a server, where it can be without Spark, and nothing left behind."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksqlpy.commands.options import add_define, add_kafka, kafka_settings
from ksqlpy.commands.values import count, moment, seconds
from ksqlpy.errors import EngineProblem

if TYPE_CHECKING:
    from ksqlpy.catalog import Column
    from ksqlpy.commands.readingbar import ReadingBar
    from ksqlpy.config import Config
    from ksqlpy.local.answer import Answer
    from ksqlpy.local.question import Question, Wanted
    from ksqlpy.local.sources import Declared

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy query``."""
    parser.add_argument("sql", nargs="?", metavar="SQL", help="SELECT …; statements may stand ahead of it")
    parser.add_argument(
        "-f",
        "--file",
        metavar="FILE.sql",
        type=Path,
        action="append",
        default=[],
        help="statements that declare sources",
    )
    parser.add_argument(
        "-e", dest="text", metavar="SQL", action="append", default=[], help="more of them, behind the files"
    )
    add_kafka(parser, "Kafka with the topics")
    parser.add_argument(
        "--input",
        metavar="NAME=FILE",
        type=_input,
        action="append",
        default=[],
        help="take the rows of a source from FILE.csv, .json, .jsonl or .parquet, not from its topic; of a NAME that no"
        " statement declares the columns are inferred",
    )
    parser.add_argument(
        "--output", choices=("table", "json", "csv"), default=argparse.SUPPRESS, help="form of the rows"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=_out,
        help="write the rows to FILE.csv, .jsonl, .parquet or .arrow instead; it is there when it is whole",
    )
    parser.add_argument("--limit", metavar="N", type=count, help="rows to give out at most")
    parser.add_argument("--timeout", metavar="S", type=seconds, help="seconds that it may take, without the start")
    parser.add_argument("--changelog", action="store_true", help="of a table every change, as EMIT CHANGES gives it")
    parser.add_argument("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    parser.add_argument(
        "--from",
        dest="start",
        metavar="TIME",
        type=_start,
        default="earliest",
        help="leave out earlier records of streams: 2026-01-31T08:00:00Z, milliseconds since 1970, or earliest; with"
        " --follow also latest. The earlier records of tables are read: they are their state",
    )
    parser.add_argument(
        "--to",
        dest="end",
        metavar="TIME",
        type=moment,
        help="leave out records of this time and later ones, of streams and tables; the time is a record's timestamp",
    )
    add_define(parser)


def _input(text: str) -> tuple[str, Path]:
    name, equals, file = text.partition("=")
    if not name or not equals or not file:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE")
    return name, Path(file)


def _start(text: str) -> str | int:
    return text if text in ("earliest", "latest") else moment(text)


def _out(text: str) -> Path:
    from ksqlpy.commands.outfile import ENDINGS

    file = Path(text)
    if file.suffix.lower() not in ENDINGS:
        raise argparse.ArgumentTypeError(f"{text!r} does not end with {', '.join(ENDINGS)}: that says what to write")
    return file


def _wrong(options: argparse.Namespace) -> str | None:
    """Which options do not go together."""
    if options.start == "latest" and not options.follow:
        return "--from latest needs --follow: without it nothing is to be read"
    if options.end is not None and options.follow:
        return "--to and --follow exclude each other: what comes later has no end"
    if options.end is not None and isinstance(options.start, int) and options.start >= options.end:
        return "--from is not before --to: there are no records between"
    if options.out is not None and options.follow and options.limit is None and options.timeout is None:
        return "--out with --follow needs --limit or --timeout: else the file has no end"
    return None


def run(options: argparse.Namespace) -> int:
    """Gives the answer: 0 when it is whole. Raises KsqlError, also when the time was not enough."""
    wrong = _wrong(options)
    if wrong is not None:
        print(f"ksqlpy query: {wrong}", file=sys.stderr)
        return 2
    from ksqlpy.config import Config
    from ksqlpy.embedded.process import ended_in_order
    from ksqlpy.local.plain import plain_way
    from ksqlpy.local.question import Wanted, files_of, read_question
    from ksqlpy.local.sources import no_server

    declared = _declared(options)
    question = read_question(declared)
    wanted = Wanted(
        changes=question.emit or options.changelog,
        follow=options.follow,
        latest=options.start == "latest",
        limit=options.limit,
        timeout=options.timeout,
        since=options.start if isinstance(options.start, int) else None,
        until=options.end,
    )
    with no_server():
        config = Config.of(kafka_settings(options)).for_statement(declared.properties)
    files = files_of(question, declared.files)
    with contextlib.ExitStack() as stack:
        stack.enter_context(ended_in_order())
        for found in declared.inferred.values():
            print(found.told, file=sys.stderr)
        begin, row, keep = _where_to(options, question.columns, stack)
        way = plain_way(question, files, wanted)
        if way is None:
            way = _spark_way(question, config, files, wanted, stack, on_screen=options.out is None)
        begin()
        begun = time.monotonic()
        answer = way(row)
        took = time.monotonic() - begun
        if answer.complete or options.follow:
            keep()
    _tell(answer, took)
    if not answer.complete and not options.follow:
        raise EngineProblem("timeout", f"the answer was not there within {options.timeout:g} s")
    return 0


def _spark_way(
    question: Question,
    config: Config,
    files: Mapping[str, Path],
    wanted: Wanted,
    stack: contextlib.ExitStack,
    *,
    on_screen: bool,
) -> Callable[[Row], Answer]:
    """What answers the question by Spark, which has been started; ``on_screen``: rows go to standard output."""
    from ksqlpy.commands.readingbar import ReadingBar
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.embedded.folders import scratch_folder
    from ksqlpy.embedded.process import aside
    from ksqlpy.local.query import ask, inputs_of
    from ksqlpy.local.session import LocalSpark
    from ksqlpy.spark.check import check_plan
    from ksqlpy.spark.progress import ReadCount

    check_plan(question.plan)
    folder = stack.enter_context(scratch_folder("ksqlpy-query-"))
    inputs = inputs_of(question, config, files, wanted, folder)
    session = stack.enter_context(LocalSpark(folder, StatusLine()))

    def answered(row: Row) -> Answer:
        read = ReadCount(session, 0 if question.plan.stateful else inputs.piece)
        with ReadingBar(0 if wanted.follow else inputs.records, read.records) as bar:
            given = _without(bar, row) if on_screen and sys.stdout.isatty() else row
            return aside(lambda: ask(question, inputs, wanted, session, folder, given))

    return answered


Row = Callable[[Sequence[Any]], None]


def _where_to(
    options: argparse.Namespace, columns: Sequence[Column], stack: contextlib.ExitStack
) -> tuple[Callable[[], None], Row, Callable[[], None]]:
    """What is to be done ahead of the rows, with a row, and when the answer is whole."""
    if options.out is not None:
        from ksqlpy.commands.outfile import OutFile

        file = stack.enter_context(OutFile(options.out, columns))
        return lambda: None, file.row, file.keep
    from ksqlpy.shell.output import Printer

    out = Printer(options.output)
    return lambda: out.header(_header(columns)), out.row, lambda: None


def _without(bar: ReadingBar, row: Row) -> Row:
    """Rows go to the terminal on which the bar is: it ends before the first."""

    def given(values: Sequence[Any]) -> None:
        bar.end()
        row(values)

    return given


def _declared(options: argparse.Namespace) -> Declared:
    from ksqlpy.local.sources import Declared, read_text

    declared = Declared(properties=dict(options.define), files=dict(options.input))
    for file in options.file:
        declared.take(read_text(file), queries=True)
    for text in [*options.text, *([options.sql] if options.sql is not None else [])]:
        stripped = text.rstrip()
        declared.take(stripped if stripped.endswith(";") else f"{stripped};", queries=True)
    return declared


def _header(columns: Sequence[Column]) -> dict[str, Any]:
    return {"columnNames": [c.name for c in columns], "columnTypes": [str(c.type) for c in columns]}


def _tell(answer: Answer, seconds: float) -> None:
    """Says what could not be read, and last how many rows there were, and how long it took without the start."""
    if answer.unread:
        print(f"{answer.unread:,} records could not be read:", file=sys.stderr)
        for u in answer.examples:
            print(f"  topic {u.topic}, partition {u.partition}, offset {u.offset}: {u.reason}", file=sys.stderr)
        if answer.unread > len(answer.examples):
            print(f"  … and {answer.unread - len(answer.examples):,} more", file=sys.stderr)
    print(f"{answer.rows:,} {'row' if answer.rows == 1 else 'rows'} in {seconds:.1f} s", file=sys.stderr)
