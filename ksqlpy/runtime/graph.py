"""What there is as a graph: topics, sources and queries, and what flows between them, as one principal sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ksqlpy.access import GRANTABLE, Principal, Right, Thing
from ksqlpy.catalog import Catalog, PersistentQuery, Source
from ksqlpy.topicnames import is_internal

__all__ = ["graph"]

Node = dict[str, Any]


def graph(
    catalog: Catalog,
    who: Principal | None,
    partitions: Mapping[str, int],
    state: Callable[[str], str],
    error: Callable[[str], str | None],
) -> dict[str, list[Node]]:
    """Nodes and edges of somebody's view of a catalog; ``partitions``: of topics that are known.

    An edge leads the way of the records: topic, source, query, topic of its sink. Topics of sources that are seen are
    seen, too, as SHOW TOPICS has it.
    """
    topics = dict.fromkeys(s.topic for s in catalog.sources.values())
    nodes = [
        *(_topic(name, catalog, who, partitions.get(name)) for name in topics),
        *(_source(source, catalog, who) for source in catalog.sources.values()),
        *(_query(q, catalog, who, state(q.id), error(q.id)) for q in catalog.queries.values()),
    ]
    return {"nodes": nodes, "edges": [{"from": a, "to": b} for a, b in dict.fromkeys(_edges(catalog))]}


def _edges(catalog: Catalog) -> Iterator[tuple[str, str]]:
    for source in catalog.sources.values():
        yield f"topic:{source.topic}", f"source:{source.name}"
    for query in catalog.queries.values():
        for name in query.sources:
            if name in catalog.sources:  # one that an odd entry of the command log makes is not there
                yield f"source:{name}", f"query:{query.id}"
        if query.sink in catalog.sources:
            yield f"query:{query.id}", f"topic:{catalog.sources[query.sink].topic}"


def _topic(name: str, catalog: Catalog, who: Principal | None, partitions: int | None) -> Node:
    rights = _rights(who, Thing.topic(name), catalog)
    return {
        "id": f"topic:{name}",
        "kind": "topic",
        "name": name,
        "partitions": partitions,
        "internal": is_internal(name),
        "rights": rights,
    }


def _source(source: Source, catalog: Catalog, who: Principal | None) -> Node:
    window = source.window
    # The statement of a query that is not seen may name what is not seen.
    shown = catalog.viewer is None or source.query is None or source.query in catalog.queries
    return {
        "id": f"source:{source.name}",
        "kind": source.kind.lower(),
        "name": source.name,
        "topic": source.topic,
        "keyFormat": source.key.format,
        "valueFormat": source.value.format,
        "window": None if window is None else {"type": window.kind, "sizeMs": window.size},
        "query": source.query if shown else None,
        "readOnly": source.read_only or bool(source.envelope) or is_internal(source.topic),
        "statement": source.statement if shown else "",
        "rights": _rights(who, Thing.source(source.name), catalog),
    }


def _query(query: PersistentQuery, catalog: Catalog, who: Principal | None, state: str, error: str | None) -> Node:
    return {
        "id": f"query:{query.id}",
        "kind": "query",
        "name": query.id,
        "state": state,
        "sink": query.sink,
        "sources": list(query.sources),
        "statement": query.statement,
        "error": error,
        "operate": query.is_of(who) or catalog.allows(who, Right.OPERATE, Thing.source(query.sink)),
    }


def _rights(who: Principal | None, thing: Thing, catalog: Catalog) -> list[str]:
    """All that somebody may do with a source or topic."""
    known = GRANTABLE["TOPIC" if thing.kind == "TOPIC" else "SOURCE"]
    if who is None:
        return [right.value for right in known]
    held = catalog.grants.held(who.roles).rights_on(thing)
    return [right.value for right in known if right in held]
