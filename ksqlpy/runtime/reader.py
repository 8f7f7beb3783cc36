"""Lookups beside a server, in a process of its own: from copies of its own, by the command log. No Spark.

What exists is known some milliseconds after the server knows it. All that is no lookup, or of a table that is not
copied yet, is the server's to answer.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from ksqlpy.access import ASKS, Right, Thing, allowed
from ksqlpy.analysis.pull import PullRead
from ksqlpy.catalog import Catalog, Column, Source
from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.runtime.behind import Figures
from ksqlpy.runtime.commandlog import Entry
from ksqlpy.runtime.lookups import Lookups
from ksqlpy.runtime.pulllimits import PullLimits
from ksqlpy.runtime.replay import Replay
from ksqlpy.runtime.statements.select import check_lookup
from ksqlpy.runtime.textsize import check_size
from ksqlpy.runtime.topics import Topics
from ksqlpy.spark.kafka import Kafka
from ksqlpy.sql import parse
from ksqlpy.tables import Copies, Copy

__all__ = ["Reader"]

log = logging.getLogger(__name__)

_IDLE_SECONDS = 0.5


class Reader:
    """Answers lookups from its first look at the whole command log on.

    ``config``: the properties of the server, with the address of the brokers; ``folder``: for the copies.
    """

    def __init__(self, config: Config, folder: Path) -> None:
        self.config = config
        registry = config.registry()
        self._kafka = Kafka(config.connection())
        self._copies = Copies(folder, self._kafka, registry)
        self._lookups = Lookups(registry, PullLimits(config))
        self._replay = Replay(config)
        self._log = Topics(self._kafka, config.get("ksql.service.id")).command_log
        self._copying: set[tuple[str, bool]] = set()
        self._lock = threading.Lock()
        self._ready = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="command log", daemon=True)

    def start(self) -> None:
        """Begins to follow the command log."""
        self._thread.start()

    def stop(self) -> None:
        """Ends; copies are continued at the next start."""
        self._stopping.set()
        self._thread.join()
        self._copies.close()

    @property
    def catalog(self) -> Catalog:
        """What exists."""
        return self._replay.catalog

    # ------------------------------------------------------------ lookups

    def look_up(
        self, sql: str, properties: Mapping[str, object] | None = None
    ) -> tuple[tuple[Column, ...], list[list[Any]], Figures] | None:
        """As :meth:`ksqlpy.runtime.Engine.look_up`; how far the queries are only the engine knows."""
        if not self._ready:
            return None
        catalog, given = self.catalog, properties or {}

        def analyze(text: str) -> tuple[PullRead, set[str]]:
            config = self.config.for_statement(given)
            check_size(text, config)
            [parsed] = parse(text)
            return check_lookup(parsed, catalog, config)

        principal = ASKS.get()

        def copy_of(source: Source) -> Copy | None:
            if not allowed(principal, Right.SELECT, Thing.source(source.name), catalog.grants):
                return None  # the server says so
            return self._copy_of(source, (self.config.for_statement(given) if given else self.config).committed)

        found = self._lookups.answer(sql, catalog, given, analyze, copy_of)
        return None if found is None else (*found, {})

    def _copy_of(self, source: Source, committed: bool) -> Copy | None:
        """The copy of a table; where there is none, it is begun, and the server answers meanwhile."""
        found = self._copies.ready(source, committed=committed)
        if found is None:
            with self._lock:
                if (source.name, committed) in self._copying:
                    return None
                self._copying.add((source.name, committed))
            name = f"first {source.name}"
            threading.Thread(target=self._copy, args=(source, committed), name=name, daemon=True).start()
        return found

    def _copy(self, source: Source, committed: bool) -> None:
        try:
            self._copies.of(source, self.catalog.sources.values(), committed=committed)
        except KsqlError as e:
            log.warning("table %s is not copied here: %s", source.name, e)
            self._stopping.wait(1.0)  # before the next try
        finally:
            with self._lock:
                self._copying.discard((source.name, committed))

    # ------------------------------------------------------------ the command log

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                self._read(self._kafka.reader(ends=True))
            except Exception as e:  # brokers that are away; else the server says what is wrong with the log
                log.warning("the command log is read again: %s", e)
                self._ready = False
                self._stopping.wait(1.0)

    def _read(self, consumer: Consumer) -> None:
        with contextlib.closing(consumer):
            start = self._kafka.offsets({self._log: 1}, latest=False)[self._log]["0"]
            self._replay = Replay(self.config)
            if start:
                self._replay.take(Entry(start - 1, None, deleted=True))
            consumer.assign([TopicPartition(self._log, 0, start)])
            while not self._stopping.is_set():
                message = consumer.poll(_IDLE_SECONDS)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    before = self.catalog.sources
                    self._replay.take(Entry(message.offset() or 0, message.value()))
                    # While the log is read from its start, tables are missing that later entries make.
                    if self._ready and before.keys() - self.catalog.sources.keys():
                        self._copies.keep(self.catalog.sources.values())
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._ready = True
                else:
                    raise OSError(error.str())
