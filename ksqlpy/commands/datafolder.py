"""Where a server keeps its data when nobody says it: in a folder of the user's for each service and its brokers."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ksqlpy.config import Config

__all__ = ["add_data", "with_data"]

DATA = "ksqlpy.data.dir"

_LONGEST = 100
"""Characters of the brokers' names that a folder's name has."""


def add_data(parser: argparse.ArgumentParser) -> None:
    """``--data-dir`` and ``--temporary``."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--data-dir", metavar="D", help="folder for all data (default: in ~/.local/share/ksqlpy)")
    which.add_argument("--temporary", action="store_true", help="keep nothing: all data goes at the end")


def with_data(options: argparse.Namespace, config: Config) -> Config:
    """The properties with the data folder as the options of :func:`add_data` say it, else as it is set, or by default.

    One that is set and empty stands for a temporary folder. Raises EnvironmentProblem ``folder-not-usable`` where there
    is no home folder.
    """
    if options.data_dir is not None or options.temporary:
        folder = options.data_dir or ""
    elif config.is_set(DATA):
        return config
    else:
        folder = str(_default(config))
    return replace(config, values={**config.values, DATA: folder})


def _default(config: Config) -> Path:
    """``$XDG_DATA_HOME/ksqlpy/PLACE`` (by default below ``~/.local/share``).

    A data folder belongs to one service on one Kafka cluster, so PLACE names the brokers (``local``: the embedded one),
    and the service unless it is the usual one.
    """
    from ksqlpy.config import PROPERTIES
    from ksqlpy.embedded.cache import digest
    from ksqlpy.errors import EnvironmentProblem

    given = Path(os.environ.get("XDG_DATA_HOME", ""))
    try:
        root = given if given.is_absolute() else Path.home() / ".local" / "share"
    except RuntimeError as e:
        raise EnvironmentProblem(
            "folder-not-usable", "there is no home folder to keep the data in", hint="--data-dir D, or --temporary"
        ) from e
    brokers = config.get("bootstrap.servers").strip()
    place = re.sub(r"[^A-Za-z0-9.-]+", "_", brokers) if brokers else "local"
    if len(place) > _LONGEST:
        place = f"{place[:_LONGEST]}-{digest(brokers)}"
    service = config.get("ksql.service.id")
    usual = service == PROPERTIES["ksql.service.id"].default
    return root / "ksqlpy" / (place if usual else f"{place}@{service}")
