"""What exists: sources, their columns, persistent queries and who depends on whom.

A :class:`Catalog` is an immutable snapshot; the engine replaces it as a whole, so that analysis always sees one state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from ksqlpy.access import Grants, Principal, Right, Thing, allowed
from ksqlpy.functions import FUNCTIONS, Functions
from ksqlpy.functions.python import python_function
from ksqlpy.types import (
    BYTES,
    STRING,
    ArrayType,
    SqlType,
    StructType,
    type_from_json,
    type_to_json,
)
from ksqlpy.udfs.definition import Definition

__all__ = [
    "HEADERS_TYPE",
    "RESULT_HEADER",
    "Catalog",
    "Column",
    "Envelope",
    "Header",
    "KeySpec",
    "Nulls",
    "Owner",
    "PartSpec",
    "PersistentQuery",
    "Schema",
    "Source",
    "ValueSpec",
    "WindowKey",
    "query_named",
    "type_from_json",
    "type_to_json",
]

SourceKind = Literal["STREAM", "TABLE"]
Nulls = Literal["", "OPTIONAL", "WRAPPER"]
Envelope = Literal["", "DEBEZIUM"]
BlockedKind = Literal["source", "type", "query", "function"]


@dataclass(frozen=True)
class Column:
    """A column of a source; key columns come first."""

    name: str
    type: SqlType
    key: bool = False
    header: Header | None = None


@dataclass(frozen=True)
class Header:
    """A column holds headers of the record: the value of the last one whose name is ``key``, or all if that is None."""

    key: str | None


HEADERS_TYPE = ArrayType(StructType((("KEY", STRING), ("VALUE", BYTES))))
"""The type of a column of all headers."""

RESULT_HEADER = "ksqlpy.at"
"""The header that ksqlpy gives to its results, by which they come exactly once; columns of headers do not show it."""


@dataclass(frozen=True)
class WindowKey:
    """The key of the source is windowed: kind TUMBLING, HOPPING or SESSION, size in milliseconds.

    Sessions have no size. Their keys end with end and start of the window, in 8 bytes each; the others' with the start.
    """

    kind: str
    size: int | None

    @property
    def key_bytes(self) -> int:
        """How many bytes the window takes at the end of a key."""
        return 16 if self.size is None else 8


@dataclass(frozen=True)
class Schema:
    """A schema of a schema registry: its text, and those that it refers to, by name, each behind its own references."""

    text: str
    references: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PartSpec(ABC):
    """The key or the value of a source's records: a :class:`KeySpec` or a :class:`ValueSpec`.

    ``format``: the name of its format (:mod:`ksqlpy.formats`); ``columns``: what it carries, in the order in which they
    are written; ``delimiter``: what stands between them, of formats that have such. ``schema_id``: the id under which
    the schema registry has the schema of what is written; None: of formats without one, and where nothing is written.
    ``schema``: that schema, if the statement names it by its id; None: it follows from the columns, with the record's
    name ``schema_name``, None for the format's own, and in Protobuf with ``nulls``: how it tells a null from 0, empty
    if it does not.
    """

    format: str
    columns: tuple[Column, ...] = ()
    delimiter: str = ","
    schema_id: int | None = field(default=None, kw_only=True)
    schema: Schema | None = field(default=None, kw_only=True)
    schema_name: str | None = field(default=None, kw_only=True)
    nulls: Nulls = field(default="", kw_only=True)

    @property
    @abstractmethod
    def bare(self) -> bool:
        """Whether its single column stands alone, not in a record."""


@dataclass(frozen=True)
class KeySpec(PartSpec):
    """How keys are written; ``wrapped``: whether a single column is written as a record too."""

    wrapped: bool = False

    @property
    def bare(self) -> bool:
        """With one column; several make a record."""
        return len(self.columns) == 1 and not self.wrapped


@dataclass(frozen=True)
class ValueSpec(PartSpec):
    """How values are written; ``wrapped``: whether a single column is written as a record (WRAP_SINGLE_VALUE)."""

    wrapped: bool = True

    @property
    def bare(self) -> bool:
        """As the source says."""
        return not self.wrapped


@dataclass(frozen=True)
class Source:
    """A stream or table over a topic.

    ``key``, ``value``: how its records are written; their columns are those of the source, which sets them.
    ``timestamp``: the column that gives ROWTIME, or None for the record's timestamp;
    ``timestamp_format``: its Java pattern if it is text. ``query``: id of the persistent
    query that made it. ``read_only``: CREATE SOURCE, which no statement writes. ``envelope``: of a table, in what its
    rows stand (:mod:`ksqlpy.formats.envelopes`), empty if they are the values; no statement writes such a table.
    """

    name: str
    kind: SourceKind
    topic: str
    columns: tuple[Column, ...]
    key: KeySpec
    value: ValueSpec
    statement: str
    timestamp: str | None = None
    timestamp_format: str | None = None
    window: WindowKey | None = None
    query: str | None = None
    read_only: bool = False
    envelope: Envelope = ""

    def __post_init__(self) -> None:
        # Whoever changes the columns changes what keys and values are made of.
        for name, columns in (("key", self.keys), ("value", self.values)):
            object.__setattr__(self, name, replace(getattr(self, name), columns=columns))

    @property
    def keys(self) -> tuple[Column, ...]:
        """The key columns."""
        return tuple(c for c in self.columns if c.key)

    @property
    def values(self) -> tuple[Column, ...]:
        """The columns of the record's value."""
        return tuple(c for c in self.columns if not c.key and c.header is None)

    @property
    def written(self) -> tuple[Column, ...]:
        """The columns that a record of the topic is made of: all but those that hold headers."""
        return tuple(c for c in self.columns if c.header is None)

    @property
    def headers(self) -> tuple[Column, ...]:
        """The columns that hold headers of the record; they are never written."""
        return tuple(c for c in self.columns if c.header is not None)

    def column(self, name: str) -> Column | None:
        """The column of that exact name, or None."""
        return next((c for c in self.columns if c.name == name), None)

    @property
    def schema_text(self) -> str:
        """The columns as ksqlDB prints a schema: ``\\`ID\\` BIGINT KEY, \\`V\\` STRING``."""
        return ", ".join(f"`{c.name}` {c.type}{' KEY' if c.key else ''}" for c in self.columns)


@dataclass(frozen=True)
class Owner:
    """Who made a query: the name of a principal, and by which login; equal names of two logins are different people."""

    name: str
    how: str

    @classmethod
    def of(cls, principal: Principal | None) -> Owner | None:
        """The owner of what a principal makes; None where nobody was asked for a name."""
        return None if principal is None or not principal.name else cls(principal.name, principal.how)

    @staticmethod
    def is_same(one: Owner | None, other: Owner | None) -> bool:
        """Whether both are one; nobody is the same as nobody."""
        return one is not None and one == other


@dataclass(frozen=True)
class PersistentQuery:
    """A running CREATE … AS SELECT or INSERT INTO … SELECT.

    ``offsets``: where it started, by topic and partition; ``properties``: those in force when it was made;
    ``paused``: it does not run until it is resumed. ``upgraded_from``: fingerprints of the plans that OR REPLACE has
    replaced, whose state the present plan takes over. ``checkpoint_mark``: what its checkpoint was made with.
    ``state_era``: how often OR REPLACE or REWIND has let it go on without its state; ``rewound``: the one that the last
    REWIND began, which has set ``offsets``. ``skipped``: topic, partition and offset of records that it leaves out.
    ``owner``: who made it, None where nobody was asked for a name.
    """

    id: str
    statement: str
    sink: str
    sources: tuple[str, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    offsets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    shuffle_partitions: int = 1
    paused: bool = False
    upgraded_from: tuple[str, ...] = ()
    checkpoint_mark: str = ""
    state_era: int = 0
    skipped: tuple[tuple[str, int, int], ...] = ()
    owner: Owner | None = None
    rewound: int = 0

    def rewound_to(self, offsets: Mapping[str, Mapping[str, int]]) -> PersistentQuery:
        """The query as it begins again from these offsets, without its state."""
        era = self.state_era + 1
        return replace(self, offsets=offsets, state_era=era, rewound=era)

    def is_of(self, principal: Principal | None) -> bool:
        """Whether this principal owns the query."""
        return Owner.is_same(self.owner, Owner.of(principal))


@dataclass(frozen=True)
class Catalog:
    """Sources, queries, user types and functions in Python by name.

    ``blocked``: why a source, type, query or function cannot be used, by kind and name: its entry of the command log is
    odd. Such queries stand among the others, and do not run; all else does not. ``grants``: who may do what.
    ``viewer``: whose view it is, from which what he may not see is left out; None: it is whole (:meth:`seen_by`).
    """

    sources: Mapping[str, Source] = field(default_factory=lambda: MappingProxyType({}))
    queries: Mapping[str, PersistentQuery] = field(default_factory=lambda: MappingProxyType({}))
    types: Mapping[str, SqlType] = field(default_factory=lambda: MappingProxyType({}))
    functions: Mapping[str, Definition] = field(default_factory=lambda: MappingProxyType({}))
    blocked: Mapping[tuple[BlockedKind, str], str] = field(default_factory=lambda: MappingProxyType({}))
    grants: Grants = field(default_factory=Grants)
    viewer: Principal | None = None
    _views: dict[Principal, Catalog] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def calls(self) -> Functions:
        """All that statements may call: the functions of the language, and those in Python."""
        return FUNCTIONS.beside(map(python_function, self.functions.values())) if self.functions else FUNCTIONS

    def seen_by(self, principal: Principal | None) -> Catalog:
        """What somebody sees: sources and types on which he has a right, and queries of which he sees all sources.

        His own queries he always sees. It is this snapshot itself where nothing is hidden.
        """
        if principal is None or self.grants.held(principal.roles).sees_all:
            return self
        found = self._views.get(principal)
        if found is None:
            found = self._view(principal)
            if len(self._views) >= _VIEWS:
                self._views.clear()
            self._views[principal] = found
        return found

    def _view(self, principal: Principal) -> Catalog:
        view = replace(self, viewer=principal)
        queries = {i: q for i, q in self.queries.items() if view.shows(q.owner, (q.sink, *q.sources))}
        blocked = {
            (kind, name): reason
            for (kind, name), reason in self.blocked.items()
            if (name in queries if kind == "query" else not view.hides(name))
        }
        return replace(
            view,
            sources=MappingProxyType({n: s for n, s in self.sources.items() if not view.hides(n)}),
            queries=MappingProxyType(queries),
            types=MappingProxyType({n: t for n, t in self.types.items() if not view.hides(n)}),
            blocked=MappingProxyType(blocked),
        )

    def shows(self, owner: Owner | None, sources: Iterable[str]) -> bool:
        """Whether a query of this owner and these sources is seen here."""
        if self.viewer is None or Owner.is_same(owner, Owner.of(self.viewer)):
            return True
        return not any(map(self.hides, sources))

    def told(self, query_ids: Iterable[str]) -> str:
        """Ids of queries as a message names them here; of those that are not seen only how many."""
        ids = list(query_ids)
        seen = [q for q in ids if q in self.queries]
        hidden = len(ids) - len(seen)
        return " and ".join(filter(None, [", ".join(seen), f"{hidden} that you may not see" if hidden else ""]))

    def hides(self, name: str) -> bool:
        """Whether a source or type of that name would not be seen here, so that nothing tells whether there is one."""
        return self.viewer is not None and not self.allows(self.viewer, None, Thing.source(name))

    def allows(self, principal: Principal | None, right: Right | None, thing: Thing) -> bool:
        """Whether somebody has a right on something, see :func:`ksqlpy.access.allowed`."""
        return allowed(principal, right, thing, self.grants)

    def with_blocked(self, kind: BlockedKind, name: str, reason: str) -> Catalog:
        """A snapshot in which this name cannot be used; what has it is left out, save a query."""
        removers = {"source": self.without_source, "type": self.without_type, "function": self.without_function}
        without = removers.get(kind)
        before = without(name) if without is not None else self
        return replace(before, blocked=MappingProxyType({**before.blocked, (kind, name): reason}))

    def unblocked(self, kind: BlockedKind, name: str) -> Catalog:
        """A snapshot in which this name can be used again."""
        if (kind, name) not in self.blocked:
            return self
        return replace(self, blocked=MappingProxyType({k: r for k, r in self.blocked.items() if k != (kind, name)}))

    def with_source(self, source: Source) -> Catalog:
        """A snapshot with this source added or replaced."""
        return replace(
            self.unblocked("source", source.name), sources=MappingProxyType({**self.sources, source.name: source})
        )

    def without_source(self, name: str) -> Catalog:
        """A snapshot without this source."""
        return replace(
            self.unblocked("source", name),
            sources=MappingProxyType({n: s for n, s in self.sources.items() if n != name}),
        )

    def with_query(self, query: PersistentQuery) -> Catalog:
        """A snapshot with this query added or replaced."""
        return replace(self, queries=MappingProxyType({**self.queries, query.id: query}))

    def without_query(self, query_id: str) -> Catalog:
        """A snapshot without this query."""
        return replace(
            self.unblocked("query", query_id),
            queries=MappingProxyType({i: q for i, q in self.queries.items() if i != query_id}),
        )

    def with_type(self, name: str, kind: SqlType) -> Catalog:
        """A snapshot with this user type added or replaced."""
        return replace(self.unblocked("type", name), types=MappingProxyType({**self.types, name: kind}))

    def without_type(self, name: str) -> Catalog:
        """A snapshot without this user type."""
        return replace(
            self.unblocked("type", name), types=MappingProxyType({n: t for n, t in self.types.items() if n != name})
        )

    def with_function(self, definition: Definition) -> Catalog:
        """A snapshot with this function added or replaced."""
        functions = {**self.functions, definition.name: definition}
        return replace(self.unblocked("function", definition.name), functions=MappingProxyType(functions))

    def without_function(self, name: str) -> Catalog:
        """A snapshot without this function."""
        functions = {n: f for n, f in self.functions.items() if n != name}
        return replace(self.unblocked("function", name), functions=MappingProxyType(functions))

    def readers(self, name: str) -> tuple[str, ...]:
        """Ids of the queries that read the source."""
        return tuple(q.id for q in self.queries.values() if name in q.sources)

    def writers(self, name: str) -> tuple[str, ...]:
        """Ids of the queries that write the source."""
        return tuple(q.id for q in self.queries.values() if q.sink == name)


_VIEWS = 100
"""Views of one snapshot that are kept."""


def query_named(name: str, known: Iterable[str]) -> str | None:
    """The id, of these, that a statement means: upper and lower case are the same in ids of queries, as in ksqlDB.

    Those of push queries have lower case in them, and clients write them into TERMINATE as they are.
    """
    return next((k for k in known if k.upper() == name.upper()), None)
