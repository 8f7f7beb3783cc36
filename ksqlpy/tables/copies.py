"""The copies of all tables that have been read."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ksqlpy.catalog import Source
from ksqlpy.errors import EngineProblem
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
    def offsets(self, topics: dict[str, int], *, latest: bool) -> dict[str, dict[str, int]]: ...
    def reader(self, *, ends: bool = False) -> Consumer: ...


class Copies:
    """The copies, by the names of their tables. A table is copied from the first read on."""

    def __init__(self, folder: Path, kafka: Topics, registry: SchemaRegistry | None) -> None:
        self._registry = registry
        self._folder = folder
        self._kafka = kafka
        self._open: dict[str, Copy] = {}
        self._lock = threading.Lock()
        self._swept = False

    def of(self, source: Source, known: Collection[Source]) -> Copy:
        """The copy of a table, which has all that its topic had when it was first read, and follows it.

        ``known``: all sources that there are; copies of others are removed. Raises EngineProblem.
        """
        found = self.ready(source)
        if found is not None:
            return found
        with self._lock:
            self._sweep(known)
            found = self._open.get(source.name)
            if found is None or found.source != source or found.failed:
                if found is not None:
                    del self._open[source.name]
                    found.close(forget=found.source.topic != source.topic)
                found = self._made(source)
                self._open[source.name] = found
        if not found.ready:
            found.wait(self.ends(source), PATIENCE)
            found.ready = True
        found.source = source  # equal to the one before
        return found

    def ready(self, source: Source) -> Copy | None:
        """The copy of a table that was read before, and needs no waiting; None otherwise."""
        found = self._open.get(source.name)
        return found if found is not None and found.source is source and found.ready and not found.failed else None

    def keep(self, known: Collection[Source]) -> None:
        """Ends and removes the copies of all other tables."""
        with self._lock:
            self._sweep(known)

    def ends(self, source: Source) -> dict[int, int]:
        """The offsets behind the last records of a table's topic now."""
        return self._offsets(source.topic, latest=True)

    def standing(self, name: str) -> dict[str, int] | None:
        """``lag``: how many records the copy of a table is behind, ``rows``: about how many it has; None without one.

        Raises EngineProblem where the brokers do not answer.
        """
        found = self._open.get(name)
        if found is None or found.failed:
            return None
        return {"lag": found.lag(self.ends(found.source)), "rows": found.estimate()}

    def _offsets(self, topic: str, *, latest: bool) -> dict[int, int]:
        partitions = self._kafka.partitions([topic])
        return {int(p): o for p, o in self._kafka.offsets(partitions, latest=latest)[topic].items()}

    def _made(self, source: Source) -> Copy:
        topic_id = self._kafka.topic_id(source.topic)
        if topic_id is None:
            raise EngineProblem("copy-failed", f"topic {source.topic} of table {source.name} does not exist")
        begins = self._offsets(source.topic, latest=False)
        reader = partial(self._kafka.reader, ends=True)
        place = self._place(source, topic_id)
        for folder in self._folder.glob(f"{_safe(source.name)}-*"):
            if folder != place:  # of an earlier definition, or of a topic that is gone
                Store.remove(folder)
        return Copy(source, place, reader, begins, self._registry)

    def _place(self, source: Source, topic_id: str) -> Path:
        """The folder of a copy: another topic, or other formats, have another one."""
        what = repr((topic_id, source.key, source.value, source.window, source.envelope, source.headers))
        return self._folder / f"{_safe(source.name)}-{hashlib.sha256(what.encode()).hexdigest()[:16]}"

    def _sweep(self, known: Collection[Source]) -> None:
        """Ends and removes the copies of tables that are no longer there."""
        names = {s.name for s in known}
        for name in [n for n in self._open if n not in names]:
            self._open.pop(name).close(forget=True)
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
