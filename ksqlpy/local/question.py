"""One question: what is asked, how it is to be answered, and where the rows of its sources are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ksqlpy.analysis import Text, TypedQuery, analyze_query
from ksqlpy.catalog import Column, Source
from ksqlpy.errors import AnalysisProblem, ConfigProblem, similar_names
from ksqlpy.local.inference import Inferred
from ksqlpy.local.sources import Declared, no_server
from ksqlpy.plan import Plan, build_plan

__all__ = ["Question", "Wanted", "files_of", "read_question"]


@dataclass(frozen=True)
class Question:
    """A query that is legal, with its plan.

    ``emit``: EMIT CHANGES says that every change is wanted; ``inferred``: the streams that were made for files.
    """

    typed: TypedQuery
    plan: Plan
    sql: str
    emit: bool = False
    inferred: Mapping[str, Inferred] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The result's columns, in the order in which they are selected."""
        return tuple(Column(o.name, o.expr.type) for o in self.typed.outputs)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources that it reads."""
        return tuple({r.source.name: r.source for r in self.plan.relations}.values())


def read_question(declared: Declared) -> Question:
    """The SELECT of the statements; raises AnalysisProblem, also where there is none (``no-query``)."""
    if declared.query is None:
        raise AnalysisProblem("no-query", "there is no SELECT among the statements")
    parsed = declared.query
    text = Text.of(parsed.sql, declared.catalog)
    with no_server("declare it with -f FILE.sql or -e, or name a file with its rows: --input NAME=FILE"):
        typed = analyze_query(parsed.node, declared.catalog, text, persistent=False, config=declared.config)
    if typed.order:
        order = parsed.node.args["order"]
        text.refuse("unsupported-clause", "ORDER BY is not possible here", order, hint="sort the rows that come out")
    emit = parsed.node.args.get("emit") is not None
    return Question(typed, build_plan(typed), parsed.sql, emit, declared.inferred)


@dataclass(frozen=True)
class Wanted:
    """How the question is to be answered.

    ``changes``: every change of a table; ``follow``: goes on with what comes; ``latest``: without what is there, save
    tables; ``limit``: rows at most; ``timeout``: seconds at most. ``since``, ``until``: times in ms since 1970, by the
    timestamps of records: of streams, records from the one on, of all sources records before the other.
    """

    changes: bool = False
    follow: bool = False
    latest: bool = False
    limit: int | None = None
    timeout: float | None = None
    since: int | None = None
    until: int | None = None

    @property
    def cut(self) -> bool:
        """Whether the times of records decide."""
        return self.since is not None or self.until is not None


def files_of(question: Question, files: Mapping[str, Path]) -> dict[str, Path]:
    """The files by the names that their sources have; raises ConfigProblem ``unknown-input``, ``windowed-source``."""
    sources = {s.name: s for s in question.sources}
    found: dict[str, Path] = {}
    for given, file in files.items():
        name = given if given in sources else given.upper()
        if name not in sources:
            raise ConfigProblem(
                "unknown-input",
                f"the query reads no source called {given}",
                similar=similar_names(given, sources),
                hint=f"it reads {', '.join(sources)}",
            )
        if sources[name].window is not None:
            raise ConfigProblem("windowed-source", f"{name} has a windowed key, its rows cannot be read from a file")
        found[name] = file
    return found
