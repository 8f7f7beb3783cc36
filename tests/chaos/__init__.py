"""Kill tests: queries under load on real parts, which are killed at random moments, and a check of every result.

    python -m tests.chaos --kills 10 --kinds server,stop --partitions 4 --seed 7

The broker is our child, the server a process of its own. A producer sends records whose numbers are unique; after the
load all result topics are read and compared with what was sent, record for record, by what must hold in whatever order
the records of several partitions meet. ``in`` are the records of a job's stream, ``due`` the results that they must
give, ``out`` those that there are; then what came twice, what is missing, how often results step back, and values that
no order explains. Running out of patience is a finding, too: what has not come is missing.

:mod:`.jobs` are the queries with their truth, :mod:`.passed` and :mod:`.steps` the two kinds of truth, :mod:`.kills`
the kinds of kills, :mod:`.run` the course of a run.
"""

from __future__ import annotations

from tests.chaos.options import Options
from tests.chaos.report import Report
from tests.chaos.run import run
from tests.chaos.verdict import Verdict

__all__ = ["Options", "Report", "Verdict", "run"]
