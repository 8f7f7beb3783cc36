"""Whether the plan of CREATE OR REPLACE may go on where the plan before it stopped, and with its state.

Source of the rules: ksqlDB, "Update a running persistent query". Filters of streams and the projection of the
result are passive: they may come, go and change. Sources, grouping, aggregates, and the projections of inner queries
where rows are remembered, must stay. Joins, windows and whatever else remembers rows cannot be changed at all.
Filters of tables may come, go and change, too; ksqlDB gives the new filter nothing of what the old one remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

from ksqlpy.plan.explain import plan_tree
from ksqlpy.plan.operators import Operator, Passive
from ksqlpy.plan.plan import Plan
from ksqlpy.plan.text import listed

__all__ = ["Upgrade", "going_on", "upgrade"]


@dataclass(frozen=True)
class Upgrade:
    """``problem``: why the new plan cannot go on where the old one stopped, None if it can. ``anew``: without state."""

    problem: str | None = None
    anew: bool = False


def upgrade(old: Plan, new: Plan) -> Upgrade:
    """How the new plan goes on where the old one stopped."""
    if plan_tree(old) == plan_tree(new):
        return Upgrade()
    for node in (*old.nodes, *new.nodes):
        if not node.upgradable:
            return Upgrade(f"{node.title} cannot be upgraded")
    before, after = (tuple(o.expr for o in p.root.outputs if o.key) for p in (old, new))
    if before != after:
        return Upgrade(f"the key would be {listed(after)}, not {listed(before)}")
    problem = _difference(*(_enforced(p, stateful=p.stateful) for p in (old, new)))
    if problem is None:
        return Upgrade()
    mine, other = (_enforced(p, stateful=False) for p in (old, new))
    if any(n.stateful for n in (*mine, *other)) or _difference(mine, other) is not None:
        return Upgrade(problem)
    return Upgrade(anew=True)


def going_on(old: Plan, new: Plan, *, anew: bool) -> Plan:
    """The new plan as it goes on where the old one stopped: a state that is kept (not ``anew``) keeps its rule."""
    return replace(new, by_bits=old.by_bits) if old.compares_doubles and not anew else new


def _enforced(plan: Plan, *, stateful: bool) -> list[Operator]:
    """The steps that must stay, from the result to the source; ``stateful``: where state is to be kept."""
    passive = (Passive.ALWAYS,) if stateful else (Passive.ALWAYS, Passive.WITHOUT_STATE)

    def steps(node: Operator) -> list[Operator]:
        below = [n for i in node.inputs for n in steps(i)]
        return below if node.passive in passive else [node, *below]

    return steps(plan.root.input)


def _difference(old: list[Operator], new: list[Operator]) -> str | None:
    if [type(n) for n in old] != [type(n) for n in new]:
        more, less = (old, new) if len(old) > len(new) else (new, old)
        odd = next(a for a, b in zip_longest(more, less) if type(a) is not type(b))
        return f"{odd.title} would {'go' if more is old else 'come'}"
    return next((why for a, b in zip(old, new, strict=True) if (why := a.upgrade(b)) is not None), None)
