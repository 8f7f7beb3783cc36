"""The aggregate functions: their state as native Spark aggregates, and the result from the state.

Source of the semantics: ksqlDB's aggregate functions; nulls are ignored, SUM starts at 0, AVG of nothing is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ksqlpy.functions.registry import ANY, ANY_DECIMAL, Aggregate, AggregateSignature, ArgTypes
from ksqlpy.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    SqlType,
)

__all__ = ["AGGREGATES"]


def _first(types: ArgTypes) -> SqlType:
    return types[0]


def _value(state: Mapping[str, str], types: ArgTypes) -> str:
    return state["value"]


def _count_rows(args: Sequence[str], types: ArgTypes) -> Mapping[str, str]:
    return {"value": "count(1)"}


def _count(args: Sequence[str], types: ArgTypes) -> Mapping[str, str]:
    return {"value": f"count({args[0]})"}


def _sum(args: Sequence[str], types: ArgTypes) -> Mapping[str, str]:
    return {"value": f"sum({args[0]})"}


def _sum_whole(state: Mapping[str, str], types: ArgTypes) -> str:
    # Spark adds INTEGERs as BIGINT; cutting the sum to 32 bits is the same wrap-around as adding in 32 bits.
    target = "int" if types[0] == INTEGER else "bigint"
    return f"cast(coalesce({state['value']}, 0) as {target})"


def _sum_decimal_state(args: Sequence[str], types: ArgTypes) -> Mapping[str, str]:
    return {"value": f"sum({args[0]})", "count": f"count({args[0]})"}


def _sum_decimal(state: Mapping[str, str], types: ArgTypes) -> str:
    # An overflow fails the query, as in ksqlDB; Spark without ANSI rules would give NULL.
    declared = types[0]
    total = f"cast({state['value']} as {_decimal(declared)})"
    overflow = f"raise_error('SUM does not fit {declared}')"
    return (
        f"case when {state['count']} = 0 then cast(0 as {_decimal(declared)})"
        f" when {total} is null then cast({overflow} as {_decimal(declared)}) else {total} end"
    )


def _decimal(t: SqlType) -> str:
    return str(t).replace("DECIMAL", "decimal")


def _avg_state(args: Sequence[str], types: ArgTypes) -> Mapping[str, str]:
    return {"sum": f"sum(cast({args[0]} as double))", "count": f"count({args[0]})"}


def _avg(state: Mapping[str, str], types: ArgTypes) -> str:
    return f"case when {state['count']} = 0 then 0.0D else {state['sum']} / {state['count']} end"


def _extreme(name: str) -> tuple[AggregateSignature, ...]:
    ordered = (INTEGER, BIGINT, DOUBLE, ANY_DECIMAL, STRING, BYTES, DATE, TIME, TIMESTAMP)
    return tuple(
        AggregateSignature((p,), _first, lambda args, types: {"value": f"{name}({args[0]})"}, _value) for p in ordered
    )


AGGREGATES = (
    Aggregate(
        "COUNT",
        "AGGREGATE",
        "Counts the rows, or the rows in which the argument is not null.",
        "COUNT(*)",
        (
            AggregateSignature((), BIGINT, _count_rows, _value),
            AggregateSignature((ANY,), BIGINT, _count, _value),
        ),
    ),
    Aggregate(
        "SUM",
        "AGGREGATE",
        "Adds up the values; 0 if there is none.",
        "SUM(AMOUNT)",
        (
            AggregateSignature((INTEGER,), INTEGER, _sum, _sum_whole),
            AggregateSignature((BIGINT,), BIGINT, _sum, _sum_whole),
            AggregateSignature((ANY_DECIMAL,), _first, _sum_decimal_state, _sum_decimal),
            AggregateSignature((DOUBLE,), DOUBLE, _sum, lambda s, t: f"coalesce({s['value']}, 0.0D)"),
        ),
    ),
    Aggregate(
        "AVG",
        "AGGREGATE",
        "The arithmetic mean of the values; 0 if there is none.",
        "AVG(AMOUNT)",
        tuple(AggregateSignature((t,), DOUBLE, _avg_state, _avg) for t in (INTEGER, BIGINT, DOUBLE)),
    ),
    Aggregate("MIN", "AGGREGATE", "The smallest value.", "MIN(AMOUNT)", _extreme("min")),
    Aggregate("MAX", "AGGREGATE", "The largest value.", "MAX(AMOUNT)", _extreme("max")),
)
