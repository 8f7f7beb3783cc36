"""The names of completion, as the server's answers tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ksqlpy.completion.names import Field, Function, Names, Source, functions
from ksqlpy.shell.entities import type_text

__all__ = ["listed", "read_source"]

Entity = Mapping[str, Any]


def listed(names: Names, entities: Sequence[Entity]) -> Names:
    """The names after SHOW STREAMS, TABLES, QUERIES, TOPICS, TYPES, ROLES and FUNCTIONS.

    Columns of sources that are as they were stay. Entities of other kinds and shapes are passed over.
    """
    sources: dict[str, Source] | None = None
    for e in entities:
        for kind, key in (("STREAM", "streams"), ("TABLE", "tables")):
            if e.get("@type") == key:
                sources = {} if sources is None else sources
                for s in e.get(key) or ():
                    new = Source(s["name"], kind, s.get("topic") or "")
                    old = names.sources.get(new.name)
                    same = old is not None and (old.kind, old.topic) == (new.kind, new.topic)
                    sources[new.name] = old if same and old is not None else new
        if e.get("@type") == "queries":
            names = replace(names, queries={q["id"]: q.get("state") or "" for q in e["queries"]})
        elif str(e.get("@type")).startswith("kafka_topics"):
            names = replace(names, topics=tuple(t["name"] for t in e["topics"]))
        elif e.get("@type") == "type_list":
            names = replace(names, types={n: _field(n, s).type for n, s in e["types"].items()})
        elif e.get("@type") == "function_names":
            python = [f for f in e["functions"] if f.get("category") == "PYTHON"]
            own = {f["name"]: Function(f["name"], f["type"], help="in Python") for f in python}
            names = replace(names, functions={**functions(), **own})
        elif e.get("@type") == "roles":
            names = replace(names, roles={r["name"]: bool(r.get("builtIn")) for r in e["roles"]})
    return names if sources is None else replace(names, sources=sources)


def read_source(entity: Entity) -> Source | None:
    """The source that DESCRIBE tells of; None for another kind of entity."""
    d = entity.get("sourceDescription")
    if not isinstance(d, dict):
        return None
    columns = tuple(_field(f["name"], f["schema"], key=f.get("type") == "KEY") for f in d["fields"])
    return Source(d["name"], d.get("type") or "STREAM", d.get("topic") or "", columns)


def _field(name: str, schema: Entity, key: bool = False) -> Field:
    member = schema.get("memberSchema")
    return Field(
        name,
        type_text(schema),
        tuple(_field(f["name"], f["schema"]) for f in schema.get("fields") or ()),
        _field("", member) if member else None,
        key,
    )
