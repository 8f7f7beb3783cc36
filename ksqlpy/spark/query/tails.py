"""What the JVM knows of a tail, the results behind the last checkpoint (``jvm/once/Tail.java``)."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksqlpy.spark.gateway import jvm_of
from ksqlpy.spark.once import Tail
from ksqlpy.spark.tasks import tasks_end

__all__ = ["empty", "farthest", "forget", "highest", "load", "read_ahead"]


def _tails(session: SparkSession) -> Any:
    jvm = jvm_of(session)
    return jvm.ksqlpy.once.Tail


def load(session: SparkSession, tail: Tail) -> int:
    """Reads it, unless that was done; how many records of the query are in it."""
    return int(_tails(session).load(tail.spec))


def forget(session: SparkSession, tail: Tail) -> None:
    """Drops it: no task asks for it any more."""
    _tails(session).forget(tail.spec)


def empty(session: SparkSession, tail: Tail) -> None:
    """Lets go of what it holds: no row asks for it any more."""
    _tails(session).empty(tail.spec)


def highest(session: SparkSession, tail: Tail) -> dict[tuple[int, str], int]:
    """The highest source offset that has a result, by the number of the topic in its query and the partition."""
    found = json.loads(_tails(session).highest(tail.spec))
    return {(int(place) >> 16, str(int(place) & 0xFFFF)): offset for place, offset in found.items()}


def farthest(session: SparkSession, tail: Tail) -> list[int]:
    """The last source offset that tasks of steps had seen, of each partition of each topic."""
    found: list[int] = json.loads(_tails(session).farthest(tail.spec))
    return found


@contextlib.contextmanager
def read_ahead(session: SparkSession, tail: Tail, query_id: str) -> Iterator[None]:
    """Reads the tail while Spark plans, since rows wait for it; forgets it when no task asks any more."""

    def read() -> None:
        with contextlib.suppress(Py4JError, OSError):  # the rows that ask for it say what is wrong
            load(session, tail)

    reading = threading.Thread(target=read, name=f"tail of {query_id}", daemon=True)
    reading.start()
    try:
        yield
    finally:
        reading.join()
        with contextlib.suppress(Py4JError, OSError):  # with the JVM the tail is gone, too
            tasks_end(session, query_id)  # they still have to be told what is written
            forget(session, tail)
