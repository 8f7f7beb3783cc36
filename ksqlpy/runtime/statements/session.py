"""SET, UNSET, DEFINE and UNDEFINE: what holds for the statements behind them."""

from __future__ import annotations

from ksqlpy.analysis import Text
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.statements.entry import Effect, Statement, Table, free, legal
from ksqlpy.sql import Parsed, nodes

__all__ = ["STATEMENTS"]


def _check_set(parsed: Parsed, sandbox: Sandbox) -> None:
    try:
        sandbox.engine.config.for_statement({parsed.node.this.this: parsed.node.expression.this})
    except KsqlError as e:
        e.span, e.sql = Text(parsed.sql).span(parsed.node), parsed.sql
        raise
    _set(parsed, None, sandbox)


def _set(parsed: Parsed, found: None, context: Context | Sandbox) -> None:
    context.overrides[parsed.node.this.this] = parsed.node.expression.this


def _check_unset(parsed: Parsed, sandbox: Sandbox) -> None:
    _unset(parsed, None, sandbox)


def _unset(parsed: Parsed, found: None, context: Context | Sandbox) -> None:
    context.overrides.pop(parsed.node.this.this, None)


def _define(parsed: Parsed, found: None, context: Context) -> None:
    # References of this text were replaced when it was parsed; this is for SHOW VARIABLES.
    context.variables[parsed.node.this.this] = parsed.node.expression.this


def _undefine(parsed: Parsed, found: None, context: Context) -> None:
    for name in [n for n in context.variables if n.upper() == parsed.node.this.this.upper()]:
        del context.variables[name]


STATEMENTS: Table = {
    nodes.SetProperty: Statement[None]("SET", _check_set, _set, Effect.SESSION, needs=free),
    nodes.UnsetProperty: Statement[None]("UNSET", _check_unset, _unset, Effect.SESSION, needs=free),
    nodes.Define: Statement[None]("DEFINE", legal, _define, Effect.SESSION, needs=free),
    nodes.Undefine: Statement[None]("UNDEFINE", legal, _undefine, Effect.SESSION, needs=free),
}
