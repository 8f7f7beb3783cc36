"""Aggregates that keep values of the group: lists, sets, the first, the last and the highest values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from ksqlpy.functions.aggregate_sums import first_type, value_of
from ksqlpy.functions.signatures import ANY, Aggregate, AggregateSignature, ArgTypes, Change, Family
from ksqlpy.functions.sparktext import bits, in_order, named, of_bits, whole_constant
from ksqlpy.types import (
    BIGINT,
    BOOLEAN,
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
    StructType,
)

__all__ = ["VALUES", "java_aggregate", "told_apart"]

_ORDERED = (INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)


def java_aggregate(specification: Mapping[str, object], *arguments: str) -> str:
    """Spark text of one of our own aggregates (``spark/jvm/catalog/Functions.java``)."""
    name = json.dumps(specification, separators=(",", ":"))
    return f"ksqlpy.{named(name)}({', '.join(arguments)})"


def told_apart(change: Change, value: str, type_: SqlType) -> str:
    """The value, equal ones with equal bytes in Spark's rows: maps in their order, and one NaN for all."""
    return in_order(of_bits(bits(value, type_), type_) if change.by_bits else value, type_)


def _listed(types: ArgTypes) -> SqlType:
    return ArrayType(types[0])


def _item(value: str, condition: str) -> str:
    return f"CASE WHEN {condition} THEN named_struct('value', {value}) END"


def _collect(distinct: bool) -> Callable[[Change, ArgTypes], Mapping[str, str]]:
    def state(change: Change, types: ArgTypes) -> Mapping[str, str]:
        specification: dict[str, object] = {"aggregate": "first"}
        if distinct:
            specification["distinct"] = True
        if change.limit is not None:
            specification["limit"] = change.limit
        if not distinct and change.goes is None:
            return {"value": java_aggregate(specification, _item(change.new[0], change.comes))}
        # Values are found again by their bytes.
        items = [_item(told_apart(change, change.new[0], types[0]), change.comes)]
        if change.goes is not None:
            items.append(_item(told_apart(change, change.old[0], types[0]), change.goes))
        return {"value": java_aggregate(specification, *items)}

    return state


def _by_offset(side: str, *, several: bool, flag: bool) -> AggregateSignature:
    """``side``: first or last. Arguments: the value, how many if ``several``, whether to ignore nulls if ``flag``."""

    def state(change: Change, types: ArgTypes) -> Mapping[str, str]:
        value, ignore = change.new[0], not flag or change.new[-1] == "true"
        if not several:
            return {"value": f"{side}({value}, {str(ignore).lower()})"}
        condition = f"{change.comes} AND {value} IS NOT NULL" if ignore else change.comes
        specification = {"aggregate": side, "limit": whole_constant(change.new[1])}
        return {"value": java_aggregate(specification, _item(value, condition))}

    constants = (INTEGER,) * several + (BOOLEAN,) * flag
    return AggregateSignature(
        (ANY, *constants), _listed if several else first_type, state, value_of, constants=len(constants)
    )


def _offset_signatures(side: str) -> tuple[AggregateSignature, ...]:
    return tuple(_by_offset(side, several=several, flag=flag) for several in (False, True) for flag in (False, True))


def _top(distinct: bool) -> Callable[[Change, ArgTypes], Mapping[str, str]]:
    def state(change: Change, types: ArgTypes) -> Mapping[str, str]:
        value, others, limit = change.new[0], change.new[1:-1], whole_constant(change.new[-1])
        specification: dict[str, object] = {"aggregate": "highest", "limit": limit}
        if distinct:
            specification["distinct"] = True
        if others:
            specification["whole"] = True
        if change.by_bits and types[0] == DOUBLE:
            specification["bits"] = True
        fields = ", ".join(f"'{n}', {v}" for n, v in zip(_names(others), (value, *others), strict=True))
        item = f"CASE WHEN {value} IS NOT NULL THEN named_struct({fields}) END"
        return {"value": java_aggregate(specification, item)}

    return state


def _names(others: Sequence[object]) -> tuple[str, ...]:
    return ("sort_col", *(f"col{i}" for i in range(len(others))))


def _top_rows(types: ArgTypes) -> SqlType:
    columns = types[:-1]
    return ArrayType(StructType(tuple(zip(_names(columns[1:]), columns, strict=True))))


_DECIMAL = Family("DECIMAL", lambda t: isinstance(t, DecimalType))

VALUES = (
    Aggregate(
        "COLLECT_LIST",
        "AGGREGATE",
        "All values as an array, also nulls, in the order in which they came.",
        "COLLECT_LIST(CITY)",
        (
            AggregateSignature(
                (ANY,), _listed, _collect(False), value_of, undo=True, limit="ksql.functions.collect_list.limit"
            ),
        ),
    ),
    Aggregate(
        "COLLECT_SET",
        "AGGREGATE",
        "The different values as an array, also null, in the order in which they first came.",
        "COLLECT_SET(CITY)",
        (
            AggregateSignature(
                (ANY,), _listed, _collect(True), value_of, limit="ksql.functions.collect_set.limit", compares=True
            ),
        ),
    ),
    Aggregate(
        "EARLIEST_BY_OFFSET",
        "AGGREGATE",
        "The value that came first, or an array of the first n; nulls are passed over unless ignoreNulls is false.",
        "EARLIEST_BY_OFFSET(CITY)",
        _offset_signatures("first"),
    ),
    Aggregate(
        "LATEST_BY_OFFSET",
        "AGGREGATE",
        "The value that came last, or an array of the last n; nulls are passed over unless ignoreNulls is false.",
        "LATEST_BY_OFFSET(CITY, 2)",
        _offset_signatures("last"),
    ),
    Aggregate(
        "TOPK",
        "AGGREGATE",
        "The k largest values, largest first; with further columns an array of structs sort_col, col0, col1, ….",
        "TOPK(AMOUNT, 3)",
        (
            *(
                AggregateSignature((t, INTEGER), _listed, _top(False), value_of, constants=1, compares=True)
                for t in (INTEGER, BIGINT, DOUBLE, STRING)
            ),
            *(
                AggregateSignature(
                    (t, ANY, INTEGER), _top_rows, _top(False), value_of, constants=1, variadic=True, compares=True
                )
                for t in (INTEGER, BIGINT, DOUBLE, STRING)
            ),
        ),
    ),
    Aggregate(
        "TOPKDISTINCT",
        "AGGREGATE",
        "The k largest different values, largest first.",
        "TOPKDISTINCT(AMOUNT, 3)",
        tuple(
            AggregateSignature((t, INTEGER), _listed, _top(True), value_of, constants=1, compares=True)
            for t in (*_ORDERED, _DECIMAL)
        ),
    ),
)
