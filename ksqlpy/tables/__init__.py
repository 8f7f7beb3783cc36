"""Materialised tables: the topic of a table copied into a local RocksDB, for pull queries.

A copy holds the bytes of the last record of each key; rows are made of them when they are read
(:mod:`ksqlpy.reading`). It goes on with its topic as long as the engine runs, and at the next start where it was.
"""

from __future__ import annotations

from ksqlpy.tables.copies import Copies
from ksqlpy.tables.copy import Copy

__all__ = ["Copies", "Copy"]
