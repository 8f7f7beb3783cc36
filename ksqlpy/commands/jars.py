"""``ksqlpy jars``: what the first start would do, or the jars in a folder for a machine without network."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy jars``."""
    parser.add_argument("--to", metavar="DIR", type=Path, help="copy the jars there, for a machine without network")


def run(options: argparse.Namespace) -> int:
    """Fetches or copies them. Raises KsqlError."""
    return _copy(options.to) if options.to else _prepare()


def _copy(to: Path) -> int:
    """Copies all jars into a folder that KSQLPY_JARS can name."""
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.embedded.jars import fill

    print(f"{len(fill(to, StatusLine()))} jars are in {to}")
    return 0


def _prepare() -> int:
    """Does what a first start would have to do: fetches jars, compiles helper classes, starts broker and Spark."""
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.embedded.kafka import EmbeddedKafka
    from ksqlpy.runtime.archive import make_archive
    from ksqlpy.spark.jvm.build import helper_jar

    tell = StatusLine()
    helper_jar(tell)
    tell("starting Kafka for the first time")
    with EmbeddedKafka(progress=tell):
        pass
    make_archive(tell)
    print("ready: jars are fetched and checked")
    return 0
