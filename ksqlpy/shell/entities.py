"""How each kind of entity is shown to people.

Source of the rules: ksqlDB manual, "ksqlDB REST API", for the fields of entities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from ksqlpy.figures import FIGURES, time_text

__all__ = ["SHORT", "SHOWN", "Entity", "Output", "type_text"]


class Output(Protocol):
    """Where entities are shown, see :class:`ksqlpy.shell.output.Printer`."""

    def text(self, text: str) -> None:
        """Prints lines."""
        ...

    def facts(self, facts: Mapping[str, object]) -> None:
        """Prints names and values, one pair a line; leaves out what is not there."""
        ...

    def table(self, names: Sequence[str], rows: Iterable[Sequence[object]], nothing: str = "nothing to show") -> None:
        """Prints a table."""
        ...


Entity = Mapping[str, Any]


def _status(out: Output, e: Entity) -> None:
    out.text(str(e["commandStatus"]["message"]))


def _sources(key: str) -> Callable[[Output, Entity], None]:
    def show(out: Output, e: Entity) -> None:
        rows = [(s["name"], s["topic"], s["keyFormat"], s["valueFormat"], s.get("isWindowed")) for s in e[key]]
        out.table(("Name", "Topic", "Key format", "Value format", "Windowed"), rows, f"no {key}")

    return show


def _queries(out: Output, e: Entity) -> None:
    rows = [
        (q["id"], q.get("queryType"), q.get("state"), ", ".join(q.get("sinks") or []), _first_line(q["queryString"]))
        for q in e["queries"]
    ]
    out.table(("Id", "Type", "State", "Sinks", "Statement"), rows, "no queries")
    for q in e["queries"]:
        failed = q.get("state") in ("ERROR", "RETRYING") and q.get("queryErrors")
        if failed or (q.get("since") is not None and q.get("state") not in ("RUNNING", "PAUSED")):
            out.text(f"{q['id']}: {_stands(q)}" + (f": {_error(q['queryErrors'][-1])}" if failed else ""))


def _first_line(statement: str) -> str:
    """The first line of a statement, and a mark that there is more; comments ahead of it are passed over."""
    lines = [line.strip() for line in statement.splitlines()]
    lines = [line for line in lines if line] or [""]
    first = next((i for i, line in enumerate(lines) if not line.startswith("--")), 0)
    return lines[first] + (" …" if len(lines) > first + 1 else "")


def _stands(d: Entity) -> str:
    """A state, since when, and the tries; servers other than ksqlpy's tell the state only."""
    text, tries = str(d.get("state")), d.get("tries")
    if d.get("since") is not None:
        text += f" since {time_text(d['since'])}"
    if not tries:
        return text
    text += f", {tries} {'try' if tries == 1 else 'tries'} failed"
    return text + (
        f", next at {time_text(d['nextTry'])}" if d.get("nextTry") is not None else ", the next is being made"
    )


def _source(out: Output, e: Entity) -> None:
    _describe(out, e["sourceDescription"])


def _source_list(out: Output, e: Entity) -> None:
    for description in e["sourceDescriptions"]:
        _describe(out, description)
        out.text("")
    if not e["sourceDescriptions"]:
        out.text("(nothing to show)")


def _describe(out: Output, d: Entity) -> None:
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
                "Written by": ", ".join(map(_owned, d.get("writeQueries") or [])),
                "Statistics": d.get("statistics"),
                "Errors": d.get("errorStats"),
            }
        )


def _owned(query: Entity) -> str:
    """The id of a query, and whose it is."""
    return f"{query['id']} of {query['owner']}" if query.get("owner") else str(query["id"])


def _fields(out: Output, fields: Sequence[Entity]) -> None:
    rows = [(f["name"], type_text(f["schema"]), {"KEY": "key"}.get(f.get("type") or "", f.get("type"))) for f in fields]
    out.table(("Field", "Type", ""), rows, "no columns")


def type_text(schema: Entity) -> str:
    """A type from its JSON form, as SQL writes it; raises KeyError and TypeError for other shapes."""
    name = str(schema["type"])
    match name:
        case "ARRAY":
            return f"ARRAY<{type_text(schema['memberSchema'])}>"
        case "MAP":
            return f"MAP<STRING, {type_text(schema['memberSchema'])}>"
        case "STRUCT":
            fields = ", ".join(f"{f['name']} {type_text(f['schema'])}" for f in schema["fields"])
            return f"STRUCT<{fields}>"
        case "DECIMAL":
            given = schema.get("parameters") or {}
            return f"DECIMAL({given['precision']}, {given['scale']})" if given else name
    return name


def _query(out: Output, e: Entity) -> None:
    _describe_query(out, e["queryDescription"])


def _query_list(out: Output, e: Entity) -> None:
    for description in e["queryDescriptions"]:
        _describe_query(out, description)
        out.text("")
    if not e["queryDescriptions"]:
        out.text("(no queries)")


def _describe_query(out: Output, d: Entity) -> None:
    out.facts(
        {
            "Id": d.get("id"),
            "Type": d.get("queryType"),
            "State": d.get("state") and _stands(d),
            "Owner": d.get("owner"),
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


def _query_figures(out: Output, figures: Entity) -> None:
    """What ksqlpy's servers tell of a running query."""
    out.facts({f.title: f.text(figures.get(f.name)) for f in FIGURES if figures})


def _error(error: Entity) -> str:
    kind = error.get("type")
    return f"{kind}: {error.get('errorMessage')}" if kind else str(error.get("errorMessage", error))


def _topics(out: Output, e: Entity) -> None:
    rows = [
        (t["name"], len(t["replicaInfo"]), max(t["replicaInfo"], default=0), t.get("consumerCount"))
        for t in e["topics"]
    ]
    out.table(("Topic", "Partitions", "Replicas", "Consumers"), rows, "no topics")


def _properties(out: Output, e: Entity) -> None:
    if e["properties"] and isinstance(e["properties"], dict):  # old servers
        rows = [(name, value) for name, value in e["properties"].items()]
        out.table(("Property", "Value"), rows)
        return
    changed = set(e.get("overwrittenProperties") or ())
    rows3 = [(p["name"], p["value"], "changed" if p["name"] in changed else None) for p in e["properties"]]
    out.table(("Property", "Value", ""), rows3, "no properties")


def _functions(out: Output, e: Entity) -> None:
    rows = [(f["name"], f.get("type"), f.get("category")) for f in e["functions"]]
    out.table(("Function", "Type", "Category"), rows, "no functions")


def _function(out: Output, e: Entity) -> None:
    out.facts({"Name": e["name"], "Type": e.get("type"), "Author": e.get("author"), "About": e.get("description")})
    for f in e["functions"]:
        arguments = ", ".join(
            f"{a.get('name') or ''} {a['type']}{'...' if a.get('isVariadic') else ''}".strip() for a in f["arguments"]
        )
        out.text(f"\n{e['name']}({arguments}) -> {f['returnType']}")
        if f.get("description"):
            out.text(f"    {f['description']}")
    python = e.get("python")
    if python is not None:
        _python(out, python)


def _python(out: Output, p: Entity) -> None:
    out.text("")
    facts = {
        "Results": "the same for the same arguments" if p["deterministic"] else "may differ for the same arguments",
        "On error": p["onError"],
        "Time limit": f"{p['timeoutMs']:,} ms",
        "State": p.get("stateType"),
        "Module": p.get("callable"),
        "Hash": p["hash"][:12],
        "Queries": ", ".join(p["queries"]) or "none",
    }
    out.facts(facts)
    if p.get("source"):
        out.text(f"\n{p['source'].strip(chr(10))}")


def _types(out: Output, e: Entity) -> None:
    out.table(("Type", "Definition"), [(n, type_text(s)) for n, s in e["types"].items()], "no types")


def _variables(out: Output, e: Entity) -> None:
    out.table(("Variable", "Value"), [(v["name"], v["value"]) for v in e["variables"]], "no variables")


def _terminated(out: Output, e: Entity) -> None:
    out.text(f"query {e['queryId']} {'is closed' if e['wasTerminated'] else 'was not running'}")


def _asserted(out: Output, e: Entity) -> None:
    out.text(f"topic {e['topicName']} {_is_there(e)}, as asserted")


def _schema_asserted(out: Output, e: Entity) -> None:
    number, subject = e.get("id"), e.get("subject")
    what = f"subject {subject}" if number is None else f"schema {number}"
    of = f" of subject {subject}" if number is not None and subject is not None else ""
    out.text(f"{what}{of} {_is_there(e)}, as asserted")


def _is_there(e: Entity) -> str:
    return "is there" if e["exists"] else "is not there"


def _roles(out: Output, e: Entity) -> None:
    rows = [(r["name"], "built in" if r.get("builtIn") else "") for r in e["roles"]]
    out.table(("Role", ""), rows, "no roles")


def _grants(out: Output, e: Entity) -> None:
    rows = [(g["role"], ", ".join(g["rights"]), g["on"]) for g in e["grants"]]
    out.table(("Role", "Rights", "On"), rows, "no grants")


def _message(out: Output, e: Entity) -> None:
    out.text(str(e["message"]))


SHOWN: Mapping[str, Callable[[Output, Entity], None]] = MappingProxyType(
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
        "roles": _roles,
        "grants": _grants,
        "terminate_query": _terminated,
        "assert_topic": _asserted,
        "assert_schema": _schema_asserted,
        "warning_entity": _message,
    }
)
"""Extension point: how each kind of entity is shown as a table."""

SHORT = (_status, _terminated, _message)
"""Kinds that are a line each, and stand close together."""
