"""Cases as data: the JSON files of a folder, expanded by format, each with its category.

The form of the files is ksqlDB's (query translation tests): ``{"tests": [{name, statements, inputs, outputs, …}]}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

__all__ = [
    "CATEGORIES",
    "Case",
    "Window",
    "Written",
    "expanded",
    "json_text",
    "read_folder",
    "read_json",
    "uncommented",
]


@dataclass(frozen=True)
class Window:
    """The window of a key: ``kind`` is time or session, ``start`` and ``end`` in ms."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Written:
    """A record as a case writes it, going in or expected. ``headers`` hold the values in base64 or None."""

    topic: str
    key: Any
    value: Any
    time: int | None
    window: Window | None
    headers: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Case:
    """One case. ``expected_error``: what the file says of the exception, or None; ``format``: of its expansion."""

    file: str
    name: str
    statements: tuple[str, ...]
    format: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    topics: Sequence[Mapping[str, Any]] = ()
    inputs: tuple[Written, ...] = ()
    outputs: tuple[Written, ...] = ()
    expected_error: Mapping[str, Any] | None = None
    sources: Sequence[Mapping[str, Any]] = ()
    expected_topics: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True

    @property
    def full_name(self) -> str:
        """What the report and ``--filter`` call the case."""
        return f"{self.file} - {self.name}" + (f" - {self.format}" if self.format else "")

    @property
    def sql(self) -> str:
        """All statements."""
        return "\n".join(self.statements)

    @property
    def category(self) -> str:
        """The first of :data:`CATEGORIES` that applies."""
        return _category(self.sql)

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that the statements name, in order."""
        found = re.findall(r"\b(?:KEY_|VALUE_)?FORMAT\s*=\s*'(\w+)'", self.sql, re.IGNORECASE)
        given = [str(v) for k, v in self.properties.items() if k.startswith("ksql.persistence.default.format")]
        return tuple(dict.fromkeys(f.upper() for f in [*found, *given]))


# ---------------------------------------------------------------- files


def read_folder(folder: Path) -> Iterator[Case]:
    """The cases of all JSON files of a folder, in order of file names; raises ValueError, which names the file."""
    for file in sorted(folder.glob("*.json")):
        try:
            data = read_json(file.read_text(encoding="utf-8"))
            for entry in data["tests"]:
                yield from (case for case, _ in expanded(file.stem, entry))
        except (ValueError, KeyError, TypeError) as e:
            raise ValueError(f"{file}: {e!r}") from e


_PIECES = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def uncommented(text: str) -> str:
    """JSON without its comments of Java's kind."""
    return _PIECES.sub(lambda m: m[0] if m[0].startswith('"') else " ", text)


def read_json(text: str) -> Any:
    """JSON with comments; numbers with a fraction or exponent become exact decimals."""
    return json.loads(uncommented(text), parse_float=Decimal)


def json_text(value: Any) -> str:
    """JSON with the digits of decimals as they are."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{json_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def expanded(file: str, entry: Mapping[str, Any]) -> Iterator[tuple[Case, Mapping[str, Any]]]:
    """The cases of an entry, each with the entry as it is for its format."""
    # A configuration's other values change nothing here, so one run of each case is enough.
    properties = {k: v for k, v in (entry.get("properties") or {}).items() if v != "{CONFIG}"}
    for fmt in entry.get("format") or [""]:
        replaced = json.loads(json.dumps(entry, default=_exact).replace("{FORMAT}", fmt), object_hook=_inexact)
        post = replaced.get("post") or {}
        case = Case(
            file,
            replaced["name"],
            tuple(replaced["statements"]),
            fmt,
            properties,
            tuple(t if isinstance(t, Mapping) else {"name": t} for t in replaced.get("topics") or ()),
            tuple(_record(r) for r in replaced.get("inputs") or ()),
            tuple(_record(r) for r in replaced.get("outputs") or ()),
            replaced.get("expectedException"),
            tuple(post.get("sources") or ()),
            post.get("topics") or {},
            entry.get("enabled", True) is not False,
        )
        yield case, replaced


def _exact(value: object) -> Any:
    return {"\0exact": str(value)}


def _inexact(found: dict[str, Any]) -> Any:
    return Decimal(found["\0exact"]) if "\0exact" in found else found


def _record(entry: Mapping[str, Any]) -> Written:
    window = entry.get("window")
    return Written(
        entry["topic"],
        entry.get("key"),
        entry.get("value"),
        entry.get("timestamp"),
        None if window is None else Window(window["start"], window["end"], window["type"].lower()),
        tuple((h["KEY"], h["VALUE"]) for h in entry.get("headers") or ()),
    )


# ---------------------------------------------------------------- categories

_JOIN = re.compile(r"\bJOIN\s+(`?\w+`?)", re.IGNORECASE)
_FROM = re.compile(r"\bFROM\s+(`?\w+`?)", re.IGNORECASE)
_MADE = re.compile(
    r"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:SOURCE\s+)?(STREAM|TABLE)\s+(?:IF\s+NOT\s+EXISTS\s+)?(`?\w+`?)", re.IGNORECASE
)
_PRIMARY = re.compile(r"(`?\w+`?)\s+\w+(?:\([\d, ]*\)|<[^;]*?>)?\s+PRIMARY\s+KEY", re.IGNORECASE)
_ON = re.compile(r"\bON\s+(.+?)(?:\bWHERE\b|\bEMIT\b|\bGROUP\b|\bPARTITION\b|\bJOIN\b|;|$)", re.IGNORECASE | re.DOTALL)


def _category(sql: str) -> str:
    def says(pattern: str) -> bool:
        return re.search(pattern, sql, re.IGNORECASE) is not None

    kinds: dict[str, str] = {}
    for kind, name in _MADE.findall(sql):
        kinds.setdefault(name.strip("`").upper(), kind.upper())
    joining = [s for s in sql.split(";") if _JOIN.search(s)]
    if says(r"\bEMIT\s+FINAL\b"):
        return "EMIT FINAL"
    if any(len(_JOIN.findall(s)) > 1 for s in joining):
        return "n-way join"
    for statement in joining:
        found = _FROM.search(statement)
        [right] = _JOIN.findall(statement)
        left_kind = kinds.get(found[1].strip("`").upper() if found else "", "STREAM")
        right_kind = kinds.get(right.strip("`").upper(), "STREAM")
        if left_kind == right_kind == "TABLE":
            return "FK join" if _foreign(sql, statement) else "TTJ"
        return {"STREAM": {"STREAM": "SSJ", "TABLE": "STJ"}, "TABLE": {"STREAM": "invalid join"}}[left_kind][right_kind]
    for kind in ("SESSION", "HOPPING", "TUMBLING"):
        if says(rf"\bWINDOW\s+(?:\w+\s+AS\s+)?{kind}\b"):
            return kind.lower()
    if says(r"\bGROUP\s+BY\b"):
        grouped = [s for s in sql.split(";") if re.search(r"\bGROUP\s+BY\b", s, re.IGNORECASE)]
        found = _FROM.search(grouped[0])
        kind = kinds.get(found[1].strip("`").upper() if found else "", "STREAM")
        return "table aggregate" if kind == "TABLE" else "stream aggregate"
    if says(r"\b(?:CUBE_)?EXPLODE\s*\(|\bTEST_UDTF\s*\("):
        return "UDTF"
    if says(r"\bPARTITION\s+BY\b"):
        return "PARTITION BY"
    if says(r"\bINSERT\s+INTO\s+`?\w+`?\s+(?:WITH\s*\([^)]*\)\s*)?SELECT\b"):
        return "INSERT INTO"
    return "lambda" if "=>" in sql else "stateless"


def _foreign(sql: str, statement: str) -> bool:
    """Whether a join of two tables is on something else than both primary keys."""
    keys = {k.strip("`").upper() for k in _PRIMARY.findall(sql)}
    found = _ON.search(statement)
    if found is None:
        return False
    sides = [s.strip(" \n()").rpartition(".")[2].strip("`").upper() for s in found[1].split("=")]
    return any(s not in keys for s in sides)


CATEGORIES = (
    "EMIT FINAL",
    "n-way join",
    "FK join",
    "SSJ",
    "STJ",
    "TTJ",
    "invalid join",
    "session",
    "hopping",
    "tumbling",
    "table aggregate",
    "stream aggregate",
    "UDTF",
    "PARTITION BY",
    "INSERT INTO",
    "lambda",
    "stateless",
)
"""What a case is about; the first that applies."""
