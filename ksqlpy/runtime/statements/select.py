"""SELECT, and what else the engine does not run as a statement: PRINT, connectors."""

from __future__ import annotations

from typing import NoReturn

from ksqlpy.access import Need, Right
from ksqlpy.analysis import Text, analyze_query
from ksqlpy.analysis.pull import WAIT, PullRead, analyze_pull, as_stream
from ksqlpy.analysis.result import TypedQuery
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.errors import EngineProblem, StatementError
from ksqlpy.plan import Plan, build_plan
from ksqlpy.reading.pull import used_by
from ksqlpy.runtime.context import Sandbox
from ksqlpy.runtime.functionuse import check_keys
from ksqlpy.runtime.internal import check_read
from ksqlpy.runtime.statements.entry import Statement, Table, free
from ksqlpy.spark.check import check_plan
from ksqlpy.sql import Parsed, nodes

__all__ = ["STATEMENTS", "check_lookup", "check_pull", "check_push", "refuse_connectors"]


def check_push(parsed: Parsed, sandbox: Sandbox) -> tuple[TypedQuery, Plan]:
    """SELECT … EMIT CHANGES, typed and planned; raises KsqlError."""
    catalog = sandbox.visible
    text = Text.of(parsed.sql, catalog)
    typed = analyze_query(parsed.node, catalog, text, persistent=False, config=sandbox.config)
    sandbox.ask(_selected(parsed, typed, sandbox), parsed)
    plan = build_plan(typed)
    check_keys(plan, parsed)
    check_plan(plan)
    check_read(plan, sandbox.config, parsed)
    return typed, plan


def check_pull(parsed: Parsed, sandbox: Sandbox) -> tuple[PullRead, Plan]:
    """SELECT without EMIT, typed, with the plan that makes its rows of records; raises KsqlError."""
    catalog, config = sandbox.visible, sandbox.config
    read = analyze_pull(parsed.node, catalog, Text.of(parsed.sql, catalog), config)
    sandbox.ask(_selected(parsed, read.typed, sandbox), parsed)
    return _planned(read, config, parsed)


def _planned(read: PullRead, config: Config, parsed: Parsed) -> tuple[PullRead, Plan]:
    plan = build_plan(read.typed if read.access == "HISTORY" else as_stream(read).typed)
    check_plan(plan)
    check_read(plan, config, parsed)
    return read, plan


def check_lookup(parsed: Parsed, catalog: Catalog, config: Config) -> tuple[PullRead, set[str]]:
    """A pull query that waits for nothing, and the columns that it needs; raises KsqlError.

    Who asks does not matter: what was found is for all, and each is asked for the right when rows are given out.
    """
    if not isinstance(parsed.node, nodes.Query) or parsed.node.args.get("emit") is not None:
        raise EngineProblem("not-a-query", "not a pull query")
    if config.number(WAIT):
        raise EngineProblem("not-a-query", "a pull query that waits")
    read = analyze_pull(parsed.node, catalog, Text.of(parsed.sql, catalog), config)
    return _planned(read, config, parsed)[0], used_by(read)


def _selected(parsed: Parsed, typed: TypedQuery, sandbox: Sandbox) -> list[Need]:
    return Need.on(Right.SELECT, *(s.name for s in typed.sources))


def refuse_connectors(parsed: Parsed, sandbox: Sandbox) -> NoReturn:
    """Raises AnalysisProblem ``unsupported-statement``."""
    Text(parsed.sql).refuse(
        "unsupported-statement",
        "connectors are not run by ksqlpy",
        parsed.node,
        hint="run Kafka Connect beside it, which has a REST API of its own; CREATE STREAM and CREATE TABLE read the"
        " topics of its connectors",
    )


def _refuse_query(parsed: Parsed, sandbox: Sandbox) -> NoReturn:
    raise StatementError(
        "query-not-here",
        f"{'PRINT gives lines' if isinstance(parsed.node, nodes.Print) else 'a SELECT gives rows'} and is sent to"
        " /query-stream",
        span=Text(parsed.sql).span(parsed.node),
        sql=parsed.sql,
        error_code=40002,
    )


STATEMENTS: Table = {
    nodes.CreateConnector: Statement[None](
        "CREATE CONNECTOR", refuse_connectors, defines=True, migrates=True, needs=free
    ),
    nodes.DropConnector: Statement[None]("DROP CONNECTOR", refuse_connectors, migrates=True, needs=free),
    nodes.DescribeConnector: Statement[None]("DESCRIBE CONNECTOR", refuse_connectors, needs=free),
    nodes.Query: Statement[TypedQuery]("SELECT", _refuse_query, needs=_selected),
    nodes.UnionAll: Statement[TypedQuery]("SELECT", _refuse_query, needs=_selected),
    nodes.Print: Statement[None]("PRINT", _refuse_query, needs=free),
}
