"""What a person is told whose query gives no rows: where it began, and how to see what is there already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ksqlpy.errors import KsqlError

if TYPE_CHECKING:
    from ksqlpy.client import Client, Connection

__all__ = ["SILENCE", "where_it_began"]

SILENCE = 3.0
"""Seconds without a row."""

PATIENCE = 5.0
"""Seconds in which the server must say where queries begin."""

RESET = "auto.offset.reset"


def where_it_began(server: str | Connection, sql: str, properties: Mapping[str, str]) -> str | None:
    """The note; None where the server does not tell."""
    from ksqlpy.client import Client

    try:
        with Client(server, PATIENCE) as client:
            sources = _sources(sql)
            latest = _reset(client, properties, sources) == "latest"
    except (KsqlError, LookupError, TypeError):
        return None
    if latest:
        return f"no rows yet: the query began behind the records that are there; SET '{RESET}'='earliest'; shows them"
    named = f": SELECT * FROM {sources[0]} EMIT CHANGES; shows whether there is any" if sources else ""
    return f"no rows yet: the query began at the earliest record, and none has passed{named}"


def _sources(sql: str) -> list[str]:
    """The names that the query reads, as they are written."""
    from sqlglot import exp

    from ksqlpy.sql import parse

    tables = [table for parsed in parse(sql) for table in parsed.node.find_all(exp.Table)]
    return list(dict.fromkeys(f"`{t.this.this}`" if t.this.args.get("quoted") else str(t.this.this) for t in tables))


def _reset(client: Client, properties: Mapping[str, str], sources: list[str]) -> str:
    """Where the query began; a table is read from its start unless somebody has set it."""
    own = {name.removeprefix("ksql.streams."): value for name, value in properties.items()}
    if RESET in own:
        return own[RESET]
    [entity] = client.statements("SHOW PROPERTIES;")
    [value] = [p["value"] for p in entity["properties"] if p["name"].removeprefix("ksql.streams.") == RESET]
    if RESET in entity.get("defaultProperties", ()):
        described = [client.statements(f"DESCRIBE {name};")[0]["sourceDescription"] for name in sources]
        if all(d["type"] == "TABLE" for d in described):
            return "earliest"
    return str(value)
