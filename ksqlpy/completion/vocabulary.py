"""Words that neither the grammar's lists nor the server name: of WITH clauses, formats, types, behind an operand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ksqlpy import formats
from ksqlpy.sql.nodes import BUILT_IN_TYPES
from ksqlpy.sql.queries import Queries

__all__ = ["AFTER_OPERAND", "CLAUSES", "FORMATS", "TYPES", "WHOLE", "WITH_PROPERTIES"]

CLAUSES = (*sorted(Queries.CLAUSES), ("GROUP", "BY"))
"""Clauses of two words, of which the first may be taken for an alias."""

WHOLE: Mapping[str, str] = MappingProxyType({"EMIT": "EMIT CHANGES"})
"""Words that are offered together with what nearly always follows."""

TYPES = (*BUILT_IN_TYPES, "DECIMAL(", "ARRAY<", "MAP<STRING, ", "STRUCT<")

FORMATS = tuple(formats.FORMATS)
"""Formats of records."""

AFTER_OPERAND = (
    "AND",
    "OR",
    "IS NULL",
    "IS NOT NULL",
    "IN (",
    "NOT IN (",
    "LIKE",
    "NOT LIKE",
    "BETWEEN",
    "NOT BETWEEN",
    "IS DISTINCT FROM",
)
"""What may follow an operand in a condition; the parser has the last word."""

WITH_PROPERTIES: Mapping[str, str] = MappingProxyType(
    {
        "KAFKA_TOPIC": "the topic of the source",
        "VALUE_FORMAT": "format of values",
        "KEY_FORMAT": "format of keys",
        "FORMAT": "format of keys and values",
        "PARTITIONS": "of a topic that is made",
        "REPLICAS": "of a topic that is made",
        "RETENTION_MS": "how long a topic that is made keeps records",
        "TIMESTAMP": "the column that has the time of a row",
        "TIMESTAMP_FORMAT": "how that column is written",
        "VALUE_DELIMITER": "between the values of DELIMITED",
        "KEY_DELIMITER": "between the values of a DELIMITED key",
        "WRAP_SINGLE_VALUE": "whether a single value is written as a record",
        "VALUE_ENVELOPE": "of values that are change events of a table: DEBEZIUM",
        "VALUE_SCHEMA_ID": "the schema in the schema registry by which values are written",
        "KEY_SCHEMA_ID": "the schema in the schema registry by which keys are written",
        "VALUE_SCHEMA_FULL_NAME": "the record or message of a value's schema",
        "KEY_SCHEMA_FULL_NAME": "the record or message of a key's schema",
        "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "how PROTOBUF tells null from 0: OPTIONAL, WRAPPER",
        "KEY_PROTOBUF_NULLABLE_REPRESENTATION": "the same of keys",
        "WINDOW_TYPE": "of keys that have a window: TUMBLING, HOPPING, SESSION",
        "WINDOW_SIZE": "as '1 HOUR'",
        "QUERY_ID": "the id of the query",
        "HEADERS": "the result's column that is written as the headers of its records",
    }
)
"""The properties of a WITH clause and what they are for."""
