"""Statement files: SQL, the records that go in, and the records that must come out, as one would write them down.

    === branch by amount
    CREATE STREAM rides (id INT KEY, total DECIMAL(10, 2))
      WITH (kafka_topic='rides', value_format='JSON', partitions=1);
    CREATE STREAM big AS SELECT id, total FROM rides WHERE total >= 40;

    --- input rides
    1 @1000 {"total": 39.99}
    2 @2000 {"total": "40"}
    --- output big
    2 @2000 {"TOTAL": 40.00}

The form of the files is described in docs/test-files.md. An empty ``output``, ``error`` or ``dead letters`` section
waits for its answer: :func:`complete` writes it.

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
