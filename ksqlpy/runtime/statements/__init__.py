"""What each kind of statement is and does, one entry a kind: :class:`.entry.Statement`.

A check works on a sandbox, a copy of the catalog that statements of one request change in turn, and touches nothing.
What it finds is what is run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from sqlglot import exp

from ksqlpy.analysis import Text
from ksqlpy.runtime.context import Sandbox
from ksqlpy.runtime.statements import (
    asserts,
    control,
    create,
    describe,
    drop,
    explain,
    functions,
    grant,
    insert,
    rewind,
    select,
    session,
    show,
    system,
)
from ksqlpy.runtime.statements.entry import Checked, Effect, Statement, free
from ksqlpy.sql import Parsed, nodes, to_sql
from ksqlpy.tracing import span

__all__ = ["STATEMENTS", "Checked", "Effect", "Statement", "check", "may_sample", "names", "statement_of"]

STATEMENTS: dict[type[exp.Expr], Statement[Any]] = {
    **create.STATEMENTS,
    **insert.STATEMENTS,
    **drop.STATEMENTS,
    **control.STATEMENTS,
    **rewind.STATEMENTS,
    **show.STATEMENTS,
    **describe.STATEMENTS,
    **explain.STATEMENTS,
    **asserts.STATEMENTS,
    **session.STATEMENTS,
    **system.STATEMENTS,
    **grant.STATEMENTS,
    **functions.STATEMENTS,
    **select.STATEMENTS,
}


def names(which: Callable[[Statement[Any]], bool] = lambda statement: True) -> list[str]:
    """The names of statements that are run, for lists for people."""
    return list(dict.fromkeys(s.name for s in STATEMENTS.values() if s.run is not None and which(s)))


def _refuse(parsed: Parsed, sandbox: Sandbox) -> NoReturn:
    name = " ".join(to_sql(parsed.node).split()[:2])
    hint = f"it runs {', '.join(names())} and SELECT"
    Text(parsed.sql).refuse("unsupported-statement", f"{name} is not run by ksqlpy", parsed.node, hint=hint)


_UNKNOWN: Statement[Any] = Statement("", _refuse, needs=free)


def statement_of(node: exp.Expr) -> Statement[Any]:
    """The entry of a statement's kind; one that refuses it where there is none."""
    return STATEMENTS.get(type(node), _UNKNOWN)


def check(parsed: Parsed, sandbox: Sandbox) -> Checked[Any]:
    """The statement with what it has been found to mean; refuses what cannot or may not be done. Raises KsqlError."""
    statement, catalog = statement_of(parsed.node), sandbox.catalog
    with span("analyse", {"ksqlpy.statement": statement.name}):
        return Checked(parsed, statement, statement.found(parsed, sandbox), catalog)


def may_sample(parsed: Parsed) -> bool:
    """Whether the statement leaves out what may be inferred from records of its topic."""
    node = parsed.node
    if not isinstance(node, nodes.CreateSource) or node.args.get("query") is not None:
        return False
    named = {p.this.name.upper() for p in node.args.get("properties") or ()}
    return not node.args.get("columns") or not named & {"FORMAT", "VALUE_FORMAT"}
