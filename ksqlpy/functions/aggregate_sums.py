"""COUNT, SUM, SUM_LIST, AVG, MIN and MAX: nulls are ignored, sums start at 0, AVG of nothing is 0."""

from __future__ import annotations

from collections.abc import Mapping

from ksqlpy.functions.signatures import ANY, ANY_DECIMAL, Aggregate, AggregateSignature, ArgTypes, Change
from ksqlpy.functions.sparktext import decimal, key_text, text_key
from ksqlpy.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    SqlType,
)

__all__ = ["SUMS", "first_type", "number_of", "sum_of", "value_of"]


def first_type(types: ArgTypes) -> SqlType:
    """The type of the first argument."""
    return types[0]


def value_of(state: Mapping[str, str], types: ArgTypes) -> str:
    """The result that is the state's column ``value`` itself."""
    return state["value"]


def number_of(change: Change, of: int = 0) -> str:
    """Spark aggregate: how many values an argument has that are not null."""
    if change.goes is None:
        return f"count({change.new[of]})"
    return f"sum(int({change.new[of]} IS NOT NULL) - int({change.old[of]} IS NOT NULL))"


def sum_of(change: Change, new: str, old: str, zero: str = "0") -> str:
    """Spark aggregate: the sum over ``new``, less ``old``; null counts as nothing."""
    if change.goes is None:
        return f"sum({new})"
    return f"sum(coalesce({new}, {zero}) - coalesce({old}, {zero}))"


def _sum_of_argument(change: Change, zero: str = "0") -> str:
    return sum_of(change, change.new[0], change.old[0] if change.old else "", zero)


def _count_rows(change: Change, types: ArgTypes) -> Mapping[str, str]:
    if change.goes is None:
        return {"value": "count(1)"}
    return {"value": f"sum(int({change.comes}) - int({change.goes}))"}


def _count(change: Change, types: ArgTypes) -> Mapping[str, str]:
    return {"value": number_of(change)}


def _sum(change: Change, types: ArgTypes) -> Mapping[str, str]:
    return {"value": _sum_of_argument(change)}


def _sum_whole(state: Mapping[str, str], types: ArgTypes) -> str:
    # Spark adds INTEGERs as BIGINT; cutting the sum to 32 bits is the same wrap-around as adding in 32 bits.
    target = "int" if types[0] in (INTEGER, ArrayType(INTEGER)) else "bigint"
    return f"cast(coalesce({state['value']}, 0) as {target})"


def _sum_double(state: Mapping[str, str], types: ArgTypes) -> str:
    return f"coalesce({state['value']}, 0.0D)"


def _sum_decimal_state(change: Change, types: ArgTypes) -> Mapping[str, str]:
    declared = types[0]
    assert isinstance(declared, DecimalType)
    count = f"count({change.new[0]})" if change.goes is None else "count(1)"
    return {"value": _sum_of_argument(change, f"cast(0 as {decimal(declared)})"), "count": count}


def _sum_decimal(state: Mapping[str, str], types: ArgTypes) -> str:
    # ksqlDB ends the query at an overflow, which would then meet the same record again and again; here it is null.
    declared = types[0]
    assert isinstance(declared, DecimalType)
    kind = decimal(declared)
    return f"case when {state['count']} = 0 then cast(0 as {kind}) else cast({state['value']} as {kind}) end"


def _item(types: ArgTypes) -> SqlType:
    listed = types[0]
    assert isinstance(listed, ArrayType)
    return listed.item


def _sum_list(change: Change, types: ArgTypes) -> Mapping[str, str]:
    item = _item(types)
    start = "0" if item == INTEGER else "0L" if item == BIGINT else "0.0D"

    def total(array: str) -> str:
        return f"aggregate({array}, {start}, (__sum, __item) -> __sum + coalesce(__item, {start}))"

    old = total(change.old[0]) if change.old else ""
    return {"value": sum_of(change, total(change.new[0]), old)}


def _avg_state(change: Change, types: ArgTypes) -> Mapping[str, str]:
    new, old = (f"cast({a[0]} as double)" if a else "" for a in (change.new, change.old))
    return {"sum": sum_of(change, new, old, "0.0D"), "count": number_of(change)}


def _avg(state: Mapping[str, str], types: ArgTypes) -> str:
    return f"case when {state['count']} = 0 then 0.0D else {state['sum']} / {state['count']} end"


def _extreme(name: str) -> tuple[AggregateSignature, ...]:
    ordered = (INTEGER, BIGINT, DOUBLE, ANY_DECIMAL, STRING, BYTES, DATE, TIME, TIMESTAMP)

    def state(change: Change, types: ArgTypes) -> Mapping[str, str]:
        value = change.new[0]
        return {"value": f"{name}({text_key(value) if types[0] == STRING else value})"}

    def result(state: Mapping[str, str], types: ArgTypes) -> str:
        return key_text(state["value"]) if types[0] == STRING else state["value"]

    return tuple(AggregateSignature((p,), first_type, state, result) for p in ordered)


SUMS = (
    Aggregate(
        "COUNT",
        "AGGREGATE",
        "Counts the rows, or the rows in which the argument is not null.",
        "COUNT(*)",
        (
            AggregateSignature((), BIGINT, _count_rows, value_of, undo=True),
            AggregateSignature((ANY,), BIGINT, _count, value_of, undo=True),
        ),
    ),
    Aggregate(
        "SUM",
        "AGGREGATE",
        "Adds up the values; 0 if there is none.",
        "SUM(AMOUNT)",
        (
            AggregateSignature((INTEGER,), INTEGER, _sum, _sum_whole, undo=True),
            AggregateSignature((BIGINT,), BIGINT, _sum, _sum_whole, undo=True),
            AggregateSignature((ANY_DECIMAL,), first_type, _sum_decimal_state, _sum_decimal, undo=True),
            AggregateSignature((DOUBLE,), DOUBLE, _sum, _sum_double, undo=True),
        ),
    ),
    Aggregate(
        "SUM_LIST",
        "AGGREGATE",
        "Adds up the items of all arrays; 0 if there is none.",
        "SUM_LIST(AMOUNTS)",
        tuple(
            AggregateSignature((ArrayType(t),), t, _sum_list, _sum_double if t == DOUBLE else _sum_whole, undo=True)
            for t in (INTEGER, BIGINT, DOUBLE)
        ),
    ),
    Aggregate(
        "AVG",
        "AGGREGATE",
        "The arithmetic mean of the values; 0 if there is none.",
        "AVG(AMOUNT)",
        tuple(AggregateSignature((t,), DOUBLE, _avg_state, _avg, undo=True) for t in (INTEGER, BIGINT, DOUBLE)),
    ),
    Aggregate("MIN", "AGGREGATE", "The smallest value.", "MIN(AMOUNT)", _extreme("min")),
    Aggregate("MAX", "AGGREGATE", "The largest value.", "MAX(AMOUNT)", _extreme("max")),
)
