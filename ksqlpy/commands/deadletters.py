"""``ksqlpy deadletters``: what queries could not read, and its replay once it is mended."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ksqlpy.commands.options import add_client, add_kafka, connection, form, kafka_settings
from ksqlpy.commands.values import count
from ksqlpy.errors import ConfigProblem, file_reason

if TYPE_CHECKING:
    from ksqlpy.connection import KafkaConnection
    from ksqlpy.deadletters import Choice, Letter, Letters

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy deadletters`` and its commands."""
    commands = parser.add_subparsers(dest="letters", metavar="COMMAND", required=True)

    def command(name: str, help: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=help, description=f"{help[:1].upper()}{help[1:]}.", allow_abbrev=False)
        found.add_argument("--query", metavar="ID", help="of this query only")
        found.add_argument("--topic", metavar="TOPIC", help="of records of this topic only")
        found.add_argument("--letters-topic", metavar="TOPIC", help="another topic of letters, as that of late records")
        add_client(found)
        add_kafka(found, "Kafka (default: what the server uses)")
        return found

    command("list", "count dead letters by query, topic and reason")
    show = command("show", "print dead letters, for replay as one JSON object a line (--output json)")
    show.add_argument("--limit", metavar="N", type=count, help="the last N only")
    replay = command("replay", "write their records to where they came from, each once")
    replay.add_argument(
        "file", metavar="FILE", nargs="?", type=Path, help="lines of show, mended (default: as they are)"
    )
    replay.add_argument(
        "--again", action="store_true", help="write records that came back from a replay once more, as they are"
    )
    replay.add_argument("--dry-run", action="store_true", help="say how many, and write nothing")


def run(options: argparse.Namespace) -> int:
    """Does it. Raises KsqlError."""
    from ksqlpy.deadletters import read_letters

    brokers, topic = _place(options)
    letters = read_letters(brokers, options.letters_topic or topic)
    wanted = [
        letter
        for letter in letters.letters
        if options.query in (None, letter.query) and options.topic in (None, letter.topic)
    ]
    if options.letters == "list":
        _list(form(options, "deadletters list", "table", "json", "csv"), letters, wanted)
    elif options.letters == "show":
        _show(
            form(options, "deadletters show", "table", "json"),
            letters,
            wanted[-options.limit :] if options.limit else wanted,
        )
    else:
        _replay(options, brokers, letters, wanted)
    return 0


def _place(options: argparse.Namespace) -> tuple[KafkaConnection, str]:
    """How Kafka is reached, and the topic of the service's dead letters."""
    from ksqlpy.client import Client
    from ksqlpy.config import Config
    from ksqlpy.topicnames import dead_letters

    config = Config.of({**kafka_settings(options), **dict(options.define)})
    given = config.connection()
    if given.bootstrap:
        return given, dead_letters(config.get("ksql.service.id"))
    with Client(connection(options)) as client:
        [shown] = client.statements("SHOW PROPERTIES;")
        values = {p["name"]: p["value"] for p in shown["properties"]}
    return given.to(values["bootstrap.servers"]), dead_letters(values["ksql.service.id"])


def _list(output: str, letters: Letters, wanted: Sequence[Letter]) -> None:
    from ksqlpy.shell.output import Printer

    replayed = letters.replayed
    groups: dict[tuple[str, str, str], list[Letter]] = {}
    for letter in wanted:
        groups.setdefault((letter.query, letter.topic, letter.reason), []).append(letter)
    names = ("Query", "Topic", "Reason", "Letters", "Replayed", "First", "Last")
    rows = [
        (*group, len(found), sum(x.record in replayed for x in found), found[0].id, found[-1].id)
        for group, found in groups.items()
    ]
    if output == "json":
        for row in rows:
            Printer("json").data({n.lower(): v for n, v in zip(names, row, strict=True)})
    else:
        Printer(output).table(names, rows, "no dead letters")


def _show(output: str, letters: Letters, wanted: Sequence[Letter]) -> None:
    from ksqlpy.deadletters import letter_json
    from ksqlpy.shell.output import Printer

    printer, replayed = Printer("json" if output == "json" else "table"), letters.replayed
    for letter in wanted:
        shown = letter_json(letter, replayed=letter.record in replayed)
        if output == "json":
            printer.data(shown)
        else:
            shown["headers"] = [f"{h['name']}={h.get('value', h.get('value_base64'))}" for h in shown["headers"]]
            printer.facts({k.replace("_", " ").capitalize(): v for k, v in shown.items()})


def _replay(options: argparse.Namespace, brokers: KafkaConnection, letters: Letters, wanted: Sequence[Letter]) -> None:
    from ksqlpy.deadletters import choice, mended, replay
    from ksqlpy.embedded.cache import StatusLine

    if options.file is not None:
        try:
            lines = options.file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as e:
            hint = "show --output json prints one"
            raise ConfigProblem("file-unreadable", f"{options.file} cannot be read: {file_reason(e)}", hint=hint) from e
        among = {letter.id for letter in wanted}
        wanted = [letter for letter in mended(lines, letters, str(options.file)) if letter.id in among]
    found = choice(letters, wanted, again=options.again)
    left = len(found.letters)
    if options.dry_run:
        print(f"{left:,} records would be replayed{_others(found, found.before)}")
        return
    tell = StatusLine()
    written = replay(
        brokers, letters, wanted, lambda n: tell(f"{n:,} of {left:,} records replayed"), again=options.again
    )
    tell("")
    print(f"{written:,} records replayed{_others(found, found.before + left - written)}", file=sys.stdout)


def _others(found: Choice, before: int) -> str:
    """What became of the other records."""
    said = [f", {before:,} were before"] if before else []
    if found.returned:
        said.append(f", {found.returned:,} came back from a replay (mend them, or --again writes them as they are)")
    if found.cut:
        said.append(f", of {found.cut:,} the letters hold a part only (mend them)")
    return "".join(said)
