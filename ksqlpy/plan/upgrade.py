"""Whether the plan of CREATE OR REPLACE may take over the state of the plan before it.

Source of the rules: ksqlDB, "Update a running persistent query". Filters of streams and the projection of the
result are passive: they may come, go and change. Sources, grouping, aggregates, and the projections of inner queries
where rows are remembered, must stay. Joins, windows and whatever else remembers rows cannot be changed at all.
"""

from __future__ import annotations

from itertools import zip_longest

from ksqlpy.plan.explain import plan_tree
from ksqlpy.plan.operators import Operator
from ksqlpy.plan.plan import Plan
from ksqlpy.plan.text import listed

__all__ = ["upgrade_problem"]


def upgrade_problem(old: Plan, new: Plan) -> str | None:
    """Why the new plan cannot go on where the old one stopped; None if it can."""
    if plan_tree(old) == plan_tree(new):
        return None
    for node in (*old.nodes, *new.nodes):
        if not node.upgradable:
            return f"{node.title} cannot be upgraded"
    before, after = (tuple(o.expr for o in p.root.outputs if o.key) for p in (old, new))
    if before != after:
        return f"the key would be {listed(after)}, not {listed(before)}"
    return _difference(_enforced(old), _enforced(new))


def _enforced(plan: Plan) -> list[Operator]:
    """The steps that must stay, from the result to the source."""

    def steps(node: Operator) -> list[Operator]:
        below = [n for i in node.inputs for n in steps(i)]
        return below if node.passive(stateful=plan.stateful) else [node, *below]

    return steps(plan.root.input)


def _difference(old: list[Operator], new: list[Operator]) -> str | None:
    if [type(n) for n in old] != [type(n) for n in new]:
        more, less = (old, new) if len(old) > len(new) else (new, old)
        odd = next(a for a, b in zip_longest(more, less) if type(a) is not type(b))
        return f"{odd.title} would {'go' if more is old else 'come'}"
    return next((why for a, b in zip(old, new, strict=True) if (why := a.upgrade(b)) is not None), None)
