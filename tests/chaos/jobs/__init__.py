"""The jobs, by name; each has its own topics and its own truth."""

from __future__ import annotations

from collections.abc import Mapping

from tests.chaos.jobs.behind import BEHIND, DEEP
from tests.chaos.jobs.best import BEST
from tests.chaos.jobs.between import BETWEEN, PADDED
from tests.chaos.jobs.chain import CHAIN
from tests.chaos.jobs.explode import EXPLODE
from tests.chaos.jobs.filter import FILTER
from tests.chaos.jobs.final import FINAL
from tests.chaos.jobs.group import GROUP
from tests.chaos.jobs.having import HAVING
from tests.chaos.jobs.inserted import INSERTED
from tests.chaos.jobs.job import Feed, Job
from tests.chaos.jobs.join import JOIN
from tests.chaos.jobs.moves import MOVES, MOVES_HAVING
from tests.chaos.jobs.of_windows import OF_WINDOWS
from tests.chaos.jobs.owned import OWNED, OWNED_INNER
from tests.chaos.jobs.python import PYTHON, PYTHON_ITEMS, PYTHON_LETTERS, PYTHON_TOTALS
from tests.chaos.jobs.regroup import REGROUP, REGROUP_MOVING
from tests.chaos.jobs.session import SESSION
from tests.chaos.jobs.tables import TABLES
from tests.chaos.jobs.window import WINDOW

__all__ = ["JOBS", "Feed", "Job"]

_ALL = (
    FILTER, EXPLODE, GROUP, JOIN, TABLES, REGROUP, REGROUP_MOVING, HAVING, WINDOW, MOVES, MOVES_HAVING,
    SESSION, BETWEEN, PADDED, FINAL, OWNED, OWNED_INNER, CHAIN, BEST, BEHIND, DEEP, INSERTED,
    OF_WINDOWS, PYTHON, PYTHON_TOTALS, PYTHON_ITEMS, PYTHON_LETTERS,
)  # fmt: skip

JOBS: Mapping[str, Job] = {j.name: j for j in _ALL}
"""All jobs in the order in which they are reported."""
