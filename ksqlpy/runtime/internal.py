"""Internal topics: no statement declares them for writing, writes or deletes them; reading them needs a property.

Each statement is refused when it is checked. Queries of a command log that an earlier version wrote are refused when
they start (:func:`query_problem`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NoReturn

from sqlglot import exp

from ksqlpy.analysis import CreateAs, Declare, Text
from ksqlpy.catalog import Source
from ksqlpy.config import Config
from ksqlpy.errors import AnalysisProblem
from ksqlpy.plan import Plan
from ksqlpy.sql import Parsed
from ksqlpy.topicnames import dead_letters, is_internal

__all__ = ["check_declared", "check_deleted", "check_read", "check_written", "may_read", "query_problem", "unreadable"]

READ = "ksqlpy.internal.topics.read"
LETTERS = "ksqlpy.dead.letters.stream.auto.create"
_SOURCE_ONLY = "CREATE SOURCE declares a stream or table that is only read"
_SET = f"the server property {READ} = true allows it"


def check_declared(made: Declare | CreateAs, parsed: Parsed, config: Config) -> None:
    """Refuses a CREATE over an internal topic, save CREATE SOURCE where the property allows it."""
    source = made.source
    if not is_internal(source.topic):
        return
    written = parsed.node.args.get("properties") or []
    place = next((p.args["value"] for p in written if p.this.name.upper() == "KAFKA_TOPIC"), parsed.node.this)
    if isinstance(made, CreateAs):
        _refuse(f"topic {source.topic} is internal, a query cannot write it", parsed, place, "name another topic")
    if not may_read(source.topic, config):
        _refuse(f"topic {source.topic} is internal and cannot be read", parsed, place, f"{_SET}; {_SOURCE_ONLY}")
    if not source.read_only:
        _refuse(f"topic {source.topic} is internal and can only be read", parsed, place, _SOURCE_ONLY)


def check_read(plan: Plan, config: Config, parsed: Parsed) -> None:
    """Refuses a query that reads an internal topic, which an earlier version let somebody declare."""
    topic = _first_unreadable(plan, partial(may_read, config=config))
    if topic is not None:
        _refuse(f"topic {topic} is internal and cannot be read", parsed, parsed.node, _SET)


def check_written(source: Source, parsed: Parsed) -> None:
    """Refuses to write or alter a source over an internal topic."""
    if is_internal(source.topic):
        _refuse(f"topic {source.topic} of {source.name} is internal and can only be read", parsed, parsed.node.this)


def check_deleted(source: Source, parsed: Parsed) -> None:
    """Refuses to delete an internal topic."""
    if is_internal(source.topic):
        hint = "leave DELETE TOPIC out"
        _refuse(f"topic {source.topic} of {source.name} is internal and is not deleted", parsed, parsed.node.this, hint)


def query_problem(plan: Plan, sink: str | None, *, readable: Callable[[str], bool]) -> AnalysisProblem | None:
    """Why a query must not start; ``sink``: its topic, None for a push query. ``readable``: whether it may read a
    topic.
    """
    written = [t for t in (sink, plan.late_topic) if t is not None and is_internal(t)]
    if written:
        return AnalysisProblem("internal-topic", f"topic {written[0]} is internal, a query cannot write it")
    topic = _first_unreadable(plan, readable)
    return None if topic is None else unreadable(topic)


def _first_unreadable(plan: Plan, readable: Callable[[str], bool]) -> str | None:
    return next((t for t in plan.topics if not readable(t)), None)


def unreadable(topic: str) -> AnalysisProblem:
    """Why an internal topic is not read where the server does not allow it."""
    return AnalysisProblem("internal-topic", f"topic {topic} is internal and cannot be read", hint=_SET)


def may_read(topic: str, config: Config) -> bool:
    """Whether the server lets its users read a topic.

    All but internal ones; of these the dead letters, if a stream is declared over them.
    """
    if not is_internal(topic) or config.get(READ) == "true":
        return True
    return config.get(LETTERS) == "true" and topic == dead_letters(config.get("ksql.service.id"))


def _refuse(message: str, parsed: Parsed, place: exp.Expr, hint: str | None = None) -> NoReturn:
    Text(parsed.sql).refuse("internal-topic", message, place, hint=hint)
