"""UNION ALL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Depends, Lanes, Passive, Replay, Results, Stateless
from ksqlpy.plan.operators.project import Project

__all__ = ["Union"]


@dataclass(frozen=True)
class Union(Stateless):
    """The rows of all branches, which have equal outputs and no state; a record is read by each branch of its topic."""

    branches: tuple[Project, ...]

    title = "the step union"
    below = ("branches",)
    expressions = ()
    identity = None
    # A row depends on nothing, but those of several branches meet in a group.
    replay = Replay(Depends.ROW, Lanes.MIXED)
    passive = Passive.NEVER
    upgradable = False  # the number of a branch is part of the place of its rows

    @property
    def results(self) -> Results:
        """As many as branches read the topic of the record."""
        topics = [r.source.topic for r in self.relations]
        return Results.MANY if len(set(topics)) < len(topics) else Results.ONE

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        return all(b.keeps_key(keys) for b in self.branches)

    def explain(self) -> tuple[str, str]:
        return "Union", f"of {len(self.branches)}"
