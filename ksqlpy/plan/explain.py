"""A plan in words: the text of EXPLAIN, and the same as data."""

from __future__ import annotations

from typing import Any

from ksqlpy.plan.calls import unrepeatable
from ksqlpy.plan.mode import REAL_TIME, Mode
from ksqlpy.plan.operators import Operator
from ksqlpy.plan.plan import Plan

__all__ = ["plan_json", "plan_text", "plan_tree"]


def plan_text(plan: Plan, mode: Mode = REAL_TIME) -> str:
    """The tree, then the mode and what a restart may repeat, and why."""
    return f"{plan_tree(plan)}\nmode: {_mode(plan, mode)}\nexactly once: {_guarantee(plan)}"


def _guarantee(plan: Plan) -> str:
    """With what a function that is not deterministic makes of it."""
    names = unrepeatable(plan)
    if not names:
        return plan.guarantee
    why = f"{' and '.join(names)} may give another value where a record is read again after a restart"
    if plan.retraced:
        why += ", so that what is remembered may differ from a result that was written"
    way = "CREATE STREAM … AS SELECT with the function alone first, and go on from its topic"
    return f"{plan.guarantee}; but {why}. The way out: {way}"


def plan_tree(plan: Plan) -> str:
    """The tree, one node a line, inputs indented."""
    lines: list[str] = []

    def add(node: Operator, depth: int) -> None:
        name, detail = node.explain()
        lines.append(f"{'  ' * depth}{name} {detail}".rstrip())
        for below in node.inputs:
            add(below, depth + 1)

    add(plan.root, 0)
    return "\n".join(lines)


def plan_json(plan: Plan, mode: Mode = REAL_TIME) -> dict[str, Any]:
    """The same as nested objects: ``node``, ``detail``, ``inputs``.

    At the top also ``mode`` with ``notRealTime``, the reasons against real time, and ``exactlyOnce``.
    """

    def data(node: Operator) -> dict[str, Any]:
        name, detail = node.explain()
        return {"node": name, "detail": detail, "inputs": [data(n) for n in node.inputs]}

    return {
        **data(plan.root),
        "mode": _mode(plan, mode),
        "notRealTime": list(mode.reasons),
        "exactlyOnce": _guarantee(plan),
    }


def _mode(plan: Plan, mode: Mode) -> str:
    text = mode.text
    if plan.by_time:
        text += "; records of all partitions are read in event-time order"
    return text
