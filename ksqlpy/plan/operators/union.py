"""UNION ALL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

from ksqlpy.analysis import typed as t
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Replay, Results, Stateless
from ksqlpy.plan.operators.project import Project

__all__ = ["Union"]


@dataclass(frozen=True)
class Union(Stateless):
    """The rows of all branches, which have equal outputs and no state; a record is read by each branch of its topic."""

    branches: tuple[Project, ...]

    @property
    def title(self) -> str:
        """As messages name it."""
        return "the step union"

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The branches."""
        return self.branches

    def with_inputs(self, inputs: Sequence[Operator]) -> Self:
        """The union of other branches."""
        return replace(self, branches=tuple(cast(Sequence[Project], inputs)))

    @property
    def expressions(self) -> tuple[t.Expr, ...]:
        """None: those of the branches are theirs."""
        return ()

    @property
    def identity(self) -> tuple[t.Expr, ...] | None:
        """None: its rows are those of a stream."""
        return None

    @property
    def results(self) -> Results:
        """As many as branches read the topic of the record."""
        topics = [r.source.topic for r in self.relations]
        return Results.MANY if len(set(topics)) < len(topics) else Results.ONE

    @property
    def replay(self) -> Replay:
        """A row depends on nothing, but those of several branches meet in a group."""
        return Replay(Depends.ROW, Lanes.MIXED)

    def keeps_key(self, keys: Sequence[t.Expr]) -> bool:
        """Where all branches do."""
        return all(b.keeps_key(keys) for b in self.branches)

    def passive(self, *, stateful: bool) -> bool:
        """False."""
        return False

    @property
    def upgradable(self) -> bool:
        """False: the number of a branch is part of the place of its rows."""
        return False

    def upgrade(self, new: Self) -> str | None:
        """Branches are compared as its inputs."""
        same = len(self.branches) == len(new.branches)
        return None if same else f"it would have {len(new.branches)} branches, not {len(self.branches)}"

    def explain(self) -> tuple[str, str]:
        """How many branches."""
        return "Union", f"of {len(self.branches)}"
