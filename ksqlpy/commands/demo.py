"""``ksqlpy demo``: the taxi rides."""

from __future__ import annotations

import argparse
from pathlib import Path

from ksqlpy.commands.options import add_kafka, kafka_settings
from ksqlpy.demo.formats import FORMATS

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``ksqlpy demo``."""
    parser.add_argument(
        "--files", metavar="DIR", type=Path, help="folder with taxi.sql, taxi_rides.csv, taxi_zones.csv"
    )
    add_kafka(parser, "Kafka to use; topics are made and deleted there (default: one is started)")
    parser.add_argument(
        "--format", choices=FORMATS, type=str.upper, default="JSON",
        help="of all values; others than JSON start a schema registry, unless --config names one (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--cluster", action="store_true",
        help="on a Spark cluster and several brokers, all on this machine; an executor is killed meanwhile",
    )  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="leave broker and server running at the end, until Ctrl-C")
    parser.add_argument("--quiet", action="store_true", help="print the checks only")


def run(options: argparse.Namespace) -> int:
    """Runs the demo: 0 when all checks pass, 1 when one fails. Raises KsqlError."""
    from ksqlpy.demo import run as run_demo

    # Topics are made and deleted there, so the environment alone does not name the brokers.
    options.properties = kafka_settings(options) if options.bootstrap_servers or options.config else {}
    return run_demo(options)
