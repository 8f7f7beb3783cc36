"""ASSERT [NOT EXISTS] TOPIC and SCHEMA: wait until something is there as it is wanted, or gone.

Source of the rules: ksqlDB's statements of these names. What does not come true in time fails with error code 41700.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ksqlpy.access import Need, Thing
from ksqlpy.analysis import Text
from ksqlpy.errors import EngineProblem
from ksqlpy.registry import SchemaRegistry
from ksqlpy.runtime import entities
from ksqlpy.runtime.context import Context, Sandbox
from ksqlpy.runtime.entities import Entity
from ksqlpy.runtime.patience import check_timeout, wait_until
from ksqlpy.runtime.statements.entry import Statement, Table, free
from ksqlpy.sql import Parsed, nodes

__all__ = ["STATEMENTS"]

TOPIC_SECONDS, SCHEMA_SECONDS = 0.1, 0.2
"""Between two looks."""


def _wait(
    parsed: Parsed, context: Context, problem: Callable[[], str | None], what: str, every: float, place: exp.Expr
) -> None:
    """Lets other requests in meanwhile. Raises EngineProblem ``assertion-failed``, error code 41700."""
    timeout = parsed.node.args.get("timeout")
    millis = timeout.millis if timeout is not None else context.config.number(f"ksql.assert.{what}.default.timeout.ms")
    with context.catalog_service.lock.given_up():
        left = wait_until(problem, millis, every)
    if left is not None:
        span = Text(parsed.sql).span(place)
        raise EngineProblem("assertion-failed", left, span=span, sql=parsed.sql, error_code=41700)


def _check_timeout(parsed: Parsed, sandbox: Sandbox) -> None:
    check_timeout(parsed.node.args.get("timeout"), Text(parsed.sql))


# ---------------------------------------------------------------- TOPIC


def _check_topic(parsed: Parsed, sandbox: Sandbox) -> dict[str, int]:
    """The numbers in WITH: ``PARTITIONS`` and ``REPLICAS``; raises AnalysisProblem for other properties."""
    text, found = Text(parsed.sql), {}
    for p in parsed.node.args.get("properties") or []:
        name, value = p.this.name.upper(), p.args["value"]
        if name not in ("PARTITIONS", "REPLICAS"):
            text.refuse("unknown-property", f"ASSERT TOPIC takes PARTITIONS and REPLICAS, not {name}", p.this)
        if not (value.name.isdigit() and int(value.name) > 0 and not value.args.get("is_string")):
            text.refuse("invalid-property", f"property {name} takes a whole number above 0", value)
        found[name] = int(value.name)
    _check_timeout(parsed, sandbox)
    return found


def _assert_topic(parsed: Parsed, wanted: dict[str, int], context: Context) -> Entity:
    node = parsed.node
    topic, absent = node.this.name, bool(node.args.get("absent"))

    def problem() -> str | None:
        return _topic_problem(context.brokers.kafka.topics().get(topic), topic, absent, wanted)

    _wait(parsed, context, problem, "topic", TOPIC_SECONDS, node.this)
    return entities.entity("assert_topic", parsed.text, topicName=topic, exists=not absent)


def _topic_problem(replicas: list[int] | None, topic: str, absent: bool, wanted: dict[str, int]) -> str | None:
    if absent:
        return f"topic {topic} exists" if replicas is not None else None
    if replicas is None:
        return f"topic {topic} does not exist"
    have = {"PARTITIONS": len(replicas), "REPLICAS": replicas[0] if replicas else 0}
    wrong = [f"{have[n]} {n.lower()}, not {count}" for n, count in wanted.items() if have[n] != count]
    return f"topic {topic} has {' and '.join(wrong)}" if wrong else None


# ---------------------------------------------------------------- SCHEMA


def _assert_schema(parsed: Parsed, found: None, context: Context) -> Entity:
    """Waits until the schema registry has a subject or a schema, or has it no more.

    Raises EngineProblem ``assertion-failed``, and ``no-registry``.
    """
    node, text = parsed.node, Text(parsed.sql)
    absent, named, numbered = bool(node.args.get("absent")), node.args.get("subject"), node.args.get("id")
    subject = named.name if named is not None else None
    number = int(numbered.name) if numbered is not None else None
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

    def problem() -> str | None:
        return _schema_problem(registry, subject, number, absent)

    _wait(parsed, context, problem, "schema", SCHEMA_SECONDS, named or numbered or node)
    return entities.entity("assert_schema", parsed.text, subject=subject, id=number, exists=not absent)


def _schema_problem(registry: SchemaRegistry, subject: str | None, number: int | None, absent: bool) -> str | None:
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


# ---------------------------------------------------------------- rights


def _topic_first(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    """Any right on the topic: the answer tells whether it is there."""
    return [Need(None, Thing.topic(parsed.node.this.name))]


def _schema_first(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    """Any right on the topic whose keys or values the subject is of; an id alone tells of none."""
    named = parsed.node.args.get("subject")
    topic = named.name.removesuffix("-value").removesuffix("-key") if named is not None else None
    return [] if topic is None else [Need(None, Thing.topic(topic))]


STATEMENTS: Table = {
    nodes.AssertTopic: Statement[dict[str, int]](
        "ASSERT TOPIC", _check_topic, _assert_topic, migrates=True, needs=free, first=_topic_first
    ),
    nodes.AssertSchema: Statement[None](
        "ASSERT SCHEMA", _check_timeout, _assert_schema, migrates=True, needs=free, first=_schema_first
    ),
}
