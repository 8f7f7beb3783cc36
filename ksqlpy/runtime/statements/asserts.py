"""ASSERT [NOT EXISTS] TOPIC: waits until a topic is there as it is wanted, or gone.

Source of the rules: ksqlDB's ASSERT TOPIC: what does not come true in time fails with error code 41700.
"""

from __future__ import annotations

from ksqlpy.analysis import Text
from ksqlpy.errors import EngineProblem
from ksqlpy.runtime.context import Context, Entity, Sandbox
from ksqlpy.runtime.patience import check_timeout, wait_until
from ksqlpy.sql import Parsed, nodes

__all__ = ["assert_topic", "check_assert_topic"]

POLL_SECONDS = 0.1


def _wanted(parsed: Parsed) -> dict[str, int]:
    """The numbers in WITH: ``PARTITIONS`` and ``REPLICAS``."""
    text, found = Text(parsed.sql), {}
    for p in parsed.node.args.get("properties") or []:
        name, value = p.this.name.upper(), p.args["value"]
        if name not in ("PARTITIONS", "REPLICAS"):
            text.refuse("unknown-property", f"ASSERT TOPIC takes PARTITIONS and REPLICAS, not {name}", p.this)
        if not (value.name.isdigit() and int(value.name) > 0 and not value.args.get("is_string")):
            text.refuse("invalid-property", f"property {name} takes a whole number above 0", value)
        found[name] = int(value.name)
    return found


def check_assert_topic(parsed: Parsed, sandbox: Sandbox) -> None:
    """Refuses other properties, and a TIMEOUT that is too long; raises AnalysisProblem."""
    _wanted(parsed)
    check_timeout(parsed.node.args.get("timeout"), Text(parsed.sql))


def assert_topic(parsed: Parsed, context: Context) -> Entity:
    """Waits, and lets other requests in meanwhile. Raises EngineProblem ``assertion-failed``, error code 41700."""
    node = parsed.node
    assert isinstance(node, nodes.AssertTopic)
    topic, absent, wanted = node.this.name, bool(node.args.get("absent")), _wanted(parsed)
    timeout = node.args.get("timeout")
    patience = timeout.millis if timeout is not None else context.config.number("ksql.assert.topic.default.timeout.ms")

    def problem() -> str | None:
        return _problem(context.brokers.kafka.topics().get(topic), topic, absent, wanted)

    with context.catalog_service.turn.given_up():
        left = wait_until(problem, patience, POLL_SECONDS)
    if left is not None:
        span = Text(parsed.sql).span(node.this)
        raise EngineProblem("assertion-failed", left, span=span, sql=parsed.sql, error_code=41700)
    return {
        "@type": "assert_topic",
        "statementText": parsed.text,
        "topicName": topic,
        "exists": not absent,
        "warnings": [],
    }


def _problem(replicas: list[int] | None, topic: str, absent: bool, wanted: dict[str, int]) -> str | None:
    if absent:
        return f"topic {topic} exists" if replicas is not None else None
    if replicas is None:
        return f"topic {topic} does not exist"
    have = {"PARTITIONS": len(replicas), "REPLICAS": replicas[0] if replicas else 0}
    wrong = [f"{have[n]} {n.lower()}, not {count}" for n, count in wanted.items() if have[n] != count]
    return f"topic {topic} has {' and '.join(wrong)}" if wrong else None
