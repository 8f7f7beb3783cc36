"""The copies of all tables that have been read."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Container
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ksqlpy.catalog import Source
from ksqlpy.errors import EngineProblem
from ksqlpy.figures import CopyFigures
from ksqlpy.registry import SchemaRegistry
from ksqlpy.tables.copy import Copy
from ksqlpy.tables.store import Store

if TYPE_CHECKING:
    from confluent_kafka import Consumer

__all__ = ["Copies", "Topics"]

PATIENCE = 60.0
"""Seconds that a read waits at most for the first copying of a table."""


class Topics(Protocol):
    """What the copies ask of Kafka; :class:`ksqlpy.spark.kafka.Kafka` answers."""

    def topic_id(self, topic: str) -> str | None: ...
    def partitions(self, topics: Collection[str]) -> dict[str, int]: ...
    def offsets(
        self, topics: dict[str, int], *, latest: bool, committed: bool = False
    ) -> dict[str, dict[str, int]]: ...
    def reader(self, *, ends: bool = False, committed: bool = False) -> Consumer: ...


class Copies:
    """The copies, by the names of their tables. A table is copied from the first read on.

    It has another copy for reads that count other records (``isolation.level``).
    """

    def __init__(self, folder: Path, kafka: Topics, registry: SchemaRegistry | None) -> None:
        self._registry = registry
        self._folder = folder
        self._kafka = kafka
        self._open: dict[tuple[str, bool], Copy] = {}
        self._lock = threading.Lock()
        self._swept = False

    def of(self, source: Source, known: Collection[Source], *, committed: bool) -> Copy:
        """The copy of a table, which has all that its topic had when it was first read, and follows it.

        ``known``: all sources that there are; copies of others are removed. ``committed``: of committed records only.
        Raises EngineProblem.
        """
        found, place = self.ready(source, committed=committed), (source.name, committed)
        if found is not None:
            return found
        with self._lock:
            self._sweep(known)
            found = self._open.get(place)
            if found is None or found.failed or not self._is_of(found, source):
                # Also that for other reads, if it is of an earlier topic: its files are removed.
                for other in [(source.name, c) for c in (True, False) if (source.name, c) in self._open]:
                    gone = not self._is_of(self._open[other], source)
                    if other == place or gone:
                        self._open.pop(other).close(forget=gone)
                found = self._made(source, committed)
                self._open[place] = found
        if not found.ready:
            found.wait(self.ends(found), PATIENCE)
            found.ready = True
        found.source = source  # equal to the one before
        return found

    def ready(self, source: Source, *, committed: bool) -> Copy | None:
        """The copy of a table that was read before, and needs no waiting; None otherwise."""
        found = self._open.get((source.name, committed))
        return found if found is not None and found.source is source and found.ready and not found.failed else None

    def keep(self, known: Collection[Source]) -> None:
        """Ends and removes the copies of all other tables."""
        with self._lock:
            self._sweep(known)

    def ends(self, copy: Copy) -> dict[int, int]:
        """The offsets behind the last records of a table's topic now that the copy will have."""
        return self._offsets(copy.source.topic, latest=True, committed=copy.committed)

    def figures(self, name: str) -> dict[str, int] | None:
        """``lag``: how many records the copy of a table is behind, ``rows``: about how many it has; None without one.

        Raises EngineProblem where the brokers do not answer.
        """
        copies = (self._open.get((name, committed)) for committed in (True, False))
        found = next((c for c in copies if c is not None and not c.failed), None)
        return None if found is None else {"lag": found.lag(self.ends(found)), "rows": found.estimate()}

    def known(self, tables: Container[str]) -> dict[str, CopyFigures]:
        """Of those of these tables that are copied, what the copies know: at once, also while one is made or read."""
        found: dict[str, CopyFigures] = {}
        for (name, _), copy in tuple(self._open.items()):
            if name in tables and not copy.failed:
                found[name] = found[name] + copy.figures if name in found else copy.figures
        return found

    def _offsets(self, topic: str, *, latest: bool, committed: bool) -> dict[int, int]:
        partitions = self._kafka.partitions([topic])
        found = self._kafka.offsets(partitions, latest=latest, committed=committed)[topic]
        return {int(p): o for p, o in found.items()}

    def _is_of(self, copy: Copy, source: Source) -> bool:
        """Whether it is a copy of this table; one that is created again may have a new topic of the same name."""
        if copy.source is source:
            return True
        return copy.source == source and copy.topic_id == self._kafka.topic_id(source.topic)

    def _made(self, source: Source, committed: bool) -> Copy:
        topic_id = self._kafka.topic_id(source.topic)
        if topic_id is None:
            raise EngineProblem("copy-failed", f"topic {source.topic} of table {source.name} does not exist")
        begins = self._offsets(source.topic, latest=False, committed=committed)
        reader = partial(self._kafka.reader, ends=True, committed=committed)
        places = [self._place(source, topic_id, of) for of in (True, False)]
        for folder in self._folder.glob(f"{_safe(source.name)}-*"):
            if folder not in places:  # of an earlier definition, or of a topic that is gone
                Store.remove(folder)
        place = places[0 if committed else 1]
        return Copy(source, topic_id, place, reader, begins, self._registry, committed=committed)

    def _place(self, source: Source, topic_id: str, committed: bool) -> Path:
        """The folder of a copy: another topic, other formats, or other records that count, have another one."""
        kept = (topic_id, source.key, source.value, source.window, source.envelope, source.headers)
        what = repr(kept if committed else (*kept, "read_uncommitted"))
        return self._folder / f"{_safe(source.name)}-{hashlib.sha256(what.encode()).hexdigest()[:16]}"

    def _sweep(self, known: Collection[Source]) -> None:
        """Ends and removes the copies of tables that are no longer there."""
        names = {s.name for s in known}
        for place in [p for p in self._open if p[0] not in names]:
            self._open.pop(place).close(forget=True)
        if self._swept or not self._folder.exists():
            return
        self._swept = True
        kept = {_safe(n) for n in names}
        for folder in self._folder.iterdir():
            if folder.name.rpartition("-")[0] not in kept:
                Store.remove(folder)

    def close(self) -> None:
        """Ends all; they are continued at the next start."""
        with self._lock:
            for copy in self._open.values():
                copy.close()
            self._open.clear()


def _safe(name: str) -> str:
    """The name of a table as that of a folder."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)[:60]
    return plain if plain == name else f"{plain}.{hashlib.sha256(name.encode()).hexdigest()[:8]}"
