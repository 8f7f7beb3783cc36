"""How far the queries behind a table or stream are: what a pull query reads may not be their last word.

Who asks for rows must not wait for brokers that do not answer, so the figures are asked for in a thread of their own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from ksqlpy.catalog import Catalog, PersistentQuery, Source
from ksqlpy.runtime.position import Offsets, position
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.runtime.waiting import inputs_first, inputs_of
from ksqlpy.spark.kafka import Kafka

__all__ = ["Behind", "Figures"]

log = logging.getLogger(__name__)

Figures = Mapping[str, int | None]
"""By the ids of queries how many records they have still to read, None before they read; without those at the end."""

PATIENCE = 0.5
"""Seconds for which a pull query waits for figures at most; without them it says nothing."""

RECENT, KEPT, OLD = 0.1, 1.0, 5.0
"""Seconds for which figures are as of now, after which lookups have others asked for, and after which they are old.

So of thousands of queries in a second few ask.
"""


class Behind:
    """The figures of the sources that are asked."""

    def __init__(self, supervisor: Supervisor, kafka: Callable[[], Kafka]) -> None:
        self._supervisor = supervisor
        self._kafka = kafka
        self._known: dict[tuple[str, ...], tuple[float, Figures]] = {}
        self._asking = threading.Lock()

    def now(self, sources: Iterable[Source], catalog: Catalog) -> Figures:
        """The figures of now; those that are known where brokers or Spark do not tell in time."""
        wanted = tuple(sources)
        if not any(catalog.writers(s.name) for s in wanted):
            return {}
        until = time.monotonic() + PATIENCE
        if self._fresh(_names(wanted), RECENT) is None and (asked := self._ask(wanted, catalog, PATIENCE)) is not None:
            asked.wait(max(0.0, until - time.monotonic()))
        return self._fresh(_names(wanted)) or {}

    def known(self, source: Source, catalog: Catalog) -> Figures | None:
        """The figures of a table of a second ago or so, at once; None where they are to be asked for."""
        if source.query is None:  # nothing writes another table
            return {}
        asked, figures = self._known.get(_names((source,)), (-OLD, {}))
        if time.monotonic() - asked >= OLD:
            # None is asked for where its query has ended, or where who is asked does not answer.
            return {} if self._asking.locked() or not catalog.writers(source.name) else None
        if time.monotonic() - asked > KEPT:
            self._ask((source,), catalog, 0.0)
        return figures

    def _fresh(self, names: tuple[str, ...], age: float = OLD) -> Figures | None:
        at, figures = self._known.get(names, (-OLD, {}))
        return figures if time.monotonic() - at < age else None

    def _ask(self, wanted: tuple[Source, ...], catalog: Catalog, patience: float) -> threading.Event | None:
        """Begins to ask; the event is set when it is done. None where another question stays open for that long."""
        if not self._asking.acquire(timeout=patience):
            return None
        done = threading.Event()
        threading.Thread(target=partial(self._answer, wanted, catalog, done), name="behind", daemon=True).start()
        return done

    def _answer(self, wanted: tuple[Source, ...], catalog: Catalog, done: threading.Event) -> None:
        figures: dict[str, int | None] = {}
        try:
            for query in inputs_first(wanted, catalog):
                begins, ends = inputs_of(query, self._supervisor, self._kafka())
                left = _left_to_read(self._supervisor.queries, query, begins, ends)
                if left != 0:
                    figures[query.id] = left
        except Exception as e:  # the rows are given all the same
            log.debug("not known how far the queries are that write %s: %s", wanted[0].name, e)
            figures = {}
        finally:
            now = time.monotonic()
            kept = {names: known for names, known in self._known.items() if now - known[0] < OLD}
            self._known = {**kept, _names(wanted): (now, figures)}
            self._asking.release()
            done.set()


def _names(sources: Iterable[Source]) -> tuple[str, ...]:
    """What tells sources apart from those of the same names that were dropped."""
    return tuple(s.query or s.name for s in sources)


def _left_to_read(queries: Queries, query: PersistentQuery, begins: Offsets, ends: Offsets) -> int | None:
    """How many records before ``ends`` it has not read yet, None where it has read none.

    ``begins``: the first offsets that there are.
    """
    read = position(queries, query, begins)
    left = sum(max(0, end - read[topic][p]) for topic, partitions in ends.items() for p, end in partitions.items())
    first = {t: {p: max(o, query.offsets.get(t, {}).get(p, 0)) for p, o in ps.items()} for t, ps in begins.items()}
    return None if left and read == first else left
