"""``ksqlpy deadletters``: what queries could not read, and its replay once it is mended."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ksqlpy.commands.options import add_client, add_kafka, connection, form, kafka_settings
from ksqlpy.commands.values import count
from ksqlpy.errors import ConfigProblem, file_reason

if TYPE_CHECKING:
    from ksqlpy.connection import KafkaConnection
    from ksqlpy.deadletters import Letter, Letters

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
        add_kafka(found, "Kafka itself, past the server and its rights (default: the server is asked)")
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
    if options.letters == "replay":
        _replay(options)
        return 0
    forms = ("table", "json", "csv") if options.letters == "list" else ("table", "json")
    output, found = form(options, f"deadletters {options.letters}", *forms), _shown(options)
    (_list if options.letters == "list" else _show)(output, found)
    return 0


def _brokers(options: argparse.Namespace) -> tuple[KafkaConnection, str] | None:
    """How Kafka is reached, and the topic of letters; None where the server is to be asked, with the rights there.

    Brokers that only the environment names count where no server is named.
    """
    from ksqlpy.client import DEFAULT_URL
    from ksqlpy.config import Config
    from ksqlpy.topicnames import dead_letters

    config = Config.of({**kafka_settings(options), **dict(options.define)})
    given, named = config.connection(), options.bootstrap_servers or options.config or dict(options.define)
    if not given.bootstrap or (options.server != DEFAULT_URL and not named):
        return None
    return given, options.letters_topic or dead_letters(config.get("ksql.service.id"))


def _wanted(options: argparse.Namespace, letters: Letters) -> list[Letter]:
    return [
        letter
        for letter in letters.letters
        if options.query in (None, letter.query) and options.topic in (None, letter.topic)
    ]


def _shown(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The letters as JSON."""
    from ksqlpy.client import Client
    from ksqlpy.deadletters import letter_json, read_letters

    limit = options.limit if options.letters == "show" else None
    brokers = _brokers(options)
    if brokers is None:
        with Client(connection(options)) as client:
            return client.dead_letters(options.query, options.topic, options.letters_topic, limit)
    letters = read_letters(*brokers)
    wanted, replayed = _wanted(options, letters), letters.replayed
    last = wanted[-limit:] if limit else wanted
    return [letter_json(letter, replayed=letter.record in replayed) for letter in last]


def _list(output: str, shown: Sequence[Mapping[str, Any]]) -> None:
    from ksqlpy.shell.output import Printer

    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for letter in shown:
        groups.setdefault((letter["query"], letter["topic"], letter["reason"]), []).append(letter)
    names = ("Query", "Topic", "Reason", "Letters", "Replayed", "First", "Last")
    rows = [
        (*group, len(found), sum(x["replayed"] for x in found), found[0]["id"], found[-1]["id"])
        for group, found in groups.items()
    ]
    if output == "json":
        for row in rows:
            Printer("json").data({n.lower(): v for n, v in zip(names, row, strict=True)})
    else:
        Printer(output).table(names, rows, "no dead letters")


def _show(output: str, shown: Sequence[Mapping[str, Any]]) -> None:
    from ksqlpy.shell.output import Printer

    printer = Printer("json" if output == "json" else "table")
    for letter in shown:
        if output == "json":
            printer.data(dict(letter))
        else:
            headers = [f"{h['name']}={h.get('value', h.get('value_base64'))}" for h in letter["headers"]]
            facts = {**letter, "headers": headers}
            printer.facts({k.replace("_", " ").capitalize(): v for k, v in facts.items()})


def _replay(options: argparse.Namespace) -> None:
    from ksqlpy.client import Client

    lines = None if options.file is None else _lines(options.file)
    brokers = _brokers(options)
    if brokers is None:
        mended = None if lines is None else _objects(lines, str(options.file))
        with Client(connection(options)) as client:
            told = client.replay_letters(
                options.query, options.topic, options.letters_topic, mended, again=options.again, dry=options.dry_run
            )
    else:
        told = _directly(options, *brokers, lines)
    verb = "would be replayed" if options.dry_run else "replayed"
    print(f"{told['records']:,} records {verb}{_others(told)}")


def _directly(
    options: argparse.Namespace, brokers: KafkaConnection, topic: str, lines: list[str] | None
) -> dict[str, int]:
    """Replays without a server."""
    from ksqlpy.deadletters import choice, mended, read_letters, replay
    from ksqlpy.embedded.cache import StatusLine

    letters = read_letters(brokers, topic)
    wanted = _wanted(options, letters)
    if lines is not None:
        among = {letter.id for letter in wanted}
        wanted = [letter for letter in mended(lines, letters, str(options.file)) if letter.id in among]
    found = choice(letters, wanted, again=options.again)
    left = written = len(found.letters)
    if not options.dry_run:
        tell = StatusLine()
        written = replay(
            brokers, letters, wanted, lambda n: tell(f"{n:,} of {left:,} records replayed"), again=options.again
        )
        tell("")
    before = found.before + left - written
    return {"records": written, "before": before, "returned": found.returned, "cut": found.cut}


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        hint = "show --output json prints one"
        raise ConfigProblem("file-unreadable", f"{file} cannot be read: {file_reason(e)}", hint=hint) from e


def _objects(lines: Iterable[str], name: str) -> list[dict[str, Any]]:
    """The objects of lines, which the server looks at more closely."""
    found = []
    for number, line in enumerate(lines, 1):
        try:
            letter = json.loads(line) if line.strip() else None
        except ValueError as e:
            raise ConfigProblem("bad-letter", f"{name}:{number}: it is no JSON") from e
        if letter is not None:
            found.append(letter)
    return found


def _others(told: Mapping[str, int]) -> str:
    """What became of the other records."""
    said = [f", {told['before']:,} were before"] if told["before"] else []
    if told["returned"]:
        said.append(f", {told['returned']:,} came back from a replay (mend them, or --again writes them as they are)")
    if told["cut"]:
        said.append(f", of {told['cut']:,} the letters hold a part only (mend them)")
    return "".join(said)
