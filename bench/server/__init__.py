"""The REST API of a server under load: rows inserted, statements, lookups with a login, metrics, attempts to log in.

Each job has servers of its own, as processes; the broker is one for all. Who asks is this process, or a child of it,
on the same processors: it sends bytes that are made ahead, and decodes next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from bench.server.ddl import ddl
from bench.server.info import info
from bench.server.inserts import inserts
from bench.server.logins import logins
from bench.server.lookups import lookups
from bench.server.rig import Rig
from bench.server.scrape import scrape
from bench.server.watched import watched
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError

__all__ = ["NAMES", "server"]

_JOBS: tuple[Callable[[Rig], Iterator[str]], ...] = (inserts, ddl, info, lookups, scrape, watched, logins)

NAMES = tuple(job.__name__ for job in _JOBS)


def server(
    wanted: re.Pattern[str], *, seconds: float, rounds: int, queries: int, records: int, master: str
) -> Iterator[str]:
    """A line for each figure of the jobs whose names are wanted; what is not among the figures begins with blanks.

    ``seconds``: how long each round of a job takes; ``queries``: of ``ddl``, five times as many of ``scrape``;
    ``records``: of the backlog of ``watched``.
    """
    with EmbeddedKafka() as broker:
        rig = Rig(broker.bootstrap, master, seconds, rounds, queries, records)
        for job in _JOBS:
            if not wanted.search(job.__name__):
                continue
            try:
                yield from (f"{job.__name__}: {line}" for line in job(rig))
            except (RuntimeError, KsqlError) as e:  # the others' figures are still worth having
                yield f"{job.__name__}: no figures: {e}"
