"""What statements mean where they do not say it, and what they may do."""

from __future__ import annotations

from ksqlpy.config.checks import format_name, integer, limit, one_of, prefix
from ksqlpy.config.property import Property

__all__ = ["STATEMENTS"]

STATEMENTS = (
    Property(
        "ksqlpy.internal.topics.read",
        "false",
        "Whether CREATE SOURCE may declare internal topics, such as the command log; nothing writes or deletes them.",
        one_of("true", "false"),
    ),
    Property(
        "ksql.persistence.default.format.key",
        "KAFKA",
        "Key format where a statement names none.",
        format_name,
        session=True,
    ),
    Property(
        "ksql.persistence.default.format.value",
        "",
        "Value format where a statement names none; empty: it is inferred from the topic.",
        lambda value: value and format_name(value),
        session=True,
    ),
    Property(
        "ksql.persistence.wrap.single.values",
        "",
        "Whether a single value column is written as a record if a statement does not say; empty: as its format does.",
        one_of("", "true", "false"),
        session=True,
    ),
    Property(
        "ksql.functions.collect_list.limit",
        "",
        "How many values COLLECT_LIST keeps of a group; empty: all.",
        limit,
        session=True,
    ),
    Property(
        "ksql.functions.collect_set.limit",
        "",
        "How many values COLLECT_SET keeps of a group; empty: all.",
        limit,
        session=True,
    ),
    Property(
        "ksqlpy.windows.per.record",
        "20000",
        "In how many windows of a HOPPING window a record may be; a statement with more is refused.",
        integer(1, 10_000_000),
    ),
    Property(
        "ksql.create.or.replace.enabled",
        "true",
        "Whether CREATE OR REPLACE may change what exists.",
        one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.new.query.planner.enabled",
        "false",
        "Whether a stream made of a stream has those of its key columns that are selected, in the order of SELECT; "
        "else all must be selected, and keep their order.",
        one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.variable.substitution.enable",
        "true",
        "Whether ${name} in a statement is replaced by the value of the session's variable.",
        one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.assert.topic.default.timeout.ms",
        "1000",
        "How long ASSERT TOPIC waits where it names no TIMEOUT.",
        integer(0, 86_400_000),
        session=True,
    ),
    Property(
        "ksql.assert.schema.default.timeout.ms",
        "1000",
        "How long ASSERT SCHEMA waits where it names no TIMEOUT.",
        integer(0, 86_400_000),
        session=True,
    ),
    Property(
        "ksql.sink.partitions",
        "0",
        "How many partitions the topic of a query's result gets, where WITH does not say it; 0: as many as that of the "
        "left-most source.",
        integer(0, 100_000),
        session=True,
    ),
    Property(
        "ksql.sink.replicas",
        "0",
        "How many replicas that topic gets, where WITH does not say it; 0: as many as the brokers say.",
        integer(0, 1000),
        session=True,
    ),
    Property(
        "ksql.output.topic.name.prefix",
        "",
        "Put before the names of the topics that queries make.",
        prefix,
        session=True,
    ),
)
