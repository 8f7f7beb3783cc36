"""Which query, and which record, ends Spark's JVM: found by what its tasks worked on when it died.

A JVM that dies is started again, and reads the record again that it died of. So the record on which a task works at one
death after the other is the one; its queries are kept back, and the others run on. Several such records are told apart
by letting their queries run one after the other. Where deaths have no record in common, all queries are tried so, and
the one is kept back that ran last when the JVM died. What is known outlives the server, too, in a file.
"""

from __future__ import annotations

import itertools
import json
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.errors import EngineProblem
from ksqlpy.spark.working import Record, Worked

__all__ = ["Suspects"]

log = logging.getLogger(__name__)

TRIED_SECONDS = 20.0
"""A query that runs alone for so long is not the one."""

TOGETHER_SECONDS = 3_600.0
"""Deaths that are further apart have nothing to do with each other."""

LONGEST_SECONDS = 300.0
"""A life of the JVM that is longer does not make queries suspect without a record, nor is any tried for longer."""

WITHOUT_RECORD = 4
"""So many deaths by itself, one shortly after the other, make all queries suspect that ran at each of them."""

DEATHS_OF_ITS_OWN, KILLED = 2, 3
"""So many deaths in a row that a record is met at make it the one: of a JVM that died by itself, and that was killed.

The record that a query meets first behind its checkpoint is met at each start: at two kills shortly one after the other
it may be worked on by chance.
"""


@dataclass(frozen=True)
class _Death:
    own: bool
    at: float
    works: frozenset[tuple[str, Record]]
    queries: frozenset[str]
    """All that had tasks, which worked or waited."""


class Suspects:
    """What the deaths of the JVM say of queries and records. For whoever has the lock of the catalog."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._file: Path | None = None
        self._deaths: list[_Death] = []
        self._found: set[Record] = set()
        self._held: dict[str, Record | None] = {}
        self._apart: list[tuple[str, Record | None]] = []
        """What is to be tried, one after the other; the first runs already if :attr:`_since` is set."""
        self._since: float | None = None

    def keep_in(self, file: Path) -> None:
        """Goes on with what the server before knew, and keeps it in the file from now on."""
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            held = {query: record and Record(*record) for query, record in kept["held"].items()}
            self._deaths = [
                _Death(own, at, frozenset((q, Record(*r)) for q, r in works), frozenset(queries))
                for own, at, works, queries in kept["deaths"]
            ]
            self._held = held
            self._found = {record for record in held.values() if record is not None}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
            log.warning("which queries were held is not known, %s: %s", file, e)
        self._file = file

    def _keep(self) -> None:
        if self._file is None:
            return
        deaths = [(d.own, d.at, sorted(d.works), sorted(d.queries)) for d in self._deaths]
        new = self._file.with_suffix(".new")
        try:
            new.write_text(json.dumps({"held": self._held, "deaths": deaths}), encoding="utf-8")
            new.replace(self._file)
        except OSError as e:
            log.warning("which queries are held is not kept, %s: %s", self._file, e)

    def died(self, worked: Iterable[Worked], *, own: bool) -> None:
        """The JVM has died; ``worked``: what its tasks had taken, ``own``: nobody has killed it."""
        self._died(worked, own=own)
        self._keep()

    def _died(self, worked: Iterable[Worked], *, own: bool) -> None:
        now, worked = self._clock(), list(worked)
        works = frozenset((w.query, w.record) for w in worked if w.state == "works")
        self._deaths = [d for d in self._deaths if now - d.at < TOGETHER_SECONDS][-WITHOUT_RECORD:]
        self._deaths.append(_Death(own, now, works, frozenset(w.query for w in worked)))
        if self._since is not None:  # what ran last, when all others ran already
            [(query, record), *self._apart] = self._apart
            self._since = None
            if record is None and own:
                self._hold(query, None)
                self._deaths = []
                return
            if record is not None and (own or (query, record) in works):
                self._find(record)
        for query, record in works:
            if record in self._found:
                self._hold(query, record)
        self._look()

    def _look(self) -> None:
        needed = DEATHS_OF_ITS_OWN if self._deaths[-1].own else KILLED
        last = self._deaths[-needed:]
        if len(last) < needed:
            return
        met = frozenset.intersection(*(d.works for d in last))
        records = {record for query, record in met if query not in self._held}
        if len(records) == 1:
            self._find(*records)
        elif records:
            known = {query for query, _ in self._apart}
            self._apart += sorted((q, r) for q, r in met if q not in self._held and q not in known)
        elif not met and not self._apart and self._die_shortly():
            queries = frozenset.intersection(*(d.queries for d in self._deaths[-WITHOUT_RECORD:]))
            self._apart = sorted((q, None) for q in queries if q not in self._held)

    def _die_shortly(self) -> bool:
        """Whether the JVM has died by itself again and again, whatever the records were."""
        last = self._deaths[-WITHOUT_RECORD:]
        return len(last) == WITHOUT_RECORD and all(d.own for d in last) and self._life() < LONGEST_SECONDS

    def _life(self) -> float:
        """The longest of the lives that the JVM had lately, in seconds."""
        last = [d.at for d in self._deaths[-WITHOUT_RECORD:]]
        return max((b - a for a, b in itertools.pairwise(last)), default=0.0)

    def _find(self, record: Record) -> None:
        """It is the one: all queries that were seen at it are kept back."""
        self._found.add(record)
        for death in self._deaths:
            for query, at in death.works:
                if at == record:
                    self._hold(query, record)

    def _hold(self, query: str, record: Record | None) -> None:
        if query not in self._held or self._held[query] != record:
            log.error("query %s is held: Spark's JVM dies %s", query, "with it" if record is None else f"of {record}")
        self._held[query] = record
        self._apart = [(q, r) for q, r in self._apart if q != query]

    def problem(self, query: str) -> EngineProblem | None:
        """Why a query must not start; None if it may."""
        if query not in self._held:
            return None
        record = self._held[query]
        if record is None:
            return EngineProblem(
                "query-ends-jvm",
                "Spark's JVM dies while the query runs",
                hint=f"RESUME {query}; tries it again, TERMINATE {query}; ends it; spark.log says what the JVM died of",
                error_code=50000,
            )
        return EngineProblem(
            "poison-record",
            f"Spark's JVM dies when the query reads record {record}",
            hint=f"SKIP '{record}' FOR {query}; goes on without it, RESUME {query}; tries it again",
            error_code=50000,
        )

    @property
    def tries(self) -> bool:
        """Whether queries are to be tried, or one is."""
        return bool(self._apart)

    def waits(self, query: str) -> bool:
        """Whether a query is not to be started yet: others are tried first."""
        return any(q == query for q, _ in self._apart[self._since is not None :])

    def look(self, worked: Iterable[Worked], *, at_rest: bool) -> bool:
        """Goes on with what is to be tried; whether a query may start that had to wait.

        ``worked``: as the JVM's tasks are now; ``at_rest``: whether all queries run that were started and do not fail.
        """
        if not self._apart:
            return False
        if self._since is None:
            if at_rest:
                self._since = self._clock()
                log.info("query %s is tried: it may be the one that ends Spark's JVM", self._apart[0][0])
            return at_rest
        query, record = self._apart[0]
        tried = TRIED_SECONDS if record is not None else max(TRIED_SECONDS, 2 * self._life())
        if self._clock() - self._since > tried or (record is not None and _has_passed(query, record, worked)):
            self._apart.pop(0)
            self._since = None
        return False

    def release(self, query: str) -> bool:
        """Lets a query start again: it has ended, leaves the record out, or is tried. Whether it was kept back."""
        waited, was_held = self.waits(query), query in self._held
        if self._apart and self._apart[0][0] == query:  # the next one is still to be started
            self._since = None
        self._apart = [(q, r) for q, r in self._apart if q != query]
        record = self._held.pop(query, None)
        if record is not None and record not in self._held.values():
            self._found.discard(record)
        if was_held:
            self._deaths = []
            self._keep()
        return waited or was_held


def _has_passed(query: str, record: Record, worked: Iterable[Worked]) -> bool:
    """Whether a query has survived a record."""
    of_query = [w for w in worked if w.query == query and w.record[:2] == record[:2]]
    return any(w.record.offset > record.offset or (w.record == record and w.state == "waits") for w in of_query)
