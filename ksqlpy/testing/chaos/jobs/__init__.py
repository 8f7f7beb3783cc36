"""The jobs, by name; each has its own topics and its own truth."""

from __future__ import annotations

from collections.abc import Mapping

from ksqlpy.testing.chaos.jobs.behind import BEHIND, DEEP
from ksqlpy.testing.chaos.jobs.best import BEST
from ksqlpy.testing.chaos.jobs.between import BETWEEN, PADDED
from ksqlpy.testing.chaos.jobs.chain import CHAIN
from ksqlpy.testing.chaos.jobs.explode import EXPLODE
from ksqlpy.testing.chaos.jobs.filter import FILTER
from ksqlpy.testing.chaos.jobs.final import FINAL
from ksqlpy.testing.chaos.jobs.group import GROUP
from ksqlpy.testing.chaos.jobs.having import HAVING
from ksqlpy.testing.chaos.jobs.inserted import INSERTED
from ksqlpy.testing.chaos.jobs.job import Feed, Job
from ksqlpy.testing.chaos.jobs.join import JOIN
from ksqlpy.testing.chaos.jobs.moves import MOVES, MOVES_HAVING
from ksqlpy.testing.chaos.jobs.of_windows import OF_WINDOWS
from ksqlpy.testing.chaos.jobs.owned import OWNED, OWNED_INNER
from ksqlpy.testing.chaos.jobs.regroup import REGROUP, REGROUP_MOVING
from ksqlpy.testing.chaos.jobs.session import SESSION
from ksqlpy.testing.chaos.jobs.tables import TABLES
from ksqlpy.testing.chaos.jobs.window import WINDOW

__all__ = ["JOBS", "Feed", "Job"]

_ALL = (
    FILTER, EXPLODE, GROUP, JOIN, TABLES, REGROUP, REGROUP_MOVING, HAVING, WINDOW, MOVES, MOVES_HAVING,
    SESSION, BETWEEN, PADDED, FINAL, OWNED, OWNED_INNER, CHAIN, BEST, BEHIND, DEEP, INSERTED,
    OF_WINDOWS,
)  # fmt: skip

JOBS: Mapping[str, Job] = {j.name: j for j in _ALL}
"""All jobs in the order in which they are reported."""
