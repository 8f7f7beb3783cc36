"""Results for people and for programs: entities and rows as tables or as JSON.

Source of the rules: ksqlDB manual, "ksqlDB REST API", for the fields of entities. A kind of entity that is not in
:data:`SHOWN` is shown as indented JSON, so that nothing of a newer server is lost.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TextIO

__all__ = ["SHOWN", "Printer", "cell_text", "escaped"]

Entity = Mapping[str, Any]

NO_WIDTH = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that turn the direction of what follows on the screen."""

WIDTHS: Mapping[str, int] = MappingProxyType(
    {"BOOLEAN": 7, "INTEGER": 11, "BIGINT": 13, "DOUBLE": 12, "STRING": 16, "DATE": 10, "TIME": 12, "TIMESTAMP": 23}
)
"""Room for the values of a streamed column, by type; a longer value takes more."""


def escaped(text: str, keep: str = "") -> str:
    """The text with control characters, and what else moves a terminal's cursor, written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c in keep or not _moves(c) else _escape(c) for c in text)


def _moves(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Zl", "Zp", "Cs") or char in NO_WIDTH


def _escape(char: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char) or (
        f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
    )


def cell_text(value: object) -> str:
    """A value in a table: text as it is, everything else as JSON; NULL for none."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return escaped(value)
    return escaped(_json(value))


def _json(value: object, ascii: bool = False) -> str:
    """A value as JSON; a Decimal becomes a number with all its digits."""
    if isinstance(value, Decimal):
        return format(value, "f") if -40 < value.adjusted() < 40 else str(value)
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(k, ensure_ascii=ascii)}: {_json(v, ascii)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, list):
        return f"[{', '.join(_json(v, ascii) for v in value)}]"
    return json.dumps(value, ensure_ascii=ascii)


class Printer:
    """Prints results: format ``table`` or ``json`` (one object a line)."""

    def __init__(self, output: str = "table", stream: TextIO | None = None) -> None:
        self.json = output == "json"
        self.stream = stream or sys.stdout
        self._block: bool | None = None
        self._names: list[str] = []
        self._widths: list[int] = []
        self._right: list[bool] = []

    # -------------------------------------------------------- entities

    def entities(self, entities: Iterable[Entity]) -> None:
        """Prints what statements gave."""
        for entity in entities:
            if self.json:
                self._line(json.dumps(entity, ensure_ascii=True))
                continue
            show = SHOWN.get(str(entity.get("@type")))
            self._part(block=show not in (_status, _terminated, _message))
            try:
                if show is None:
                    raise KeyError
                show(self, entity)
            except (KeyError, TypeError, AttributeError, IndexError):
                self._line(escaped(json.dumps(entity, indent=2, ensure_ascii=False), keep="\n"))
            for warning in entity.get("warnings") or []:
                self._line(f"warning: {escaped(str(warning.get('message')))}")

    def _part(self, block: bool) -> None:
        """Puts an empty line between blocks; messages of one line stand close together."""
        if self._block is not None and (block or self._block):
            self._line("")
        self._block = block

    def text(self, text: str) -> None:
        """Prints lines."""
        self._line(escaped(text, keep="\n"))

    def facts(self, facts: Mapping[str, object]) -> None:
        """Prints names and values, one pair a line; leaves out what is not there."""
        shown = {k: v for k, v in facts.items() if v not in (None, "", [], {})}
        width = max((len(k) for k in shown), default=0)
        for name, value in shown.items():
            first, *more = escaped(value, keep="\n").rstrip().split("\n") if isinstance(value, str) else [_plain(value)]
            self._line(f"{name.ljust(width)} : {first}")
            for line in more:
                self._line(f"{' ' * width}   {line}")

    def table(self, names: Sequence[str], rows: Iterable[Sequence[object]], nothing: str = "nothing to show") -> None:
        """Prints a table: with lines and folded cells on a terminal, in plain columns elsewhere."""
        cells = [[_plain(value) for value in row] for row in rows]
        if not cells:
            self._line(f"({nothing})")
        elif self.stream.isatty():
            self._rich(names, cells)
        else:
            self._columns(names, cells)

    def _rich(self, names: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name in names:
            table.add_column(Text(name, "bold"), overflow="fold")
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))
        Console(file=self.stream, highlight=False).print(table)

    def _columns(self, names: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
        widths = [max(_width(row[i]) for row in (names, *cells)) for i in range(len(names))]
        for row in (names, ["-" * w for w in widths], *cells):
            self._line("  ".join(_pad(cell, w) for cell, w in zip(row, widths, strict=True)).rstrip())

    # -------------------------------------------------------- rows

    def header(self, header: Entity) -> None:
        """Prints the names of a query's columns; its rows follow with :meth:`row`."""
        self._names = [str(n) for n in header["columnNames"]]
        types = [str(t) for t in header.get("columnTypes") or []] or [""] * len(self._names)
        if self.json:
            return
        self._part(block=True)
        self._right = [t in ("INTEGER", "BIGINT", "DOUBLE") or t.startswith("DECIMAL") for t in types]
        names = [escaped(n) for n in self._names]
        self._widths = [max(_width(n), WIDTHS.get(t, 16)) for n, t in zip(names, types, strict=True)]
        self._line(" | ".join(_pad(n, w) for n, w in zip(names, self._widths, strict=True)).rstrip())
        self._line("-+-".join("-" * w for w in self._widths))

    def row(self, row: Sequence[object]) -> None:
        """Prints a row at once; all of it: a long value takes the room it needs."""
        if self.json:
            self._line(_json(dict(zip(self._names, row, strict=True)), ascii=True))
            return
        cells = zip((cell_text(v) for v in row), self._widths, self._right, strict=True)
        self._line(" | ".join(_pad(cell, w, right) for cell, w, right in cells).rstrip())

    def _line(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


def _plain(value: object) -> str:
    return "" if value is None else cell_text(value)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _pad(text: str, width: int, right: bool = False) -> str:
    room = " " * (width - _width(text))
    return room + text if right else text + room


# ------------------------------------------------------------ one function a kind of entity


def _status(out: Printer, e: Entity) -> None:
    out.text(str(e["commandStatus"]["message"]))


def _sources(key: str) -> Callable[[Printer, Entity], None]:
    def show(out: Printer, e: Entity) -> None:
        rows = [(s["name"], s["topic"], s["keyFormat"], s["valueFormat"], s.get("isWindowed")) for s in e[key]]
        out.table(("Name", "Topic", "Key format", "Value format", "Windowed"), rows, f"no {key}")

    return show


def _queries(out: Printer, e: Entity) -> None:
    rows = [
        (q["id"], q.get("queryType"), q.get("state"), ", ".join(q.get("sinks") or []), q["queryString"])
        for q in e["queries"]
    ]
    out.table(("Id", "Type", "State", "Sinks", "Statement"), rows, "no queries")
    for q in e["queries"]:
        if q.get("state") == "ERROR" and q.get("queryErrors"):
            out.text(f"{q['id']}: {_error(q['queryErrors'][-1])}")


def _source(out: Printer, e: Entity) -> None:
    _describe(out, e["sourceDescription"])


def _source_list(out: Printer, e: Entity) -> None:
    for description in e["sourceDescriptions"]:
        _describe(out, description)
        out.text("")
    if not e["sourceDescriptions"]:
        out.text("(nothing to show)")


def _describe(out: Printer, d: Entity) -> None:
    out.facts({"Name": d["name"], "Type": d.get("type"), "Window": d.get("windowType")})
    _fields(out, d["fields"])
    if d.get("extended"):
        out.facts(
            {
                "Topic": d.get("topic"),
                "Partitions": d.get("partitions") or None,
                "Replication": d.get("replication") or None,
                "Key format": d.get("keyFormat"),
                "Value format": d.get("valueFormat"),
                "Timestamp": d.get("timestamp"),
                "Statement": d.get("statement"),
                "Read by": ", ".join(q["id"] for q in d.get("readQueries") or []),
                "Written by": ", ".join(q["id"] for q in d.get("writeQueries") or []),
                "Statistics": d.get("statistics"),
                "Errors": d.get("errorStats"),
            }
        )


def _fields(out: Printer, fields: Sequence[Entity]) -> None:
    rows = [(f["name"], _type(f["schema"]), {"KEY": "key"}.get(f.get("type") or "", f.get("type"))) for f in fields]
    out.table(("Field", "Type", ""), rows, "no columns")


def _type(schema: Entity) -> str:
    """A type from its JSON form, as SQL writes it."""
    name = str(schema["type"])
    match name:
        case "ARRAY":
            return f"ARRAY<{_type(schema['memberSchema'])}>"
        case "MAP":
            return f"MAP<STRING, {_type(schema['memberSchema'])}>"
        case "STRUCT":
            fields = ", ".join(f"{f['name']} {_type(f['schema'])}" for f in schema["fields"])
            return f"STRUCT<{fields}>"
        case "DECIMAL":
            given = schema.get("parameters") or {}
            return f"DECIMAL({given['precision']}, {given['scale']})" if given else name
    return name


def _query(out: Printer, e: Entity) -> None:
    _describe_query(out, e["queryDescription"])


def _query_list(out: Printer, e: Entity) -> None:
    for description in e["queryDescriptions"]:
        _describe_query(out, description)
        out.text("")
    if not e["queryDescriptions"]:
        out.text("(no queries)")


def _describe_query(out: Printer, d: Entity) -> None:
    out.facts(
        {
            "Id": d.get("id"),
            "Type": d.get("queryType"),
            "State": d.get("state"),
            "Statement": d.get("statementText"),
            "Sources": ", ".join(d.get("sources") or []),
            "Sinks": ", ".join(d.get("sinks") or []),
            "Properties": d.get("overriddenProperties"),
        }
    )
    if d.get("fields"):
        _fields(out, d["fields"])
    plan, topology = (str(d.get(key) or "").rstrip() for key in ("executionPlan", "topology"))
    if plan:
        out.text(f"\nPlan\n{plan}")
    if topology and topology != plan:
        out.text(f"\nTopology\n{topology}")
    _query_figures(out, d.get("figures") or {})
    for error in d.get("queryErrors") or []:
        out.text(f"error: {_error(error)}")


def _query_figures(out: Printer, figures: Entity) -> None:
    """What ksqlpy's servers tell of a running query."""
    commit = figures.get("lastCommit")
    out.facts(
        {
            "Mode": figures.get("mode"),
            "Rows in": figures.get("rowsIn"),
            "Rows out": figures.get("rowsOut"),
            "Lag": figures.get("lag"),
            "Late rows": figures.get("lateRows"),
            "Null by an error": figures.get("failedValues"),
            "Dead letters": figures.get("deadLetters"),
            "Last commit": commit and f"{datetime.fromtimestamp(commit / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC",
            "State": f"{figures['stateBytes']:,} bytes" if figures.get("stateBytes") is not None else None,
        }
    )


def _error(error: Entity) -> str:
    kind = error.get("type")
    return f"{kind}: {error.get('errorMessage')}" if kind else str(error.get("errorMessage", error))


def _topics(out: Printer, e: Entity) -> None:
    rows = [
        (t["name"], len(t["replicaInfo"]), max(t["replicaInfo"], default=0), t.get("consumerCount"))
        for t in e["topics"]
    ]
    out.table(("Topic", "Partitions", "Replicas", "Consumers"), rows, "no topics")


def _properties(out: Printer, e: Entity) -> None:
    if e["properties"] and isinstance(e["properties"], dict):  # old servers
        rows = [(name, value) for name, value in e["properties"].items()]
        out.table(("Property", "Value"), rows)
        return
    changed = set(e.get("overwrittenProperties") or ())
    rows3 = [(p["name"], p["value"], "changed" if p["name"] in changed else None) for p in e["properties"]]
    out.table(("Property", "Value", ""), rows3, "no properties")


def _functions(out: Printer, e: Entity) -> None:
    rows = [(f["name"], f.get("type"), f.get("category")) for f in e["functions"]]
    out.table(("Function", "Type", "Category"), rows, "no functions")


def _function(out: Printer, e: Entity) -> None:
    out.facts({"Name": e["name"], "Type": e.get("type"), "Author": e.get("author"), "About": e.get("description")})
    for f in e["functions"]:
        arguments = ", ".join(
            f"{a.get('name') or ''} {a['type']}{'...' if a.get('isVariadic') else ''}".strip() for a in f["arguments"]
        )
        out.text(f"\n{e['name']}({arguments}) -> {f['returnType']}")
        if f.get("description"):
            out.text(f"    {f['description']}")


def _types(out: Printer, e: Entity) -> None:
    out.table(("Type", "Definition"), [(n, _type(s)) for n, s in e["types"].items()], "no types")


def _variables(out: Printer, e: Entity) -> None:
    out.table(("Variable", "Value"), [(v["name"], v["value"]) for v in e["variables"]], "no variables")


def _terminated(out: Printer, e: Entity) -> None:
    out.text(f"query {e['queryId']} {'is closed' if e['wasTerminated'] else 'was not running'}")


def _asserted(out: Printer, e: Entity) -> None:
    out.text(f"topic {e['topicName']} {'is there' if e['exists'] else 'is not there'}, as asserted")


def _message(out: Printer, e: Entity) -> None:
    out.text(str(e["message"]))


SHOWN: Mapping[str, Callable[[Printer, Entity], None]] = MappingProxyType(
    {
        "currentStatus": _status,
        "streams": _sources("streams"),
        "tables": _sources("tables"),
        "queries": _queries,
        "sourceDescription": _source,
        "source_descriptions": _source_list,
        "queryDescription": _query,
        "query_descriptions": _query_list,
        "kafka_topics": _topics,
        "kafka_topics_extended": _topics,
        "properties": _properties,
        "function_names": _functions,
        "describe_function": _function,
        "type_list": _types,
        "variables": _variables,
        "terminate_query": _terminated,
        "assert_topic": _asserted,
        "warning_entity": _message,
    }
)
"""Extension point: how each kind of entity is shown as a table."""
