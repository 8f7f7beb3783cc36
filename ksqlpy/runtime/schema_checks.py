"""ASSERT [NOT EXISTS] SCHEMA: waits until the schema registry has a subject or a schema, or has it no more.

Source of the rules: ksqlDB's ASSERT SCHEMA: what does not come true in time fails with error code 41700.
"""

from __future__ import annotations

from ksqlpy.analysis import Text
from ksqlpy.errors import EngineProblem
from ksqlpy.registry import SchemaRegistry
from ksqlpy.runtime.context import Context, Entity, Sandbox
from ksqlpy.runtime.patience import check_timeout, wait_until
from ksqlpy.sql import Parsed, nodes

__all__ = ["assert_schema", "check_assert_schema"]

POLL_SECONDS = 0.2


def check_assert_schema(parsed: Parsed, sandbox: Sandbox) -> None:
    """Refuses a TIMEOUT that is too long, else nothing: a subject may have any name, an id may be any number."""
    check_timeout(parsed.node.args.get("timeout"), Text(parsed.sql))


def assert_schema(parsed: Parsed, context: Context) -> Entity:
    """Waits, and lets other requests in meanwhile.

    Raises EngineProblem ``assertion-failed``, error code 41700, and ``no-registry``.
    """
    node, text = parsed.node, Text(parsed.sql)
    assert isinstance(node, nodes.AssertSchema)
    absent, timeout = bool(node.args.get("absent")), node.args.get("timeout")
    subject = node.args["subject"].name if node.args.get("subject") is not None else None
    number = int(node.args["id"].name) if node.args.get("id") is not None else None
    registry = context.config.registry()
    if registry is None:
        raise EngineProblem(
            "no-registry",
            "ASSERT SCHEMA asks a schema registry, and there is none",
            hint="the property ksql.schema.registry.url names one",
            span=text.span(node),
            sql=text.sql,
            error_code=40001,
        )
    patience = timeout.millis if timeout is not None else context.config.number("ksql.assert.schema.default.timeout.ms")
    with context.catalog_service.turn.given_up():
        left = wait_until(lambda: _problem(registry, subject, number, absent), patience, POLL_SECONDS)
    if left is not None:
        at = node.args.get("subject") or node.args.get("id") or node
        raise EngineProblem("assertion-failed", left, span=text.span(at), sql=parsed.sql, error_code=41700)
    return {
        "@type": "assert_schema",
        "statementText": parsed.text,
        "subject": subject,
        "id": number,
        "exists": not absent,
        "warnings": [],
    }


def _problem(registry: SchemaRegistry, subject: str | None, number: int | None, absent: bool) -> str | None:
    if number is None:
        assert subject is not None  # the grammar wants one of them
        there, what = registry.latest(subject) is not None, f"subject {subject}"
    elif subject is None:
        there, what = registry.schema(number) is not None, f"schema {number}"
    else:
        there, what = subject in registry.subjects(number), f"schema {number} of subject {subject}"
    if there == absent:
        return f"{what} {'exists' if absent else 'does not exist'}"
    return None
