"""The commands of ``ksqlpy``, one file each: ``add_arguments(parser)`` says what it takes, ``run(options)`` does it.

:data:`COMMANDS` is the table of them. What is heavy is imported in ``run``: help must come at once.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMMANDS", "Command"]


class Command(NamedTuple):
    """A command: its name, which is its module's too, what ``ksqlpy --help`` says, and its own first lines."""

    name: str
    help: str
    description: str | None = None


COMMANDS = (
    Command(
        "shell",
        "talk with a server (the same as no command)",
        "Talks with a server; where no terminal is, runs what comes on standard input.",
    ),
    Command("run", "run the statements of a file on a server"),
    Command(
        "server",
        "start a server",
        "Starts a server. Properties come from the file, then KSQLPY_… variables, then -D, then options.",
    ),
    Command(
        "dev",
        "broker, server and shell in one command",
        "Starts a Kafka broker, a server and the shell, and ends all of them with the shell.",
    ),
    Command(
        "query",
        "answer one question from topics or files, without a server",
        "Reads topics or files from their start to their present end, or between two times, prints the result or writes"
        " it to a file, and leaves nothing else behind.",
    ),
    Command(
        "test",
        "run statement-and-expectation files",
        "Runs the cases of *.test files: statements, records in, records expected. The form: docs/test-files.md.",
    ),
    Command(
        "datagen",
        "write records, invented or from a file",
        "Writes records for a stream or table: invented from its schema, or from a CSV, JSON or Parquet file.",
    ),
    Command(
        "deadletters",
        "list, show and replay what queries could not read",
        "What queries could not read: counted, shown, and replayed once it is mended.",
    ),
    Command(
        "users",
        "add, list and remove who may log in to a server",
        "The file of users of a server: added, listed, removed. A server that runs sees it at once.",
    ),
    Command(
        "tokens",
        "make, list and revoke tokens by which programs log in",
        "The file of API tokens of a server: made, listed, revoked. A server that runs sees it at once.",
    ),
    Command(
        "backup",
        "keep command log and checkpoints of a service, while it runs",
        "Copies what a service cannot make again to a folder of backups: its command log, its definitions as SQL, and"
        " the checkpoints of its queries. Run it where the server runs, as its user; the server may run meanwhile.",
    ),
    Command(
        "restore",
        "bring back a service from a backup",
        "Brings back the checkpoints of a service, and its command log where the brokers have lost it. Run it where the"
        " server is to run, as its user, before it is started.",
    ),
    Command(
        "doctor",
        "check whether a server with this configuration can run",
        "Checks Java, the brokers, the Spark master and its executors. Exit code 1: something is wrong.",
    ),
    Command("jars", "fetch what the first start would fetch"),
    Command(
        "fmt",
        "format files of statements",
        "Formats files of statements: one layout, comments kept. Exit code 1: not formatted, or no SQL.",
    ),
    Command(
        "check",
        "check statements without a server",
        "Checks statements without a server: types, names, what is legal; tells all errors. Exit code 1: some.",
    ),
    Command(
        "plan",
        "what would change on a server so that it has what a folder says",
        "Compares the definitions of a folder with a server, and tells what would change and what keeps its state.",
    ),
    Command(
        "apply",
        "bring a server to what a folder says",
        "Does what plan shows, in the order of need. Run again after an error, it goes on.",
    ),
    Command(
        "migrate",
        "numbered files of statements, each run once on a server",
        "Migrations in the layout of ksql-migrations: numbered files, and on the server what was done.",
    ),
    Command(
        "examples",
        "list the examples, run one and compare its results, copy one",
        "The examples that come with ksqlpy. Without a command it lists them.",
    ),
    Command(
        "demo",
        "taxi rides through queries, with every result checked",
        "Taxi rides through broker, server and queries; every result is checked.",
    ),
)
