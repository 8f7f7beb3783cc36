"""Whether the plan of CREATE OR REPLACE may take over the state of the plan before it.

Source of the rules: ksqlDB, "Update a running persistent query". Filters of streams and the projection of the
result are passive: they may come, go and change. Sources, grouping, aggregates, and the projections of inner queries
where rows are remembered, must stay. Joins, windows and whatever else remembers rows cannot be changed at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from ksqlpy.analysis.typed import Expr
from ksqlpy.plan.explain import expression_text, plan_tree
from ksqlpy.plan.nodes import Aggregate, Filter, Node, Plan, Project, Scan, TableFilter, inputs_of, nodes_of

__all__ = ["upgrade_problem"]


def upgrade_problem(old: Plan, new: Plan) -> str | None:
    """Why the new plan cannot go on where the old one stopped; None if it can."""
    if plan_tree(old) == plan_tree(new):
        return None
    for plan in (old, new):
        for node in nodes_of(plan.root):
            if not isinstance(node, Scan | Filter | Project | Aggregate | TableFilter) or (
                isinstance(node, Aggregate) and node.window is not None
            ):
                return f"{_name(node)} cannot be upgraded"
    before, after = (tuple(o.expr for o in p.root.outputs if o.key) for p in (old, new))
    if before != after:
        return f"the key would be {_listed(after)}, not {_listed(before)}"
    return _difference(_enforced(old), _enforced(new))


def _enforced(plan: Plan) -> list[Node]:
    """The steps that must stay, from the result to the source."""
    passive = Filter if plan.stateful else Filter | Project

    def steps(node: Node) -> list[Node]:
        below = [n for i in inputs_of(node) for n in steps(i)]
        return below if isinstance(node, passive) else [node, *below]

    return steps(plan.root.input)


def _difference(old: list[Node], new: list[Node]) -> str | None:
    if [type(n) for n in old] != [type(n) for n in new]:
        more, less = (old, new) if len(old) > len(new) else (new, old)
        odd = next(a for a, b in zip_longest(more, less) if type(a) is not type(b))
        return f"{_name(odd)} would {'go' if more is old else 'come'}"
    for a, b in zip(old, new, strict=True):
        if isinstance(a, Scan) and isinstance(b, Scan):
            before, after = a.relation.source, b.relation.source
            if (before.name, before.topic) != (after.name, after.topic):
                return f"it would read {after.name}, not {before.name}"
            formats = [(s.key_format, s.value_format, s.key_delimiter, s.value_delimiter) for s in (before, after)]
            if formats[0] != formats[1]:
                return f"the formats of {before.name} are others"
            if (before.timestamp, before.timestamp_format) != (after.timestamp, after.timestamp_format):
                return f"the TIMESTAMP of {before.name} is another"
        elif isinstance(a, Aggregate) and isinstance(b, Aggregate):
            if a.keys != b.keys:
                return f"GROUP BY would be {_listed(b.keys)}, not {_listed(a.keys)}"
            if a.aggregates != b.aggregates:
                return f"the aggregates would be {_listed(b.aggregates)}, not {_listed(a.aggregates)}"
        elif a != b and isinstance(a, Project):
            return "the columns of an inner query would change, and what is remembered was made of them"
        elif a != b:
            return f"{_name(a)} would change, and it remembers rows"
    return None


def _listed(expressions: Sequence[Expr]) -> str:
    return ", ".join(map(expression_text, expressions)) or "none"


def _name(node: Node) -> str:
    if isinstance(node, Aggregate):
        return "a windowed aggregation" if node.window is not None else "an aggregation"
    if isinstance(node, TableFilter):
        return "a filter of a table or HAVING"
    if isinstance(node, Project):
        return "a query inside the query"
    # TableJoin: "the step table join".
    return "the step " + re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
