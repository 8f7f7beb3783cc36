"""The files of ``examples/taxi`` and the records that are made of them."""

from __future__ import annotations

import csv
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from ksqlpy.errors import EnvironmentProblem

__all__ = [
    "ZONES_AT",
    "Files",
    "Ride",
    "Value",
    "Zone",
    "find_files",
    "int_key",
    "read_rides",
    "read_statements",
    "read_zones",
]

Value = int | str | Decimal | None

ZONES_AT = 1_546_300_800_000
"""The time of the zones' records, the beginning of 2019: who reads by time finds them ahead of all rides."""

_NAMES = ("taxi.sql", "taxi_rides.csv", "taxi_zones.csv")


@dataclass(frozen=True)
class Files:
    """Where the three files lie."""

    sql: Path
    rides: Path
    zones: Path


def find_files(folder: Path | None = None) -> Files:
    """The files in ``folder``, or those of this installation: in a checkout ``ksqlpy/examples`` is a link.

    Raises EnvironmentProblem ``no-demo-files`` where one is missing.
    """
    place = Path(__file__).parents[1] / "examples" / "taxi" if folder is None else folder
    if all((place / name).is_file() for name in _NAMES):
        return Files(*(place / name for name in _NAMES))
    where = f"in {folder}" if folder is not None else "in this installation of ksqlpy"
    raise EnvironmentProblem(
        "no-demo-files",
        f"the files of the demo ({', '.join(_NAMES)}) are not {where}",
        hint="they are the folder examples/taxi of the ksqlpy repository: get it and name it with --files DIR",
    )


@dataclass(frozen=True)
class Zone:
    """A line of the zone table."""

    id: int
    name: str
    borough: str

    @property
    def value(self) -> dict[str, Value]:
        """All columns but the key."""
        return {"ZONE": self.name, "BOROUGH": self.borough}

    @property
    def key(self) -> bytes:
        """The key for Kafka."""
        return int_key(self.id)

    @property
    def record(self) -> tuple[bytes, bytes]:
        """Key and value for Kafka."""
        return self.key, json.dumps({"zone": self.name, "borough": self.borough}).encode()


@dataclass(frozen=True)
class Ride:
    """A line of the ride file: its columns, in upper case; an empty field is None."""

    columns: Mapping[str, Value]

    @property
    def vendor(self) -> int:
        """Who made the taximeter; the key."""
        return _int(self.columns["VENDORID"])

    @property
    def pickup_zone(self) -> int:
        """Id of the zone where the ride begins."""
        return _int(self.columns["PULOCATIONID"])

    @property
    def total(self) -> Decimal:
        """What was paid, tips included."""
        value = self.columns["TOTAL_AMOUNT"]
        assert isinstance(value, Decimal)
        return value

    @property
    def time(self) -> int:
        """The pickup time in ms, local time read as UTC."""
        local = datetime.fromisoformat(str(self.columns["TPEP_PICKUP_DATETIME"]))
        return int(local.replace(tzinfo=UTC).timestamp()) * 1000

    @property
    def key(self) -> bytes:
        """The key for Kafka."""
        return int_key(self.vendor)

    @property
    def value(self) -> dict[str, Value]:
        """All columns but the key."""
        return {name: value for name, value in self.columns.items() if name != "VENDORID"}

    @property
    def record(self) -> tuple[bytes, bytes]:
        """Key and value for Kafka; amounts are JSON numbers with the digits of the file."""
        fields = (f"{json.dumps(name)}:{_json(value)}" for name, value in self.value.items())
        return self.key, f"{{{','.join(fields)}}}".encode()


def _int(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _json(value: Value) -> str:
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def int_key(number: int) -> bytes:
    """An INTEGER as key format KAFKA writes it."""
    return struct.pack(">i", number)


def _code(text: str) -> int:
    return int(text.removesuffix(".0"))  # the file has trip_type as 1.0 and 2.0


_TEXT = ("TPEP_PICKUP_DATETIME", "TPEP_DROPOFF_DATETIME", "STORE_AND_FWD_FLAG", "COLOR")
_CODES = ("VENDORID", "PASSENGER_COUNT", "RATECODEID", "PULOCATIONID", "DOLOCATIONID", "PAYMENT_TYPE", "TRIP_TYPE")
_READ: Mapping[str, Callable[[str], Value]] = {**dict.fromkeys(_TEXT, str), **dict.fromkeys(_CODES, _code)}


def read_rides(file: Path) -> Sequence[Ride]:
    """All rides, in the order of the file."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [Ride(_columns(line)) for line in csv.DictReader(lines)]


def _columns(line: Mapping[str, str]) -> dict[str, Value]:
    return {name.upper(): _READ.get(name.upper(), Decimal)(text) if text != "" else None for name, text in line.items()}


def read_zones(file: Path) -> Sequence[Zone]:
    """All lines of the zone table, in the order of the file; an id may occur more than once."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [Zone(int(z["LocationID"]), z["zone"], z["borough"]) for z in csv.DictReader(lines)]


def read_statements(file: Path) -> tuple[dict[str, object], list[str], list[str]]:
    """The file in three parts: properties that SET sets, the statements that name sources, those that are queries.

    SET is for a session, and that is the client's: the properties go with each request.
    """
    from ksqlpy.sql import nodes, parse

    properties: dict[str, object] = {}
    sources: list[str] = []
    queries: list[str] = []
    for parsed in parse(file.read_text(encoding="utf-8")):
        if isinstance(parsed.node, nodes.SetProperty):
            properties[parsed.node.this.this] = parsed.node.expression.this
        else:
            (sources if parsed.node.args.get("query") is None else queries).append(parsed.text)
    return properties, sources, queries
