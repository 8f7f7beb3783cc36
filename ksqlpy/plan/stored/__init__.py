"""Plans as canonical, versioned JSON: what the command log keeps, and what fingerprints are made of."""

from __future__ import annotations

import json
from typing import Any

from ksqlpy.plan.plan import Plan
from ksqlpy.plan.stored.codec import from_data, to_data
from ksqlpy.plan.stored.migrations import VERSION, migrated

__all__ = ["VERSION", "canonical", "from_data", "migrated", "read", "to_data", "write"]


def canonical(data: Any) -> str:
    """JSON data as text: equal data has equal texts."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def write(plan: Plan) -> str:
    """A plan as canonical JSON, ``{"plan": …, "version": …}``."""
    return canonical({"version": VERSION, "plan": to_data(plan)})


def read(text: str) -> Plan:
    """The inverse of :func:`write`, also for what older versions wrote; raises ValueError with the reason."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ValueError("it is not JSON") from e
    if not isinstance(data, dict) or "plan" not in data:
        raise ValueError("it holds no plan")
    plan: Plan = from_data(migrated(data["plan"], data.get("version", 0)), Plan)
    return plan
