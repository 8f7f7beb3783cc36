"""The names of completion as a catalog has them, for the server; sources that stay are not looked at again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from ksqlpy.catalog import Catalog
from ksqlpy.catalog import Source as Declared
from ksqlpy.completion.names import Field, Function, Names, Source, functions
from ksqlpy.config import PROPERTIES
from ksqlpy.functions.python import python_function
from ksqlpy.types import ArrayType, MapType, SqlType, StructType
from ksqlpy.udfs.definition import Definition

__all__ = ["Sources", "names_of"]


class Sources:
    """Sources as completion knows them, each made once as long as it stays the same."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Declared, Source]] = {}

    def of(self, catalog: Catalog) -> Mapping[str, Source]:
        """Those of a catalog, by name."""
        return {name: self._source(source) for name, source in catalog.sources.items()}

    def keep(self, catalog: Catalog) -> None:
        """Forgets those that are not in the catalog."""
        for name in self._made.keys() - catalog.sources.keys():
            self._made.pop(name, None)

    def _source(self, declared: Declared) -> Source:
        known = self._made.get(declared.name)
        if known is None or known[0] is not declared:
            columns = tuple(_field(c.name, c.type, key=c.key) for c in declared.columns)
            known = declared, Source(declared.name, declared.kind, declared.topic, columns)
            self._made[declared.name] = known
        return known[1]


def names_of(
    catalog: Catalog,
    sources: Mapping[str, Source],
    *,
    topics: Sequence[str] = (),
    queries: Mapping[str, str] | None = None,
    roles: Mapping[str, bool] | None = None,
) -> Names:
    """All that a statement may name; ``queries``: their states, ``roles``: whether each is built in."""
    python = {d.name: _function(d) for d in catalog.functions.values()}
    return Names(
        sources=sources,
        functions={**functions(), **python} if python else functions(),
        topics=topics,
        types={name: _text(kind) for name, kind in catalog.types.items()},
        queries=queries or {},
        roles=roles or {},
        properties=_settable(),
    )


@cache
def _settable() -> Mapping[str, str]:
    return {p.name: p.help for p in PROPERTIES.values() if p.session}


def _function(definition: Definition) -> Function:
    of = python_function(definition)
    shown = tuple(str(s) if callable(s.returns) else f"{s} → {s.returns}" for s in of.signatures)
    return Function(of.name, of.kind, shown, definition.help or "in Python", of.example)


def _field(name: str, kind: SqlType, key: bool = False) -> Field:
    fields = tuple(_field(n, t) for n, t in kind.fields) if isinstance(kind, StructType) else ()
    held = kind.item if isinstance(kind, ArrayType) else kind.value if isinstance(kind, MapType) else None
    return Field(name, _text(kind), fields, None if held is None else _field("", held), key)


def _text(kind: SqlType) -> str:
    """A type as people read it: names of fields stand without quotes."""
    if isinstance(kind, StructType):
        return f"STRUCT<{', '.join(f'{n} {_text(t)}' for n, t in kind.fields)}>"
    if isinstance(kind, ArrayType):
        return f"ARRAY<{_text(kind.item)}>"
    if isinstance(kind, MapType):
        return f"MAP<STRING, {_text(kind.value)}>"
    return str(kind)
