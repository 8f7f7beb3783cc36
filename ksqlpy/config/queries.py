"""How queries read, run and recover."""

from __future__ import annotations

from ksqlpy.config.checks import guarantee, idle, integer, one_of, topic
from ksqlpy.config.property import Property

__all__ = ["QUERIES"]

QUERIES = (
    Property(
        "auto.offset.reset",
        "latest",
        "Where a new query starts to read: earliest or latest. Tables are read from the start unless it is set.",
        one_of("earliest", "latest"),
        session=True,
    ),
    Property(
        "commit.interval.ms",
        "60000",
        "Time between the checkpoints of a query; it costs recovery time, never latency.",
        integer(1000, 3_600_000),
        session=True,
    ),
    Property(
        "ksqlpy.query.mode",
        "auto",
        "How a query runs. real-time: row by row; micro-batch: what came since the last batch, every "
        "ksqlpy.batch.interval; auto: in real time if every step of it can.",
        one_of("auto", "real-time", "micro-batch"),
        session=True,
    ),
    Property(
        "ksqlpy.batch.interval",
        "1000",
        "Milliseconds from the start of one micro-batch to the next, for queries that run in micro-batches.",
        integer(10, 3_600_000),
        session=True,
    ),
    Property(
        "processing.guarantee",
        "exactly_once",
        "exactly_once: no result is lost or written twice, whatever ends; at_least_once: a restart may repeat results.",
        guarantee,
        session=True,
    ),
    Property(
        "isolation.level",
        "read_uncommitted",
        "Which records of transactions are read from source topics with processing.guarantee = at_least_once. "
        "read_uncommitted: all, when they come; read_committed: those of committed transactions, when they are "
        "committed. With exactly_once it is always read_committed.",
        one_of("read_uncommitted", "read_committed"),
        session=True,
    ),
    Property(
        "ksql.query.parallelism",
        "0",
        "Partitions of a new query's stateful steps, fixed with its state; 0: as many as its largest source topic has.",
        integer(0, 1024),
        session=True,
    ),
    Property(
        "ksql.late.records.topic",
        "",
        "Topic for the records that come too late for a window of a new query, as they are, with their place and the "
        "reason in headers; made if it is not there. Empty: they are counted and dropped.",
        topic,
        session=True,
    ),
    Property(
        "max.task.idle.ms",
        "0",
        "How many milliseconds a query with several source partitions waits for a record of a partition at its end "
        "before it goes on with the others, as in Kafka Streams: 0: only while the brokers have more of it; -1: never. "
        "On a Spark cluster -1 also has filters and GROUP BY without a window read each partition in a task of its "
        "own, without a common order.",
        integer(-1, 2**53),
        session=True,
    ),
    Property(
        "ksql.emit.final.idle.ms",
        "",
        "Of a new query with EMIT FINAL: milliseconds without a record after which windows are closed by the clock, at "
        "the next checkpoint. Empty: only later records close windows.",
        idle,
        session=True,
    ),
    Property(
        "ksqlpy.emit.final.forgetful",
        "false",
        "Whether a new query with EMIT FINAL loses the windows that ksqlDB loses: where stream time jumps by more than "
        "SIZE + GRACE PERIOD, Kafka Streams has dropped a window before it is closed.",
        one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.query.retry.backoff.initial.ms",
        "1000",
        "How long a query that failed waits before it starts again; twice as long each time.",
        integer(1, 3_600_000),
    ),
    Property(
        "ksql.query.retry.backoff.max.ms",
        "60000",
        "The longest time that a query that failed waits before it starts again.",
        integer(1, 86_400_000),
    ),
    Property(
        "ksqlpy.record.max.bytes",
        "16777216",
        "How many bytes of key and value a record has at most, unpacked; queries make a dead letter of a larger one.",
        integer(1_000, 2**31 - 1),
    ),
    Property(
        "ksql.timestamp.throw.on.invalid",
        "false",
        "Whether a record whose TIMESTAMP column gives no event time ends its queries with an error; else it is a dead "
        "letter.",
        one_of("true", "false"),
        session=True,
    ),
)
