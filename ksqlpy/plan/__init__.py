"""The logical plan of a query: operators, builder, EXPLAIN."""

from __future__ import annotations

from ksqlpy.plan.build import PLAN_VERSION, STATELESS_VERSION, build_plan
from ksqlpy.plan.explain import plan_json, plan_text, plan_tree
from ksqlpy.plan.mode import Mode, mode_of
from ksqlpy.plan.plan import Plan
from ksqlpy.plan.upgrade import Upgrade, going_on, upgrade

__all__ = [
    "PLAN_VERSION",
    "STATELESS_VERSION",
    "Mode",
    "Plan",
    "Upgrade",
    "build_plan",
    "going_on",
    "mode_of",
    "plan_json",
    "plan_text",
    "plan_tree",
    "upgrade",
]
