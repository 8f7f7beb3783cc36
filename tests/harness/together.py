"""Many cases on one engine whose JVM is killed between their records: what comes out must be the same, and come once.

All cases go the same way side by side: statements, the first part of the records, SIGKILL of the JVM, the next part
when their queries are back, and in the end the comparison. Of every three cases one has a checkpoint that holds all
that was read when the JVM dies; the others have none, so that their queries read everything again and must know by
their results what is done.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import signal
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.spark.session import is_alive
from ksqlpy.testing.check import CaseFailed
from ksqlpy.testing.records import Record
from ksqlpy.testing.served import Served

__all__ = ["Job", "cut", "kill_jvm", "run_together", "sample"]

SIDE_BY_SIDE = 6
"""Cases that are driven at the same time; their queries all run."""

KEPT = {"commit.interval.ms": "8000"}
"""Session properties of cases with a checkpoint."""
LOST = {"commit.interval.ms": "3600000"}
"""Session properties of cases without."""

Item = TypeVar("Item")


class Job(Protocol):
    """A case on an engine. All but ``name`` raise CaseFailed or KsqlError; ``served`` is there after :meth:`start`."""

    served: Served

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def start(self, properties: Mapping[str, object]) -> None:
        """Runs its statements with these properties."""
        ...

    def records(self) -> Sequence[Record]:
        """What goes in."""
        ...

    def verify(self) -> None:
        """Waits for the results, when all has gone in, and compares them."""
        ...

    def drop(self) -> None:
        """Takes it off the engine."""
        ...


@dataclass
class _Course:
    """A job on its way; ``failure`` ends it."""

    job: Job
    kept: bool
    parts: list[Sequence[Record]]
    failure: str | None = None


def run_together(
    engine: Engine,
    jobs: Sequence[Job],
    *,
    kills: int = 1,
    properties: Mapping[str, object] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[str | None]:
    """Runs jobs together, with so many kills between their records; gives for each why it failed, or None.

    The engine must have a JVM of its own and room for all. ``properties``: of the sessions that run the statements.
    """
    courses = [_Course(job, number % 3 == 0, []) for number, job in enumerate(jobs)]

    def each(step: Callable[[_Course], None], what: str) -> None:
        begin = time.monotonic()

        def one(course: _Course) -> None:
            try:
                step(course)
            except Exception as e:  # whatever it is belongs to the case
                known = isinstance(e, CaseFailed)
                course.failure = e.render() if isinstance(e, KsqlError) else str(e) if known else f"crash: {e!r}"
                tell(f"FAILED {course.job.name}")

        with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="together") as pool:
            list(pool.map(one, [c for c in courses if c.failure is None]))
        failed = sum(c.failure is not None for c in courses)
        tell(f"{what}: {time.monotonic() - begin:.1f} s" + (f", {failed} failed so far" if failed else ""))

    def start(course: _Course) -> None:
        course.job.start({**(properties or {}), **(KEPT if course.kept else LOST)})
        course.parts = cut(course.job.records(), kills + 1)

    def send(course: _Course) -> None:
        course.job.served.send(course.parts.pop(0))
        course.job.served.settle()

    def begin(course: _Course) -> None:
        course.job.served.wait_until_live()
        send(course)

    def keep(course: _Course) -> None:
        if course.kept:
            course.job.served.wait_until_committed()

    def resume(course: _Course) -> None:
        course.job.served.wait_until_back()
        send(course)

    each(start, "statements")
    each(begin, "first records")
    for _ in range(kills):
        each(keep, "checkpoints")
        alive = [c.job.served for c in courses if c.failure is None]
        for served in alive:
            served.before_death()
        kill_jvm(engine)
        for served in alive:
            served.after_death()
        each(resume, "JVM killed, queries back, next records")
    each(lambda course: course.job.verify(), "results")
    return [c.failure for c in courses]


def kill_jvm(engine: Engine) -> None:
    """Kills the engine's JVM with SIGKILL, and returns when it is gone; the engine starts another one by itself."""
    session = engine.session
    jvm: Any = session._jvm
    os.kill(int(jvm.java.lang.ProcessHandle.current().pid()), signal.SIGKILL)
    while is_alive(session):
        time.sleep(0.01)


def cut(records: Sequence[Record], parts: int) -> list[Sequence[Record]]:
    """The records in so many parts, as even as can be, the larger ones first.

    >>> cut([1, 2, 3, 4, 5], 2)
    [[1, 2, 3], [4, 5]]
    """
    places = [-(-len(records) * i // parts) for i in range(parts + 1)]
    return [records[a:b] for a, b in itertools.pairwise(places)]


def sample(
    items: Sequence[Item], count: int, *, group: Callable[[Item], Hashable], name: Callable[[Item], str]
) -> list[Item]:
    """So many of the items, the same ones each time: of each group by turns, in the order of their names' hashes."""
    ordered = sorted(items, key=lambda i: hashlib.sha256(name(i).encode()).digest())
    turns: dict[Hashable, int] = {}
    ranked: list[tuple[int, int, Item]] = []
    for item in ordered:
        turn = turns.setdefault(group(item), 0)
        turns[group(item)] += 1
        ranked.append((turn, len(ranked), item))
    return [item for _, _, item in sorted(ranked, key=lambda r: r[:2])[:count]]
