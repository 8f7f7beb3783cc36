"""Functions of numbers.

Source of the semantics: ksqlDB's mathematical functions, which give what Java's Math gives, NaN and infinities too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.registry import ANY_DECIMAL, ArgTypes, Scalar, Signature, SparkText, same
from ksqlpy.functions.sparktext import bound, decimal, quoted, whole_constant
from ksqlpy.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    DecimalType,
    SqlType,
    is_numeric,
)

__all__ = ["NUMBERS"]


_LAST_FIVE = quoted(r"(?<!E.{0,3})5(?=0*(?:\.0)?(?:E-?[0-9]+)?$)")
"""A 5 as the last digit of a DOUBLE's text, added zeros and the exponent aside."""


def _first(types: ArgTypes) -> SqlType:
    return types[0]


def _whole(types: ArgTypes) -> SqlType:
    t = types[0]
    assert isinstance(t, DecimalType)
    return DecimalType(max(1, t.precision - t.scale), 0)


def _decimal_of(t: SqlType) -> str:
    assert isinstance(t, DecimalType)
    return decimal(t)


def _same(a: Sequence[str], t: ArgTypes) -> str:
    return a[0]


def _down(x: str) -> str:
    # Spark's floor of a DOUBLE is a BIGINT: too small for some, and without -0.0.
    return f"case when rint({x}) > {x} then rint({x}) - 1D else rint({x}) end"


def _floor(a: Sequence[str], t: ArgTypes) -> str:
    return bound(a[0], _down)


def _ceil(a: Sequence[str], t: ArgTypes) -> str:
    return bound(f"-({a[0]})", lambda x: f"-({_down(x)})")


def _in_type(function: str) -> SparkText:
    return lambda a, t: f"cast({function}({a[0]}) as {_decimal_of(t[0])})"


def _round(a: Sequence[str], t: ArgTypes) -> str:
    # rint takes the even neighbour of a half; where that is the lower one, the difference is 0.5.
    return bound(a[0], lambda x: f"cast(rint({x}) + if({x} - rint({x}) = 0.5D, 1D, 0D) as bigint)")


def _round_places(a: Sequence[str], t: ArgTypes) -> str:
    places = a[1]

    def body(x: str) -> str:
        # Spark rounds a half away from zero, ksqlDB up. So a negative number loses a 5 that is its last digit and the
        # one to go. NaN and the infinities have no digits: an error in ksqlDB.
        one_too_many = f"{x} < 0 and {x} = round({x}, ({places}) + 1) and {x} <> round({x}, {places})"
        nearer = f"cast(regexp_replace(cast({x} as string), {_LAST_FIVE}, '0') as double)"
        return (
            f"case when isnan({x} - {x}) then cast(null as double) when {one_too_many} then round({nearer}, {places})"
            f" else round({x}, {places}) end"
        )

    return bound(a[0], body)


def _round_decimal(a: Sequence[str], t: ArgTypes) -> str:
    target = _whole(t)
    body = bound(a[0], lambda x: f"case when {x} % 1 = -0.5 then ceil({x}) else round({x}, 0) end")
    return f"cast({body} as {_decimal_of(target)})"


def _round_decimal_places(a: Sequence[str], t: ArgTypes) -> str:
    own = t[0]
    assert isinstance(own, DecimalType)
    places = whole_constant(a[1])
    text = a[1] if places is None else str(places)
    if places is not None and places >= own.scale:
        return a[0]
    unit = f"cast(concat('1E', -({text})) as decimal(38, {own.scale}))"
    half = f"cast(concat('-5E', -({text}) - 1) as decimal(38, {own.scale}))"

    def body(x: str) -> str:
        return f"case when {x} % {unit} = {half} then ceil({x}, {text}) else round({x}, {text}) end"

    return f"cast({bound(a[0], body)} as {decimal(own)})"


def _double(function: str) -> SparkText:
    return lambda a, t: f"{function}({', '.join(f'cast({x} as double)' for x in a)})"


def _ln(a: Sequence[str], t: ArgTypes) -> str:
    def body(x: str) -> str:
        return (
            f"case when {x} > 0 then ln({x}) when {x} = 0 then cast('-Infinity' as double)"
            f" when {x} < 0 then cast('NaN' as double) end"
        )

    return bound(f"cast({a[0]} as double)", body)


def _pick(function: str) -> SparkText:
    return lambda a, t: f"{function}({', '.join(a)})" if len(a) > 1 else a[0]


def _math(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "MATHEMATICAL", help, example, signatures)


def _each(spark: SparkText, returns: SqlType, *types: SqlType) -> tuple[Signature, ...]:
    return tuple(Signature((x,), returns, spark) for x in types)


_NUMBERS = (INTEGER, BIGINT, DOUBLE)
_ORDERED = same("T", lambda t: is_numeric(t) or t in (STRING, DATE, TIME, TIMESTAMP))
_LAST_DIGIT = "the last digit may differ from Java's Math"

NUMBERS = (
    _math(
        "ABS",
        "The number without its sign.",
        "ABS(BALANCE)",
        *(Signature((x,), _first, lambda a, t: f"abs({a[0]})") for x in (*_NUMBERS, ANY_DECIMAL)),
    ),
    _math(
        "CEIL",
        "The least whole number that is not below the argument, in its type.",
        "CEIL(PRICE)",
        *(Signature((x,), x, _same) for x in (INTEGER, BIGINT)),
        Signature((DOUBLE,), DOUBLE, _ceil),
        Signature((ANY_DECIMAL,), _first, _in_type("ceil")),
    ),
    _math(
        "FLOOR",
        "The greatest whole number that is not above the argument, in its type.",
        "FLOOR(PRICE)",
        *(Signature((x,), x, _same) for x in (INTEGER, BIGINT)),
        Signature((DOUBLE,), DOUBLE, _floor),
        Signature((ANY_DECIMAL,), _first, _in_type("floor")),
    ),
    _math(
        "ROUND",
        "The nearest number with so many places (none without the argument, which must be a constant); halves go up.",
        "ROUND(PRICE, 2)",
        *_each(lambda a, t: f"cast({a[0]} as bigint)", BIGINT, INTEGER, BIGINT),
        Signature((DOUBLE,), BIGINT, _round),
        Signature((DOUBLE, INTEGER), DOUBLE, _round_places),
        Signature((ANY_DECIMAL,), _whole, _round_decimal),
        Signature((ANY_DECIMAL, INTEGER), _first, _round_decimal_places),
    ),
    _math(
        "SIGN",
        "-1, 0 or 1, as the number is negative, zero or positive.",
        "SIGN(BALANCE)",
        *_each(lambda a, t: f"cast(sign({a[0]}) as int)", INTEGER, *_NUMBERS),
    ),
    _math(
        "SQRT",
        "The square root; NaN of a negative number.",
        "SQRT(AREA)",
        *_each(_double("sqrt"), DOUBLE, *_NUMBERS),
    ),
    _math("EXP", f"e to that power; {_LAST_DIGIT}.", "EXP(RATE)", *_each(_double("exp"), DOUBLE, *_NUMBERS)),
    _math(
        "LN",
        f"The natural logarithm; -Infinity of 0, NaN of a negative number; {_LAST_DIGIT}.",
        "LN(RATE)",
        *_each(_ln, DOUBLE, *_NUMBERS),
    ),
    _math(
        "POWER",
        f"The first argument to the power of the second; {_LAST_DIGIT}.",
        "POWER(RATE, 2)",
        *(Signature((x, x), DOUBLE, _double("power")) for x in _NUMBERS),
    ),
    _math(
        "GREATEST",
        "The greatest argument that is not null.",
        "GREATEST(BID, ASK)",
        Signature((_ORDERED,), _first, _pick("greatest"), variadic=True),
    ),
    _math(
        "LEAST",
        "The least argument that is not null.",
        "LEAST(BID, ASK)",
        Signature((_ORDERED,), _first, _pick("least"), variadic=True),
    ),
)
