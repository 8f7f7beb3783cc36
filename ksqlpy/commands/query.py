"""``ksqlpy query``: one question, answered without a server, and nothing left behind."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksqlpy.commands.options import add_define, add_kafka, kafka_settings
from ksqlpy.commands.values import count, seconds
from ksqlpy.errors import EngineProblem

if TYPE_CHECKING:
    from ksqlpy.catalog import Column
    from ksqlpy.local.query import Answer
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
        help="take the rows of a source from FILE.csv, .json, .jsonl or .parquet, not from its topic",
    )
    parser.add_argument(
        "--output", choices=("table", "json", "csv"), default=argparse.SUPPRESS, help="form of the rows"
    )
    parser.add_argument("--limit", metavar="N", type=count, help="rows to print at most")
    parser.add_argument("--timeout", metavar="S", type=seconds, help="seconds that it may take, without the start")
    parser.add_argument("--changelog", action="store_true", help="of a table every change, as EMIT CHANGES gives it")
    parser.add_argument("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    parser.add_argument(
        "--from", dest="start", choices=("earliest", "latest"), default="earliest", help="where --follow begins"
    )
    add_define(parser)


def _input(text: str) -> tuple[str, Path]:
    name, equals, file = text.partition("=")
    if not name or not equals or not file:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE")
    return name, Path(file)


def run(options: argparse.Namespace) -> int:
    """Prints the answer: 0 when it is whole. Raises KsqlError, also when the time was not enough."""
    if options.start == "latest" and not options.follow:
        print("ksqlpy query: --from latest needs --follow: without it nothing is to be read", file=sys.stderr)
        return 2
    from ksqlpy.config import Config
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.embedded.folders import scratch_folder
    from ksqlpy.embedded.process import aside, ended_in_order
    from ksqlpy.local.query import Wanted, ask, inputs_of, read_question
    from ksqlpy.local.session import LocalSpark

    question, emit = read_question(_declared(options))
    wanted = Wanted(
        changes=emit or options.changelog,
        follow=options.follow,
        latest=options.start == "latest",
        limit=options.limit,
        timeout=options.timeout,
    )
    connection = Config.of(kafka_settings(options)).connection()
    from ksqlpy.shell.output import Printer

    out = Printer(options.output)
    with ended_in_order(), scratch_folder("ksqlpy-query-") as folder:
        inputs = inputs_of(question, connection, dict(options.input), wanted, folder)
        with LocalSpark(folder, StatusLine()) as session:
            out.header(_header(question.columns))
            answer = aside(lambda: ask(question, inputs, wanted, session, folder, out.row))
    _tell(answer)
    if not answer.complete and not options.follow:
        raise EngineProblem("timeout", f"the answer was not there within {options.timeout:g} s")
    return 0


def _declared(options: argparse.Namespace) -> Declared:
    from ksqlpy.local.sources import Declared, read_text

    declared = Declared(dict(options.define))
    for file in options.file:
        declared.take(read_text(file), queries=True)
    for text in [*options.text, *([options.sql] if options.sql is not None else [])]:
        stripped = text.rstrip()
        declared.take(stripped if stripped.endswith(";") else f"{stripped};", queries=True)
    return declared


def _header(columns: Sequence[Column]) -> dict[str, Any]:
    return {"columnNames": [c.name for c in columns], "columnTypes": [str(c.type) for c in columns]}


def _tell(answer: Answer) -> None:
    """Says what could not be read."""
    if answer.unread:
        print(f"{answer.unread:,} records could not be read:", file=sys.stderr)
        for u in answer.examples:
            print(f"  topic {u.topic}, partition {u.partition}, offset {u.offset}: {u.reason}", file=sys.stderr)
        if answer.unread > len(answer.examples):
            print(f"  … and {answer.unread - len(answer.examples):,} more", file=sys.stderr)
