"""Names of Kafka topics: which ones Kafka accepts, and which ones are internal.

Sources of the rules: Kafka's ``org.apache.kafka.common.internals.Topic``; ksqlDB's ``ksql.hidden.topics`` and
``ksql.readonly.topics``.
"""

from __future__ import annotations

import re

__all__ = ["MAX_LENGTH", "OWN", "audit_log", "checked_topic_name", "dead_letters", "is_internal", "processing_log"]

OWN = "_ksqlpy-"
"""The prefix of the internal topics of every ksqlpy service."""

MAX_LENGTH = 249
"""Characters of a topic's name; Kafka adds a partition's number to it and makes a folder of that name."""

_INTERNAL_PREFIXES = (OWN, "__", "_confluent")
_INTERNAL_NAMES = ("_schemas", "connect-configs", "connect-offsets", "connect-status", "connect-statuses")
_NAME = re.compile(r"[A-Za-z0-9._-]+\Z")


def is_internal(topic: str) -> bool:
    """Whether a topic belongs to Kafka, to its tools, or to a service such as this one."""
    return topic.startswith(_INTERNAL_PREFIXES) or topic in _INTERNAL_NAMES


def checked_topic_name(topic: str) -> str:
    """The name, if Kafka accepts it; raises ValueError that says what a name is."""
    if _NAME.match(topic) and len(topic) <= MAX_LENGTH and topic not in (".", ".."):
        return topic
    raise ValueError(f"the name of a topic: 1 to {MAX_LENGTH} letters (a to z), digits, '.', '_' and '-'")


def dead_letters(service: str) -> str:
    """The topic of a service's dead letters."""
    return f"{OWN}{service}dead_letters"


def audit_log(service: str) -> str:
    """The topic of a service's audit log."""
    return f"{OWN}{service}audit_log"


def processing_log(service: str) -> str:
    """The topic of a service's processing log, where no other is named; it is none of the internal ones."""
    return f"{service}ksql_processing_log"
