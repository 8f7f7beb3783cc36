"""Exactly once: where a result came from, as a header of its record, and what is asked of such headers after a stop.

The sink is the log of what was done. Every result names the query and the source record that brought it about; a query
that starts again reads the end of its sink (:class:`Tail`), goes once more through the rows since its last checkpoint,
in the order in which their results were written, and leaves out what is there already.
See docs/internals/exactly-once.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ksqlpy.connection import KafkaConnection
from ksqlpy.formats import text
from ksqlpy.spark.header import HEADER, mark, taken_apart

__all__ = ["HEADER", "Offsets", "Tail", "mark", "place", "sink_value", "taken_apart"]

Offsets = Mapping[str, Mapping[str, int]]
"""Offsets by topic and partition; partitions as text, as in JSON."""


def place(index: int | str, partition: str) -> str:
    """Spark text of a place, an INT: the number of the topic within its query, and the partition."""
    if isinstance(index, str):
        return f"(shiftleft({index}, 16) + {partition})"
    return f"({index << 16} + {partition})" if index else partition


def sink_value(
    rowtime: str, value: str, coordinates: Sequence[str] = (), seen: Sequence[str] = (), group: Sequence[str] = ()
) -> str:
    """Spark text of what the JVM's class ``SinkInterceptor`` takes apart into a result's value, time and header.

    ``rowtime`` BIGINT, ms. ``value`` BINARY, null for a tombstone. ``coordinates``, if any: place INT, offset BIGINT,
    start of the window BIGINT or 0. With them, BIGINT: ``seen``, for each joined table the offset of its last record
    that the row saw; ``group``, where rows may have no result, the hash of the group and the last offset that it saw of
    each lane, which for a stream is each source partition. -1 stands for none.
    """
    of_group = f"concat({', '.join(f'cast({p} as binary)' for p in group)})" if group else "cast(null as binary)"
    given = [f"cast({rowtime} as bigint)", f"struct({value} AS value, {of_group} AS group)"]
    if coordinates:
        given += [*coordinates, *seen]
    name = text.name('{"sink":true}')
    return f"ksqlpy.{name}({', '.join(given)})"


@dataclass(frozen=True)
class Tail:
    """The end of the sink topics of one query: all that it may have written since a checkpoint, and more before."""

    connection: KafkaConnection
    query_id: str
    tables: int
    start: Offsets
    end: Offsets
    keys: tuple[str, ...] = ()
    """Names of the keys by which its results are signed (:mod:`ksqlpy.spark.signing`)."""

    unsigned: Offsets = field(default_factory=dict)
    """Results below these offsets count without a tag."""

    by_seen: bool = False
    """Whether the results of one group may lie in several sink partitions, so that what they had seen orders them."""

    by_key: bool = False
    """Whether it is asked for the keys of results (:meth:`is_ahead`)."""

    of_tasks: bool = False
    """Whether results say what the task of a step had seen, and it is asked which tasks gave any (:meth:`any`)."""

    results: str = ""
    """The topic of the results; the others are those of dead letters and late records."""

    @property
    def empty(self) -> bool:
        """Whether nothing at all was written there."""
        return all(self.start.get(t, {}).get(p, 0) >= o for t, ps in self.end.items() for p, o in ps.items())

    @property
    def spec(self) -> str:
        """How the JVM's class ``Tail`` is told of it, JSON."""
        return json.dumps(
            {
                "connection": self.connection.key,
                "query": self.query_id,
                "keys": self.keys,
                "unsigned": self.unsigned,
                "tables": self.tables,
                "bySeen": self.by_seen,
                "byKey": self.by_key,
                "ofTasks": self.of_tasks,
                "results": self.results,
                "from": self.start,
                "to": self.end,
            },
            separators=(",", ":"),
            ensure_ascii=False,
        )

    def position(self, where: str, offset: str, window: str) -> str:
        """Spark text: the sink offset of the result of a source row, null if it was not written."""
        return self._ask("row", where, offset, window)

    def any(self, where: str, offset: str, task: str) -> str:
        """Spark text: the sink offset of a result of a source row by this task of a step; null if it has none.

        ``task`` BIGINT, as in the header. A row may be in several tasks, and have results in some of them.
        """
        return self.position(where, offset, f"({-(2**63)}L + {task})")

    def table(self, where: str, offset: str, number: int) -> str:
        """Spark text: which record of the number-th joined table, from 0, the row's result had seen.

        -1 if none was there, null if the result was not written.
        """
        return self.position(where, offset, f"{-1 - number}L")

    def place_in_group(self, group: str, partition: str, offset: str) -> str:
        """Spark text: the sink offset of the group's first result that had seen a source row; null if none had.

        With ``by_seen`` not the offset but a number that grows with what was seen.
        ``group`` BIGINT, the hash that is in the header.
        """
        return self._ask("group", group, partition, offset)

    def is_ahead(self, where: str, offset: str, key: str) -> str:
        """Spark text: whether a later record of the place has a result with this key (BINARY), so that this one's time
        is over; never null.
        """
        return self._call("key", where, offset, f"struct({key} AS key)")

    def _ask(self, of: str, *arguments: str) -> str:
        return f"nullif({self._call(of, *arguments)}, -2L)"

    def _call(self, of: str, *arguments: str) -> str:
        asked = f'{{"of":"{of}","tail":{self.spec}}}'
        return f"ksqlpy.{text.name(asked)}({', '.join(arguments)})"
