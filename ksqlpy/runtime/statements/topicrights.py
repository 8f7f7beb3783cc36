"""Which rights on topics a statement needs beside those on its streams and tables.

A right on a stream is none on its topic, whose records hold more than its columns. But who may create and drop a stream
may make and delete the topic of its name.
"""

from __future__ import annotations

from ksqlpy.access import Need, Right, Thing
from ksqlpy.config import Config
from ksqlpy.runtime.context import Sandbox
from ksqlpy.sql import Parsed

__all__ = ["created_topic", "is_namesake", "late_topic"]

PREFIX = "ksql.output.topic.name.prefix"


def is_namesake(topic: str, name: str, config: Config) -> bool:
    """Whether the topic has the name of the stream or table, in any case; ``config``: of the server."""
    return topic.upper() in (name.upper(), f"{config.get(PREFIX)}{name}".upper())


def created_topic(parsed: Parsed, sandbox: Sandbox) -> list[Need]:
    """What a CREATE needs on its topic, by its text: all reads and writes of its source reach that.

    Nothing for a topic of the source's own name that the statement will make.
    """
    node, name = parsed.node, parsed.node.this.this
    written = (p.args["value"].name for p in node.args.get("properties") or () if p.this.name.upper() == "KAFKA_TOPIC")
    topic = next(written, None)
    if topic is None:
        if node.args.get("query") is None:
            return []  # which its check refuses
        topic = sandbox.config.get(PREFIX) + name
    existing = sandbox.visible.sources.get(name)
    if existing is not None and existing.topic == topic:
        return []  # OR REPLACE, for which the right to alter it is enough
    if is_namesake(topic, name, sandbox.engine.config) and not sandbox.engine.topics.exists(topic):
        return []
    rights = [Right.SELECT] if node.args.get("source") else [Right.SELECT, Right.INSERT]
    return [Need(right, Thing.topic(topic)) for right in rights]


def late_topic(topic: str | None, sandbox: Sandbox) -> list[Need]:
    """What a query needs whose late records go to a topic that its session has named."""
    if topic is None or topic == sandbox.engine.config.get("ksql.late.records.topic"):
        return []
    return [Need(Right.INSERT, Thing.topic(topic))]
