"""Pull and push queries."""

from __future__ import annotations

from ksqlpy.config.checks import integer, one_of, prefix
from ksqlpy.config.property import Property

__all__ = ["READS"]

READS = (
    Property(
        "ksql.query.push.v2.continuation.tokens.enabled",
        "false",
        "Whether push queries of columns of one source give continuation tokens, with which they can go on.",
        one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksqlpy.subscription",
        "",
        "A name under which a push query of columns of one source goes on behind the last row that its client has"
        " acknowledged; empty: rows are not acknowledged.",
        prefix,
        session=True,
    ),
    Property(
        "ksqlpy.query.push.linger.ms",
        "0",
        "Milliseconds for which the rows of a push query or of PRINT may wait for others, to be read and sent together:"
        " thousands of rows a second then cost brokers, server and client less; 0: each row is sent as it comes.",
        integer(0, 1000),
        session=True,
    ),
    Property(
        "ksql.max.push.queries",
        "1000",
        "How many push queries may be open at one time; more of them are refused (40003).",
        integer(1, 100_000),
    ),
    Property(
        "ksql.pull.queries.enable",
        "true",
        "Whether the server answers pull queries.",
        one_of("true", "false"),
    ),
    Property(
        "ksql.query.pull.table.scan.enabled",
        "true",
        "Whether a pull query may go through a whole table.",
        one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.query.pull.range.scan.enabled",
        "true",
        "Whether a pull query may go through a range of keys where it may not go through a whole table.",
        one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.query.pull.stream.enabled",
        "true",
        "Whether pull queries may read streams.",
        one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.query.pull.limit.clause.enabled",
        "true",
        "Whether pull queries may have LIMIT.",
        one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.query.pull.max.qps",
        "0",
        "How many pull queries are answered in a second at most; more of them are refused (42900); 0: any number.",
        integer(0, 2**31 - 1),
    ),
    Property(
        "ksql.query.pull.max.concurrent.requests",
        "0",
        "How many pull queries may be answered at one time; more of them are refused (42900); 0: any number.",
        integer(0, 2**31 - 1),
    ),
    Property(
        "ksqlpy.pull.wait.ms",
        "0",
        "For how many milliseconds a pull query waits at most until what it reads reflects all records that the inputs "
        "of its queries had when it was asked (read your writes); 0: it reads what is there.",
        integer(0, 600_000),
        session=True,
    ),
)
