"""Why a query failed: in one sentence, and whose matter it is."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from ksqlpy.errors import KsqlError, reason_of

__all__ = ["Failure", "failure_of", "is_final"]

# ksqlDB's classes, by its rules: what the user's topics, data or rights bring about is USER, brokers, disks and memory
# are SYSTEM.
_USER = re.compile(
    r"UnknownTopicOrPartition|topic .*does not exist|authoriz|authenticat|SaslException|SslException|RecordTooLarge"
    r"|UserDefinedFunction|USER_RAISED_EXCEPTION|OVERFLOW|InvalidTopic|topic.* (?:was|were) (?:deleted|removed)"
    r"|partitions? .*(?:gone|lost)",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"No space left|Too many open files|OutOfMemory|TimeoutException|Disconnect|BrokerNotAvailable|NetworkException"
    r"|IOException|not available|Connection|RocksDB|checkpoint|broker|ExecutorLost|FetchFailed",
    re.IGNORECASE,
)

_STOPPED = re.compile(r"ksqlpy\.python\.Stopped: (.+)")
"""A function in Python with ON_ERROR = 'stop' has failed (``jvm/python/Stopped.java``)."""

_FILES = (
    " (hint: raise ulimit -n where its tasks run, give Spark more executors, or reduce the tasks behind a shuffle by"
    " SET 'ksql.query.parallelism')"
)
"""What helps a query that has too many files open: almost all of them are connections between its tasks."""

_USERS = (
    "topic-deleted",
    "topic-recreated",
    "topic-trimmed",
    "topic-truncated",
    "topic-widened",
    "missing-topic",
    "checkpoint-mismatch",
    "checkpoint-missing",
    "checkpoint-foreign",
    "internal-topic",
)


@dataclass(frozen=True)
class Failure:
    """One failure of a query: when (seconds since 1970), USER, SYSTEM or UNKNOWN, and one sentence."""

    at: float
    kind: str
    message: str


def failure_of(error: Exception) -> Failure:
    """The failure that an exception stands for; Java's stack is left out, its deepest cause is what counts."""
    if isinstance(error, KsqlError):
        kind = "USER" if error.code in _USERS else "SYSTEM"
        return Failure(time.time(), kind, error.summary())
    said = str(error)
    stopped = _STOPPED.search(said)
    if stopped is not None:
        return Failure(time.time(), "USER", stopped[1].strip())
    kind = "USER" if _USER.search(said) else "SYSTEM" if _SYSTEM.search(said) else "UNKNOWN"
    return Failure(time.time(), kind, reason_of(error) + (_FILES if "Too many open files" in said else ""))


def is_final(error: Exception) -> bool:
    """Whether the query is not to be tried again: a function in Python says so by ON_ERROR = 'stop'."""
    return _STOPPED.search(str(error)) is not None
