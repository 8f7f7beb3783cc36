"""Plans as canonical, versioned JSON: what the command log keeps, and what fingerprints are made of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ksqlpy.plan.explain import plan_tree
from ksqlpy.plan.plan import Plan
from ksqlpy.plan.stored.codec import from_data, to_data
from ksqlpy.plan.stored.migrations import VERSION, migrated

__all__ = ["VERSION", "Kept", "canonical", "from_data", "migrated", "read", "to_data", "write"]


def canonical(data: Any) -> str:
    """JSON data as text: equal data has equal texts."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def write(plan: Plan) -> dict[str, Any]:
    """A plan as JSON data, ``{"plan": …, "version": …}``."""
    return {"version": VERSION, "plan": to_data(plan)}


def read(data: object) -> Plan:
    """The inverse of :func:`write`, also for what older versions wrote; raises ValueError with the reason."""
    if not isinstance(data, dict) or "plan" not in data:
        raise ValueError("it holds no plan")
    plan: Plan = from_data(migrated(data["plan"], data.get("version", 0)), Plan)
    return plan


@dataclass(frozen=True)
class Kept:
    """A plan that lasts. ``identity``: the text by which checkpoints know it, made when its query was made.

    It is the text of the stored plan as it stands in the command log, whatever later versions read in it.
    """

    plan: Plan
    identity: str

    @classmethod
    def of(cls, data: object) -> Kept:
        """A plan of the command log; raises ValueError with the reason where it cannot be read."""
        return cls(read(data), canonical(data))

    @classmethod
    def unstored(cls, plan: Plan) -> Kept:
        """A plan that the command log does not hold; its checkpoint knows it by EXPLAIN's words."""
        return cls(plan, plan_tree(plan))
