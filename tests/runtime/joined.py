"""One more property, as someone would add it, and the function that takes it: how many texts JOINED joins at most.

It changes results, so that it stands in the plan: ``limit`` of the signature has the analysis put its value there.
"""

from __future__ import annotations

from collections.abc import Mapping

from ksqlpy.config import Property
from ksqlpy.functions.aggregate_values import java_aggregate
from ksqlpy.functions.signatures import Aggregate, AggregateSignature, ArgTypes, Change
from ksqlpy.types import STRING


def check(value: str) -> str:
    if value and not (value.isdecimal() and int(value)):
        raise ValueError("must be a whole number above 0")
    return value


LIMIT = Property(
    "ksql.functions.joined.limit", "", "How many texts JOINED joins of a group; empty: all.", check, session=True
)


def state(change: Change, types: ArgTypes) -> Mapping[str, str]:
    kept = {} if change.limit is None else {"limit": change.limit}
    item = f"CASE WHEN {change.comes} THEN named_struct('value', {change.new[0]}) END"
    return {"value": java_aggregate({"aggregate": "first", **kept}, item)}


JOINED = Aggregate(
    "JOINED",
    "AGGREGATE",
    "The first texts of the group with commas between them.",
    "JOINED(CITY)",
    (AggregateSignature((STRING,), STRING, state, lambda s, t: f"array_join({s['value']}, ',')", limit=LIMIT.name),),
)
