"""ALTER SYSTEM: properties of the server that may change while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.analysis import Text
from ksqlpy.config import PROPERTIES
from ksqlpy.errors import ConfigProblem, KsqlError, shown, similar_names
from ksqlpy.logs import LEVELS
from ksqlpy.logs import parsed as levels_of
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.statements.entry import Statement, Table
from ksqlpy.sql import Parsed, nodes

__all__ = ["ALTERABLE", "STATEMENTS"]

ALTERABLE: Mapping[str, Callable[[str], None]] = MappingProxyType(
    {"ksqlpy.log.levels": lambda value: LEVELS.set(levels_of(value))}
)
"""Extension point: properties with what a new value sets off, until the server ends."""


def _check(parsed: Parsed, sandbox: Sandbox) -> tuple[str, str]:
    """Name and canonical value; raises ConfigProblem ``fixed-property``, ``unknown-property``, ``invalid-property``."""
    name, value = parsed.node.this.this, parsed.node.expression.this
    try:
        return name, _canonical(name, value)
    except KsqlError as e:
        e.span, e.sql = Text(parsed.sql).span(parsed.node), parsed.sql
        raise


def _canonical(name: str, value: str) -> str:
    if name in ALTERABLE:
        try:
            return PROPERTIES[name].check(value)
        except ValueError as e:
            raise ConfigProblem("invalid-property", f"property {name}: {shown(value)} {e}") from e
    if name in PROPERTIES:
        hint = f"ALTER SYSTEM changes {', '.join(ALTERABLE)}"
        raise ConfigProblem("fixed-property", f"{name} is not changed while the server runs", hint=hint)
    similar = similar_names(name, ALTERABLE)
    raise ConfigProblem("unknown-property", f"there is no property {shown(name)}", similar=similar)


def _needs(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    return [Need(Right.OPERATE, EVERYTHING)]


def _alter(parsed: Parsed, found: tuple[str, str], context: Context) -> None:
    name, value = found
    config = context.brokers.config
    context.brokers.config = replace(config, values={**config.values, name: value})
    ALTERABLE[name](value)


STATEMENTS: Table = {
    nodes.AlterSystem: Statement[tuple[str, str]](
        "ALTER SYSTEM", _check, _alter, needs=lambda parsed, found, sandbox: (), first=_needs
    )
}
