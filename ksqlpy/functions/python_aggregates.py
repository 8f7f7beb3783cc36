"""Aggregates in Python: the state of a group is a value of SQL, which workers change (``jvm/python/Folding.java``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ksqlpy.functions.aggregate_sums import value_of
from ksqlpy.functions.signatures import AggregateSignature, ArgTypes, Change
from ksqlpy.functions.sparktext import folded
from ksqlpy.udfs.definition import METHODS, Definition

__all__ = ["aggregate_signature"]


def aggregate_signature(definition: Definition) -> AggregateSignature:
    """The overload of an AGGREGATE definition: its state is that of Spark's aggregate, its result that of the class."""

    def state(change: Change, types: ArgTypes) -> Mapping[str, str]:
        sides = {"come": _arguments(change.new, change.comes)}
        if change.goes is not None:
            sides["gone"] = _arguments(change.old, change.goes)
        row = ", ".join(f"'{name}', {side}" for name, side in sides.items())
        return {"value": folded(_described(definition, adds=change.sessions), f"named_struct({row})")}

    return AggregateSignature(
        definition.arguments,
        definition.returns,
        state,
        value_of,
        undo=definition.undo,
        merges=definition.merge,
    )


def _arguments(values: Sequence[str], condition: str) -> str:
    """What a row gives, null if it does not come: a struct, of nothing where the aggregate takes nothing."""
    fields = ", ".join(f"'{i}', {v}" for i, v in enumerate(values)) or "'0', 0"
    return f"CASE WHEN {condition} THEN named_struct({fields}) END"


def _described(definition: Definition, *, adds: bool) -> Mapping[str, object]:
    """What all calls of its methods have alike once, and what they differ in for each."""
    methods = [m for m in METHODS if getattr(definition, m, True)]
    calls = {m: definition.to_call(m) for m in methods}
    own = ("method", "takes", "gives", "most")
    alike = {k: v for k, v in calls["init"].items() if k not in own}
    return {
        "call": alike,
        "methods": {m: {k: v for k, v in call.items() if k in own} for m, call in calls.items()},
        "adds": adds,
    }
