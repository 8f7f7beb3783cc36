"""What the engine's own check of statements needs where there is no engine and no Kafka.

Of topics nothing is known, so what a statement wants of them is assumed: an existing topic exists, with any number of
partitions, and what two statements say of one topic must agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ksqlpy.analysis import TopicSpec
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.plan import Plan
from ksqlpy.runtime.context import OpenPush, Sandbox
from ksqlpy.runtime.pythonfunctions import settings_of
from ksqlpy.runtime.statements import check
from ksqlpy.runtime.statements.functions import ENABLED
from ksqlpy.runtime.statements.select import check_push
from ksqlpy.runtime.topic_requirements import check_requirement
from ksqlpy.sql import Parsed, nodes
from ksqlpy.udfs.pool import Workers

__all__ = ["AssumedTopics", "Offline", "check_statement"]


class AssumedTopics:
    """Topics that are as statements want them; ``known``: the partitions of some."""

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self._said = dict(known or {})

    def check(self, spec: TopicSpec, promised: Mapping[str, int], *, declared: bool) -> int | None:
        """As :meth:`ksqlpy.runtime.topics.Topics.check`, of what statements have said so far."""
        have = check_requirement(spec, self._said, declared=False)
        if spec.partitions is not None:
            self._said[spec.name] = spec.partitions
        return have

    def exists(self, topic: str) -> bool:
        """Whether a statement has spoken of it."""
        return topic in self._said

    def partitions(self, topics: Iterable[str]) -> dict[str, int]:
        """One for each."""
        return dict.fromkeys(topics, 1)


class Offline:
    """Stands in for the engine; ``config``: the properties of the server, the defaults if none are given.

    Functions in Python may be made, whatever the server says: it is asked before anything is done. ``python``: what
    runs them, else workers of its own.
    """

    def __init__(self, config: Config | None = None, python: Workers | None = None) -> None:
        given = config or Config.of({})
        self.config = replace(given, values={**given.values, ENABLED: "true"})
        self.topics = AssumedTopics()
        self.open_push_queries: tuple[OpenPush, ...] = ()
        self.python = python or Workers(settings_of(self.config))

    def plan_of(self, query_id: str) -> Plan:
        """There is none that a sandbox does not know itself."""
        raise KeyError(query_id)

    def sandbox(self, properties: Mapping[str, object] | None = None) -> Sandbox:
        """A sandbox over an empty catalog."""
        return Sandbox(self, Catalog(), dict(properties or {}))


def check_statement(parsed: Parsed, sandbox: Sandbox, properties: Mapping[str, object]) -> None:
    """Checks a statement as a server would, with these properties of its session; raises KsqlError."""
    sandbox.overrides = dict(properties)
    if isinstance(parsed.node, nodes.RunScript):
        return  # the client reads the file, not the server
    if isinstance(parsed.node, nodes.Query | nodes.UnionAll):
        check_push(parsed, sandbox)
    else:
        check(parsed, sandbox)
