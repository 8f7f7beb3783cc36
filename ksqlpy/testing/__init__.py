"""Statement files: SQL, the records that go in, and the records that must come out, as one would write them down.

    # Rides of 40 dollars and more go to a topic of their own.
    === branch by amount
    CREATE STREAM rides (id INT KEY, total DECIMAL(10, 2))
      WITH (kafka_topic='rides', value_format='JSON', partitions=1);
    CREATE STREAM big AS SELECT id, total FROM rides WHERE total >= 40;

    --- input rides
    1 @1000 {"total": 39.99}
    2 @2000 {"total": "40"}
    3 @3000 seven
    --- output big
    2 @2000 {"TOTAL": 40.00}
    --- dead letters
    rides 2 not JSON

A file holds cases, each under a line ``=== name``. What stands before the first one is run ahead of every case: the
statements that all of them share. A line that begins with ``#`` is a comment everywhere.

A case begins with its statements. They run in order, with ``auto.offset.reset`` at ``earliest``; then the records of
the ``input`` sections go in, in the order in which they stand. The sections:

``--- input NAME``
    Records of a topic, one a line. NAME is a topic or the stream or table that reads it (names of those in any case).
``--- input``
    Records of several topics: every line begins with ``NAME:``. Their order holds across topics.
``--- output NAME``
    All records of that topic in order (with several partitions: in order for each key); ``(nothing)`` if there are
    none.
``--- dead letters``
    The records that could not be read, as ``TOPIC OFFSET words of the reason``, query by query. A case without this
    section has none.
``--- error``
    The statements are refused with exactly this drawing; its line numbers count from the line below ``===``.
``--- known fault WHY``
    The case shows a fault that is known, and is expected to fail.

A record is ``KEY @TIME +HEADER=VALUE … VALUE``:

- KEY is left out where the source has no key column. It is a number, a word, a JSON text such as ``"two words"`` or
  ``{"A": 1, "B": null}``, or ``null``. A windowed key has its window behind it: ``3 [0, 4000)``.
- TIME is in milliseconds. Left out, an input record has the time of the line before (1 at first); of an output record
  it is not compared.
- The value is the rest of the line as it is, or ``null`` (no value, a tombstone).
- ``x'00ff'`` stands for bytes, as a key, as a header or as a value.

Output values are compared by the types of their columns: DECIMAL by digits (1.0 is not 1.00), DOUBLE as numbers,
the fields of objects in any order.

An empty ``output``, ``error`` or ``dead letters`` section waits for its answer: :func:`complete` writes it.

:func:`read_cases` reads a file; a runner makes an :class:`Outcome` of a case, and :func:`check` compares it. The two
runners, :class:`~ksqlpy.testing.memory.MemoryRunner` without Kafka and :class:`~ksqlpy.testing.live.KafkaRunner` with
an engine in real-time mode, execute the same Spark plans; only source and sink differ.
"""

from __future__ import annotations

from ksqlpy.testing.cases import Case, FileProblem, read_cases
from ksqlpy.testing.check import CaseFailed, Outcome, Runner, check, complete
from ksqlpy.testing.live import KafkaRunner
from ksqlpy.testing.memory import MemoryRunner

__all__ = [
    "Case",
    "CaseFailed",
    "FileProblem",
    "KafkaRunner",
    "MemoryRunner",
    "Outcome",
    "Runner",
    "check",
    "complete",
    "read_cases",
]
