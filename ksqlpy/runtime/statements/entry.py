"""What the engine, projects and people need to know of a kind of statement, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, TypeVar

from sqlglot import exp

from ksqlpy.access import Need
from ksqlpy.catalog import Catalog
from ksqlpy.errors import StatementError
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.sql import Parsed

__all__ = ["Checked", "Effect", "Nothing", "Statement", "Table", "free", "legal"]

F = TypeVar("F")
"""What the check of a statement has found."""


class Effect(Enum):
    """What a statement is for. CATALOG changes what exists, one at a time; SHOWS only tells what there is."""

    CATALOG = "catalog"
    SHOWS = "shows"
    SESSION = "session"
    OTHER = "other"


@dataclass(frozen=True)
class Nothing:
    """Found where nothing is to be done, as with IF NOT EXISTS; ``why``: the answer."""

    why: str


@dataclass(frozen=True)
class Statement(Generic[F]):
    """How a kind of statement is checked and run.

    ``name``: what lists for people call it. ``check``: what it means; touches nothing, changes the sandbox as the
    statement would change the catalog, and raises KsqlError. ``run``: does what was found, and returns the entity if it
    has one; None: the engine does not run it. ``defines``: it says what there shall be, as the files of a project do;
    ``migrates``: it may stand in a migration. ``starts``: it may start a query, for which Spark must be there.
    ``reads``: the sources by which it was checked; what was found holds as long as these stay. Without it, it holds as
    long as the whole catalog does. ``needs``: the rights that it needs, by what was found, in the sandbox as it was
    ahead of the check; ``first``: those that are known by its text, and asked ahead of the check.
    """

    name: str
    check: Callable[[Parsed, Sandbox], F | Nothing]
    run: Callable[[Parsed, F, Context], Entity | None] | None = None
    effect: Effect = Effect.OTHER
    defines: bool = False
    migrates: bool = False
    starts: bool = field(default=False, kw_only=True)
    reads: Callable[[F], Iterable[str] | None] | None = None
    needs: Callable[[Parsed, F, Sandbox], Iterable[Need]] = field(kw_only=True)
    first: Callable[[Parsed, Sandbox], Iterable[Need]] | None = field(default=None, kw_only=True)

    def found(self, parsed: Parsed, sandbox: Sandbox) -> F | Nothing:
        """What the check finds; refuses what cannot be done, and what may not be. Raises KsqlError."""
        if self.first is not None:
            sandbox.ask(self.first(parsed, sandbox), parsed)
        before = replace(sandbox)
        try:
            found = self.check(parsed, sandbox)
        except StatementError as e:
            if e.code == "missing-topic":  # it may mean a topic that the principal does not see
                e.similar = tuple(filter(sandbox.sees_topic, e.similar))
            raise
        if not isinstance(found, Nothing):
            before.ask(self.needs(parsed, found, before), parsed)
        return found


Table = Mapping[type[exp.Expr], Statement[Any]]
"""Nodes of a family of statements, each with its entry."""


@dataclass(frozen=True)
class Checked(Generic[F]):
    """A statement that is legal, with what was found; ``catalog``: what existed for its check."""

    parsed: Parsed
    statement: Statement[F]
    found: F | Nothing
    catalog: Catalog

    def holds_in(self, catalog: Catalog) -> bool:
        """Whether the statement still means that.

        It does not where an earlier one of the request made a source that it reads: an id is known only then.
        """
        if catalog is self.catalog:
            return True
        reads = self.statement.reads
        names = None if reads is None or isinstance(self.found, Nothing) else reads(self.found)
        return (
            names is not None
            and catalog.types == self.catalog.types
            and catalog.functions == self.catalog.functions
            and all(catalog.sources.get(n) == self.catalog.sources.get(n) for n in names)
        )

    def run(self, context: Context) -> Entity | None:
        """Does the statement; returns its entity if it has one. Raises KsqlError."""
        if isinstance(self.found, Nothing):
            return entities.warning(self.parsed.text, self.found.why)
        assert self.statement.run is not None  # else its check has refused it
        return self.statement.run(self.parsed, self.found, context)


def legal(parsed: Parsed, sandbox: Sandbox) -> None:
    """The check of a statement that is always legal."""


def free(parsed: Parsed, found: object, sandbox: Sandbox) -> tuple[Need, ...]:
    """What a statement needs that shows no more than one may see anyhow, or that is never run: no right."""
    return ()
