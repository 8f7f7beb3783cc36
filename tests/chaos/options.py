"""What a run is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.chaos.jobs import JOBS
from tests.chaos.kills import ON_ONE_MACHINE

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """The options of a run.

    ``kills``: how many, of ``kinds``; ``min_gap`` and ``max_gap``: seconds between them. ``rate``: records a second
    over all source topics. ``commit_interval``: ms. ``guarantee``: of processing, None leaves it to the server.
    ``format``: of all values; another than JSON takes a schema registry, which is not killed. ``workers``: of a Spark
    cluster on which the queries run; 0 runs them in the server's own JVM. ``networks``: each of them is in a network
    of its own. ``early``: besides, the JVM or the server is killed within a second of each CREATE of a job.
    ``scatter``: records of streams go to partitions one after the other. ``recover``: seconds that the jobs get until
    all give results again after the last kill; ``tail``: seconds that the load goes on after that; ``quiet``: seconds
    without a new result after the load, after which none is expected. ``keep``: folder for data and logs; None takes a
    temporary one.
    """

    seed: int = 1
    kills: int = 5
    kinds: tuple[str, ...] = ON_ONE_MACHINE
    jobs: tuple[str, ...] = tuple(JOBS)
    rate: float = 1000.0
    partitions: int = 1
    commit_interval: int = 10_000
    guarantee: str | None = None
    workers: int = 0
    networks: bool = False
    early: bool = False
    scatter: bool = False
    format: str = "JSON"
    min_gap: float = 5.0
    max_gap: float = 25.0
    recover: float = 120.0
    tail: float = 10.0
    quiet: float = 30.0
    keep: Path | None = None
