"""A plan as people and machines read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

from ksqlpy.errors import KsqlError
from ksqlpy.project.format import format_sql
from ksqlpy.project.mirror import canonical
from ksqlpy.project.plan import Action, Change, Plan

__all__ = ["as_json", "difference", "summary", "text"]

COMPARED = 4_000_000
"""Pairs of lines of two definitions that are compared at most; of longer ones all lines go and come."""

_WORDS = {
    Action.CREATE: "to create",
    Action.REPLACE: "to replace",
    Action.REMAKE: "to recreate",
    Action.REMOVE: "to remove",
    Action.KEEP: "unchanged",
}


def text(plan: Plan) -> str:
    """One line an object that changes, with the difference of its definitions under it; then the numbers."""
    return "\n".join([*_lines(plan), summary(plan)])


def _lines(plan: Plan) -> Iterator[str]:
    for change in plan.changes:
        if change.action is Action.KEEP:
            continue
        effect = "state lost" if change.loses_state else "recreated" if change.action is Action.REMAKE else ""
        if change.action is Action.REPLACE and not change.reason:  # else a type, or a query that does not run
            effect = "state kept"
        notes = ": ".join(filter(None, (effect, change.reason)))
        yield f"{change.action.value} {change.kind} {change.name}{f' ({notes})' if notes else ''}"
        if change.action in (Action.REPLACE, Action.REMAKE) and change.kind != "type":
            yield from (f"    {line}" for line in difference(change))
    for change in plan.strangers:
        yield f"  {change.kind} {change.name} is not in this project and stays (--prune removes it)"
    if plan.strangers or any(c.action is not Action.KEEP for c in plan.changes):
        yield ""


def difference(change: Change) -> Iterator[str]:
    """The lines of its definition that go and come, with their signs."""
    before, after = (_laid_out(s or "") for s in (change.before, change.after))
    if len(before) * len(after) > COMPARED:
        yield from (f"- {line}" for line in before)
        yield from (f"+ {line}" for line in after)
        return
    for number, line in enumerate(unified_diff(before, after, lineterm="", n=0)):
        if number > 1 and not line.startswith("@@"):
            yield f"{line[0]} {line[1:]}"


def _laid_out(statement: str) -> list[str]:
    """A definition line by line, in canonical text, so that only what it says is compared."""
    try:
        return format_sql(f"{canonical(statement)};").splitlines()
    except KsqlError:
        return statement.splitlines()


def summary(plan: Plan) -> str:
    """The numbers of changes, in one line."""
    counts = Counter(c.action for c in plan.changes)
    changed = [f"{counts[a]} {words}" for a, words in _WORDS.items() if counts[a] and a is not Action.KEEP]
    same = f"{counts[Action.KEEP]} unchanged"
    return f"Plan: {', '.join([*changed, same])}" if changed else f"Nothing to do: {same}"


def as_json(plan: Plan) -> dict[str, Any]:
    """The plan as data."""
    return {
        "changes": [_change(c) for c in plan.changes],
        "notInProject": [{"kind": c.kind, "name": c.name} for c in plan.strangers],
        "statements": [s.sql for s in plan.steps],
        "losesState": bool(plan.destroys),
        "errors": [f.as_json() for f in plan.faults],
    }


def _change(c: Change) -> dict[str, Any]:
    return {
        "action": c.action.name.lower(),
        "kind": c.kind,
        "name": c.name,
        "reason": c.reason,
        "losesState": c.loses_state,
        "before": c.before,
        "after": c.after,
    }
