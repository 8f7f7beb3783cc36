"""One more statement, as someone would add it: ``FORGET TYPES;`` drops all types of CREATE TYPE."""

from __future__ import annotations

from typing import Any, ClassVar

from ksqlpy.access import Need, Right
from ksqlpy.analysis import Text
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.statements import Effect, Statement
from ksqlpy.sql import Parsed, nodes
from ksqlpy.sql.statements import Statements


class ForgetTypes(nodes.Statement):
    """FORGET TYPES."""

    arg_types: ClassVar[dict[str, bool]] = {}


def read(reader: Statements) -> ForgetTypes:
    reader.expect("TYPES")
    return ForgetTypes()


def printed(generator: Any, node: ForgetTypes) -> str:
    return "FORGET TYPES"


def check(parsed: Parsed, sandbox: Sandbox) -> list[str]:
    names = sorted(sandbox.catalog.types)
    if not names:
        Text(parsed.sql).refuse("unknown-type", "there are no types", parsed.node)
    for name in names:
        sandbox.catalog = sandbox.catalog.without_type(name)
    return names


def run(parsed: Parsed, names: list[str], context: Context) -> Entity:
    for name in names:
        sequence = context.catalog_service.make_type(name, None)
    return entities.status(parsed.text, "type/`ALL`/drop", f"{', '.join(names)} forgotten", sequence)


def needs(parsed: Parsed, names: list[str], sandbox: Sandbox) -> list[Need]:
    return Need.on(Right.DROP, *names)


ENTRY = Statement[list[str]]("FORGET", check, run, Effect.CATALOG, migrates=True, needs=needs)
