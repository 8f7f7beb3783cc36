"""What a service has, as statements: for people, who read them or create it all somewhere else."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from ksqlpy.access.grants import Grant
from ksqlpy.catalog import Catalog, PersistentQuery
from ksqlpy.sql import to_sql
from ksqlpy.sql.cursor import needs_quotes
from ksqlpy.udfs.statement import create_statement

__all__ = ["definitions"]

_HEAD = """\
-- The definitions of the service {service}, up to entry {end} of its command log.
-- To be read, and to create them on another service. `ksqlpy restore` does not read this file.
"""


def definitions(catalog: Catalog, service: str, end: int) -> str:
    """Types, functions, streams and tables with queries, roles and grants, in an order in which they can be created."""
    return _HEAD.format(service=service, end=end - 1) + "".join(f"\n{text}\n" for text in _texts(catalog))


def _texts(catalog: Catalog) -> Iterator[str]:
    for name, type_ in catalog.types.items():
        yield f"CREATE TYPE {_name(name)} AS {type_};"
    for definition in catalog.functions.values():
        yield create_statement(definition)
    made = set()
    for source in catalog.sources.values():
        query = catalog.queries.get(source.query or "")
        made.add(source.query)
        facts = _comment(f"{source.kind.lower()} {source.name}, topic {source.topic}: {source.schema_text}")
        yield facts + (_of(query) if query is not None else "") + _ended(source.statement)
    for query in catalog.queries.values():
        if query.id not in made and query.statement:
            yield _of(query) + _ended(query.statement)
    for role, grants in catalog.grants.roles.items():
        yield "\n".join([f"CREATE ROLE {_name(role)};", *(_grant(role, g) for g in grants)])


def _of(query: PersistentQuery) -> str:
    """Comments about a query."""
    text = f"query {query.id}{', paused' if query.paused else ''}"
    if query.owner is not None:
        text += f", of {query.owner.name}"
    if query.properties:
        text += "; " + ", ".join(f"'{k}' = '{v}'" for k, v in sorted(query.properties.items()))
    return _comment(text)


def _comment(text: str) -> str:
    """A line of its own, whatever is in it: a name may hold the end of a line."""
    return f"-- {' '.join(text.split())}\n"


def _grant(role: str, grant: Grant) -> str:
    rights = ", ".join(sorted(r.value for r in grant.rights))
    on = _name(grant.on.name) if grant.on.kind == "SOURCE" and grant.on.name is not None else str(grant.on)
    return f"GRANT {rights} ON {on} TO {_name(role)};"


def _name(name: str) -> str:
    return to_sql(exp.Identifier(this=name, quoted=needs_quotes(name)))


def _ended(statement: str) -> str:
    text = statement.strip()
    return text if text.endswith(";") else f"{text};"
