"""COUNT_DISTINCT, HISTOGRAM, ATTR, CORRELATION and the two STDDEV: what a group's values are like."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ksqlpy.functions.aggregate_sums import first_type, number_of, sum_of, value_of
from ksqlpy.functions.aggregate_values import java_aggregate, told_apart
from ksqlpy.functions.signatures import ANY, Aggregate, AggregateSignature, ArgTypes, Change
from ksqlpy.functions.sparktext import bits, in_order
from ksqlpy.types import BIGINT, DOUBLE, INTEGER, STRING, MapType

__all__ = ["STATISTICS"]

_HISTOGRAM_KEYS = 1000  # ksqlDB: more different values are not counted
_SKETCH_BITS = 14  # as many registers as ksqlDB's sketch: an error of about 1 %


def _count_distinct(change: Change, types: ArgTypes) -> Mapping[str, str]:
    value = bits(change.new[0], types[0]) if change.by_bits else change.new[0]
    ordered = in_order(value, types[0])
    hashed = value if ordered == value else f"to_json(named_struct('value', {ordered}))"  # Spark hashes no maps
    return {"value": f"hll_sketch_agg(CASE WHEN {value} IS NOT NULL THEN xxhash64({hashed}) END, {_SKETCH_BITS})"}


def _estimate(state: Mapping[str, str], types: ArgTypes) -> str:
    return f"coalesce(hll_sketch_estimate({state['value']}), 0L)"


def _counted(kind: str, *, nulls: bool) -> Callable[[Change, ArgTypes], Mapping[str, str]]:
    def state(change: Change, types: ArgTypes) -> Mapping[str, str]:
        sides = [(change.new[0], change.comes)]
        if change.goes is not None:
            sides.append((change.old[0], change.goes))
        items = (
            f"CASE WHEN {condition if nulls else f'{value} IS NOT NULL'} THEN"
            f" named_struct('value', {told_apart(change, value, types[0])}) END"
            for value, condition in sides
        )
        specification: dict[str, object] = {"aggregate": kind}
        if not nulls:
            specification["limit"] = _HISTOGRAM_KEYS
        return {"value": java_aggregate(specification, *items)}

    return state


def _correlation_state(change: Change, types: ArgTypes) -> Mapping[str, str]:
    def both(values: tuple[str, str]) -> dict[str, str]:
        """The terms of a pair; null, unless both values are there."""
        x, y = values
        return {
            "x": f"CASE WHEN {y} IS NOT NULL THEN {x} END",
            "y": f"CASE WHEN {x} IS NOT NULL THEN {y} END",
            "xx": f"CASE WHEN {y} IS NOT NULL THEN {x} * {x} END",
            "yy": f"CASE WHEN {x} IS NOT NULL THEN {y} * {y} END",
            "xy": f"{x} * {y}",
        }

    new = both((change.new[0], change.new[1]))
    old = both((change.old[0], change.old[1])) if change.goes is not None else dict.fromkeys(new, "")
    sums = {name: sum_of(change, new[name], old[name], "0.0D") for name in new}
    pairs = Change([new["xy"]], change.comes, [old["xy"]], change.goes)
    return {"n": number_of(pairs), **sums}


def _correlation(state: Mapping[str, str], types: ArgTypes) -> str:
    n, x, y, xx, yy, xy = (state[name] for name in ("n", "x", "y", "xx", "yy", "xy"))
    # One root of the product, as in ksqlDB: two roots may differ in the last digit.
    spread = f"sqrt(({n} * {xx} - {x} * {x}) * ({n} * {yy} - {y} * {y}))"
    return f"CASE WHEN {spread} > 0 THEN ({n} * {xy} - {x} * {y}) / {spread} ELSE double('NaN') END"


def _variance_state(change: Change, types: ArgTypes) -> Mapping[str, str]:
    sides = [change.new[0], *change.old[:1]]
    return {"value": java_aggregate({"aggregate": "variance"}, *(f"cast({s} as double)" for s in sides))}


def _deviation(state: Mapping[str, str], types: ArgTypes) -> str:
    return f"sqrt({state['value']})"


STATISTICS = (
    Aggregate(
        "COUNT_DISTINCT",
        "AGGREGATE",
        "About how many different values there are, by a HyperLogLog sketch; nulls do not count.",
        "COUNT_DISTINCT(CITY)",
        (AggregateSignature((ANY,), BIGINT, _count_distinct, _estimate, compares=True),),
    ),
    Aggregate(
        "HISTOGRAM",
        "AGGREGATE",
        "How often each value came, as a map; at most 1000 different values are counted, nulls are not.",
        "HISTOGRAM(CITY)",
        (AggregateSignature((STRING,), MapType(STRING, BIGINT), _counted("counts", nulls=False), value_of, undo=True),),
    ),
    Aggregate(
        "ATTR",
        "AGGREGATE",
        "The value that all rows of the group share; null if there are several, null being a value too.",
        "ATTR(COUNTRY)",
        (AggregateSignature((ANY,), first_type, _counted("single", nulls=True), value_of, undo=True, compares=True),),
    ),
    Aggregate(
        "CORRELATION",
        "AGGREGATE",
        "Pearson's correlation of two columns; NaN where it is not defined. Pairs with a null do not count.",
        "CORRELATION(DISTANCE, AMOUNT)",
        (AggregateSignature((DOUBLE, DOUBLE), DOUBLE, _correlation_state, _correlation, undo=True),),
    ),
    Aggregate(
        "STDDEV_SAMP",
        "AGGREGATE",
        "The sample variance, in spite of the name; 0 of fewer than two values. STDDEV_SAMPLE is the deviation.",
        "STDDEV_SAMP(AMOUNT)",
        tuple(
            AggregateSignature((t,), DOUBLE, _variance_state, value_of, undo=True) for t in (INTEGER, BIGINT, DOUBLE)
        ),
    ),
    Aggregate(
        "STDDEV_SAMPLE",
        "AGGREGATE",
        "The standard deviation of a sample; 0 of fewer than two values.",
        "STDDEV_SAMPLE(AMOUNT)",
        tuple(
            AggregateSignature((t,), DOUBLE, _variance_state, _deviation, undo=True) for t in (INTEGER, BIGINT, DOUBLE)
        ),
    ),
)
