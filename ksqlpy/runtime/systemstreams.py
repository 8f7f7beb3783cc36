"""Streams that the server itself declares at its start, over what it writes about its queries."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ksqlpy.config import Config
from ksqlpy.deadletters import HEADERS, RESULT
from ksqlpy.errors import KsqlError
from ksqlpy.topicnames import dead_letters, processing_log

__all__ = ["declare_own", "log_topic", "system_streams"]

log = logging.getLogger(__name__)

_LETTERS = {
    "QUERY_ID": ("STRING", HEADERS["query"]),
    "REASON": ("STRING", HEADERS["reason"]),
    "SOURCE_TOPIC": ("STRING", HEADERS["topic"]),
    "SOURCE_PARTITION": ("INTEGER", HEADERS["partition"]),
    "SOURCE_OFFSET": ("BIGINT", HEADERS["offset"]),
    "SOURCE_TIME": ("BIGINT", HEADERS["timestamp"]),
    "RESULT_TOPIC": ("STRING", RESULT),
}

_LOG = """
  logger STRING, level STRING, time BIGINT, message STRUCT<
    type INTEGER,
    deserializationError STRUCT<
      target STRING, errorMessage STRING, recordB64 STRING, cause ARRAY<STRING>, `topic` STRING>,
    recordProcessingError STRUCT<errorMessage STRING, record STRING, cause ARRAY<STRING>>,
    productionError STRUCT<errorMessage STRING>,
    serializationError STRUCT<
      target STRING, errorMessage STRING, record STRING, cause ARRAY<STRING>, `topic` STRING>,
    kafkaStreamsThreadError STRUCT<errorMessage STRING, threadName STRING, cause ARRAY<STRING>>>"""
"""Columns of the processing log (ksqlDB's documentation, Processing Log)."""


def log_topic(config: Config) -> str | None:
    """The topic of the processing log, None if none is wanted."""
    wanted = ("ksql.logging.processing.topic.auto.create", "ksql.logging.processing.stream.auto.create")
    if all(config.get(p) == "false" for p in wanted):
        return None
    return config.get("ksql.logging.processing.topic.name") or processing_log(config.get("ksql.service.id"))


def system_streams(config: Config) -> list[str]:
    """The statements that declare the streams that the properties ask for, if they are not there."""
    statements = []
    if config.get("ksqlpy.dead.letters.stream.auto.create") == "true":
        columns = ", ".join(f"{name} {type_} HEADER('{header}')" for name, (type_, header) in _LETTERS.items())
        statements.append(
            f"CREATE SOURCE STREAM IF NOT EXISTS `{config.get('ksqlpy.dead.letters.stream.name')}` "
            f"(RECORD_KEY BYTES KEY, RECORD_VALUE BYTES, {columns}) "
            f"WITH (KAFKA_TOPIC='{dead_letters(config.get('ksql.service.id'))}', FORMAT='KAFKA');"
        )
    if config.get("ksql.logging.processing.stream.auto.create") == "true":
        statements.append(
            f"CREATE STREAM IF NOT EXISTS `{config.get('ksql.logging.processing.stream.name')}` ({_LOG}) "
            f"WITH (KAFKA_TOPIC='{log_topic(config)}', VALUE_FORMAT='JSON');"
        )
    return statements


def declare_own(config: Config, execute: Callable[[str], object]) -> None:
    """Declares the streams of the server itself; one that cannot be keeps nothing else from running."""
    for statement in system_streams(config):
        try:
            execute(statement)
        except KsqlError as e:
            log.error("a stream of the server is not declared: %s", e)
