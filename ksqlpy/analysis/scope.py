"""Which names a query can see, and the refusals that every part of the analysis shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from sqlglot import exp

from ksqlpy.access import Need, Right, Thing, refusal
from ksqlpy.analysis.result import Relation
from ksqlpy.analysis.typed import SYSTEM, ColumnRef
from ksqlpy.catalog import Catalog, Source
from ksqlpy.errors import AnalysisProblem, Span, similar_names
from ksqlpy.functions import FUNCTIONS, Aggregate, Functions
from ksqlpy.sql import nodes, span_of
from ksqlpy.types import SqlType

__all__ = ["PSEUDO", "Scope", "Text", "check_blocked", "find_source"]

PSEUDO = ("ROWTIME", "ROWPARTITION", "ROWOFFSET")
"""The pseudo columns of every source."""


@dataclass(frozen=True)
class Text:
    """The SQL that nodes are positions in, and the user types and functions that it may name.

    Raises refusals that point at a node.
    """

    sql: str
    types: Mapping[str, SqlType] = field(default_factory=dict)
    functions: Functions = FUNCTIONS

    @classmethod
    def of(cls, sql: str, catalog: Catalog) -> Text:
        """A text with all that a catalog knows."""
        return cls(sql, catalog.types, catalog.calls)

    def span(self, node: exp.Expr | None) -> Span | None:
        """Where the node stands."""
        return None if node is None else span_of(node, self.sql)

    def refuse(
        self,
        code: str,
        message: str,
        node: exp.Expr | None = None,
        hint: str | None = None,
        similar: Iterable[str] = (),
    ) -> NoReturn:
        """Raises AnalysisProblem at the node."""
        raise AnalysisProblem(code, message, span=self.span(node), sql=self.sql, hint=hint, similar=similar)


def check_blocked(catalog: Catalog, kind: Literal["source", "type", "function"], node: exp.Expr, text: Text) -> None:
    """Raises AnalysisProblem ``command-log`` for a name whose entry of the command log is odd."""
    name: str = node.this
    reason = catalog.blocked.get((kind, name))
    if reason is not None:
        drop = "DROP STREAM or DROP TABLE gives" if kind == "source" else f"DROP {kind.upper()} gives"
        hint = f"{drop} the name free; the version of ksqlpy that wrote the entry may still read it"
        text.refuse("command-log", f"{name} cannot be used: {reason}", node, hint=hint)


def find_source(catalog: Catalog, node: exp.Expr, text: Text) -> Source:
    """The source that an Identifier names; raises AnalysisProblem ``unknown-source`` or ``command-log``.

    Where the catalog is the view of somebody who would not see such a source, nothing tells whether there is one:
    raises StatementError ``missing-right``.
    """
    name: str = node.this
    source = catalog.sources.get(name)
    if source is None:
        if catalog.viewer is not None and catalog.hides(name):
            similar = similar_names(name, catalog.sources)
            need = Need(Right.SELECT, Thing.source(name))
            raise refusal(catalog.viewer, need, span=text.span(node), sql=text.sql, similar=similar)
        check_blocked(catalog, "source", node, text)
        text.refuse(
            "unknown-source",
            f"there is no stream or table {name}",
            node,
            hint="SHOW STREAMS and SHOW TABLES list what there is",
            similar=similar_names(name, catalog.sources),
        )
    return source


@dataclass(frozen=True)
class Scope:
    """The relations of a query; the first is the one whose time and place rows have."""

    relations: tuple[Relation, ...]
    window: bool = False
    """Whether WINDOWSTART and WINDOWEND exist: a windowed aggregate, or a windowed source."""
    unnamed: tuple[str, ColumnRef] | None = None
    """The key of joined rows that no column of a source holds, as of a FULL JOIN, and its name in the query."""
    near: bool = False
    """Whether streams are joined with streams, so that each has pseudo columns of its own under its alias."""

    def find(self, column: exp.Column, text: Text) -> ColumnRef:
        """The column that is meant.

        Raises AnalysisProblem ``unknown-column``, ``unknown-alias`` or ``ambiguous-column``.
        """
        name: str = column.this.this
        table = column.args.get("table")
        relation = None
        if table is not None:
            relation = next((r for r in self.relations if r.alias == table.this), None)
            if relation is None:
                text.refuse(
                    "unknown-alias",
                    f"no source of this query is called {table.this}",
                    column,
                    similar=similar_names(table.this, [r.alias for r in self.relations]),
                )
            found = [(relation, c)] if (c := relation.source.column(name)) else []
        else:
            found = [(r, c) for r in self.relations if (c := r.source.column(name))]
        if len(found) > 1:
            options = " or ".join(f"{r.alias}.{name}" for r, _ in found)
            text.refuse("ambiguous-column", f"column {name} is in several sources", column, hint=f"write {options}")
        if found:
            return found[0][0].ref(found[0][1])
        if self.unnamed is not None and table is None and name == self.unnamed[0]:
            return self.unnamed[1]
        if name in SYSTEM:
            internal, t = SYSTEM[name]
            if relation is not None and name in self._own_pseudo(relation):
                return ColumnRef(t, relation.internal(name))
            if name in ("WINDOWSTART", "WINDOWEND") and self.window and (self.near or self._all_windowed):
                return ColumnRef(t, internal)  # the windows of joined sources are equal
            if relation is None and self.near and name in ("ROWPARTITION", "ROWOFFSET"):
                options = " or ".join(f"{r.alias}.{name}" for r in self.relations if name in self._own_pseudo(r))
                text.refuse("ambiguous-column", f"column {name} is in several sources", column, hint=f"write {options}")
            first = self.relations[0]
            no_first = first.joined and (first.source.kind == "TABLE" or self.near)
            other = relation is not None and (relation is not first or self.near)
            if other or (no_first and name in ("ROWPARTITION", "ROWOFFSET")):
                whose = f" of {relation.alias}" if relation is not None else ""
                text.refuse(
                    "pseudo-of-joined",
                    f"{name}{whose} is not kept in a join" + ("" if no_first else f", only that of {first.alias}"),
                    column,
                    hint=f"make a table with {name} as a column of its own first",
                )
            if name in ("WINDOWSTART", "WINDOWEND") and not self.window:
                text.refuse(
                    "no-window", f"{name} exists only with a windowed source or a WINDOW clause with GROUP BY", column
                )
            return ColumnRef(t, internal)
        names = [c.name for r in self.relations for c in r.source.columns]
        if table is None and (meant := _behind_alias(column, text)) is not None:
            text.refuse(
                "alias-used", f"{name} is an alias; only columns of sources can be used here", column, hint=meant
            )
        text.refuse(
            "unknown-column",
            f"there is no column {name}" + (f" in {table.this}" if table is not None else ""),
            column,
            similar=similar_names(name, [*names, *SYSTEM]),
            hint=f"the columns are {', '.join(names[:12])}{', …' if len(names) > 12 else ''}",
        )

    @property
    def _all_windowed(self) -> bool:
        return all(r.source.window is not None for r in self.relations)

    def pseudo(self, relation: Relation) -> list[tuple[str, ColumnRef]]:
        """The pseudo columns of a joined source that rows have, with their names."""
        if not relation.joined or relation.view is not None:
            return []
        own = self._own_pseudo(relation)
        if own:
            return [(n, ColumnRef(SYSTEM[n][1], relation.internal(n))) for n in own]
        return [(n, ColumnRef(SYSTEM[n][1], SYSTEM[n][0])) for n in PSEUDO]

    def _own_pseudo(self, relation: Relation) -> tuple[str, ...]:
        """The pseudo columns that the relation has under its own alias."""
        if not relation.joined:
            return ()
        if relation.source.kind == "TABLE":
            return ("ROWTIME",)
        return PSEUDO if self.near and relation.view is None else ()


def _behind_alias(column: exp.Column, text: Text) -> str | None:
    """What to write instead of an alias of the query's own list; None if it is none."""
    query = column.find_ancestor(nodes.Query)
    for item in query.expressions if query is not None else ():
        if not isinstance(item, exp.Alias) or item.args["alias"].this != column.this.this:
            continue
        span = text.span(item.this)
        if span is None or any(node is column for node in item.walk()):
            return None
        meant = text.sql[span.start : span.end]
        calls = (text.functions.functions.get(call.this.upper()) for call in item.this.find_all(exp.Anonymous))
        if not any(isinstance(f, Aggregate) for f in calls) or column.find_ancestor(exp.Having):
            return f"write {meant} instead"
        return f"conditions on {meant} stand in HAVING, behind GROUP BY" if column.find_ancestor(exp.Where) else None
    return None
