"""The log of the server, and what could not be processed: dead letters and the processing log."""

from __future__ import annotations

from ksqlpy.config.checks import levels, name, one_of, topic
from ksqlpy.config.property import Property

__all__ = ["LOGS"]

LOGS = (
    Property(
        "ksqlpy.log.format",
        "text",
        "Form of the lines of all logs: text, or json, a line of JSON each.",
        one_of("text", "json"),
    ),
    Property(
        "ksqlpy.log.levels",
        "",
        "Levels of loggers in Python and Java, such as root=INFO,org.apache.spark=DEBUG, with commas between them; "
        "root is WARN by default. ALTER SYSTEM changes them while the server runs.",
        levels,
    ),
    Property(
        "ksqlpy.dead.letters.stream.auto.create",
        "false",
        "Whether a start of the server declares a stream over the dead letters, which statements may then read.",
        one_of("true", "false"),
    ),
    Property("ksqlpy.dead.letters.stream.name", "KSQLPY_DEAD_LETTERS", "Name of the stream of dead letters.", name),
    Property(
        "ksql.logging.processing.topic.auto.create",
        "false",
        "Whether the server keeps the processing log, and makes its topic if it is not there.",
        one_of("true", "false"),
    ),
    Property(
        "ksql.logging.processing.topic.name",
        "",
        "Topic of the processing log; empty: ksql.service.id with ksql_processing_log behind it.",
        topic,
    ),
    Property(
        "ksql.logging.processing.stream.auto.create",
        "false",
        "Whether the server keeps the processing log in a topic that is there, and declares a stream over it.",
        one_of("true", "false"),
    ),
    Property("ksql.logging.processing.stream.name", "KSQL_PROCESSING_LOG", "Name of that stream.", name),
    Property(
        "ksql.logging.processing.rows.include",
        "false",
        "Whether entries of the processing log hold the records that they are about.",
        one_of("true", "false"),
    ),
)
