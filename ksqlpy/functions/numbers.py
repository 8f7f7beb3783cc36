"""Functions of numbers.

Source of the semantics: ksqlDB's mathematical functions, which give what Java's Math gives, NaN and infinities too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ksqlpy.functions.signatures import ANY_DECIMAL, EVERY, ArgTypes, Scalar, Signature, SparkText, same
from ksqlpy.functions.sparktext import bound, decimal, exact, key_text, negative, text_key, whole_constant
from ksqlpy.types import (
    BIGINT,
    BYTES,
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


def _abs(a: Sequence[str], t: ArgTypes) -> str:
    return negative(a[0], t[0], absolute=True)


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


def _round_decimal(a: Sequence[str], t: ArgTypes) -> str:
    target = _whole(t)
    body = bound(a[0], lambda x: f"case when {x} % 1 = -0.5 then ceil({x}) else round({x}, 0) end")
    return f"cast({body} as {_decimal_of(target)})"


def _trunc_decimal(a: Sequence[str], t: ArgTypes) -> str:
    body = bound(a[0], lambda x: f"case when {x} < 0 then ceil({x}) else floor({x}) end")
    return f"cast({body} as {_decimal_of(_whole(t))})"


def _to_places(body: SparkText, function: str) -> SparkText:
    """The text of ``body``, which gets the DECIMAL's name and a constant number of places.

    Spark takes constants only, so others get the Java function.
    """
    return lambda a, t: _to_constant_places(body, a, t) or exact(function, objects=a)


def _to_constant_places(body: SparkText, a: Sequence[str], t: ArgTypes) -> str | None:
    own = t[0]
    assert isinstance(own, DecimalType)
    constant = whole_constant(a[1])
    if constant is None:
        return None
    if constant >= own.scale:
        return a[0]
    return f"cast({bound(a[0], lambda x: body([x, str(constant)], t))} as {decimal(own)})"


def _rounded(a: Sequence[str], t: ArgTypes) -> str:
    x, places = a
    own = t[0]
    assert isinstance(own, DecimalType)
    if -int(places) + own.scale >= 38:
        return f"({x} * 0)"
    unit = f"cast(1E{-int(places)} as decimal(38, {own.scale}))"
    half = f"cast(-5E{-int(places) - 1} as decimal(38, {own.scale}))"
    return f"case when {x} % {unit} = {half} then ceil({x}, {places}) else round({x}, {places}) end"


def _truncated(a: Sequence[str], t: ArgTypes) -> str:
    x, places = a
    return f"case when {x} < 0 then ceil({x}, {places}) else floor({x}, {places}) end"


def _java(function: str) -> SparkText:
    return lambda a, t: exact(function, *a)


def _pick(function: str) -> SparkText:
    def text(a: Sequence[str], t: ArgTypes) -> str:
        if len(a) == 1:
            return a[0]
        if t[0] == STRING:
            return key_text(f"{function}({', '.join(map(text_key, a))})")
        return f"{function}({', '.join(a)})"

    return text


def _math(name: str, help: str, example: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "MATHEMATICAL", help, example, signatures)


def _each(spark: SparkText, returns: SqlType, *types: SqlType) -> tuple[Signature, ...]:
    return tuple(Signature((x,), returns, spark, names=("number",)) for x in types)


def _of_double(name: str, help: str, example: str) -> Scalar:
    """One of the functions of Java's Math; every number becomes a DOUBLE first."""
    return _math(name, help, example, Signature((DOUBLE,), DOUBLE, _java(name.lower()), names=("number",)))


_NUMBERS = (INTEGER, BIGINT, DOUBLE)
_ORDERED = same("T", lambda t: is_numeric(t) or t in (STRING, BYTES, DATE, TIME, TIMESTAMP))
_HALVES = "halves go up, negative places are ahead of the point"
_PLACES = ("number", "places")

NUMBERS = (
    _math(
        "ABS",
        "The number without its sign.",
        "ABS(BALANCE)",
        *(Signature((x,), _first, _abs, names=("number",)) for x in (*_NUMBERS, ANY_DECIMAL)),
    ),
    _of_double("ACOS", "The angle, in radians, that has this cosine; NaN beyond -1 and 1.", "ACOS(RATIO)"),
    _of_double("ASIN", "The angle, in radians, that has this sine; NaN beyond -1 and 1.", "ASIN(RATIO)"),
    _of_double("ATAN", "The angle, in radians, that has this tangent.", "ATAN(RATIO)"),
    _math(
        "ATAN2",
        "The angle, in radians, between the positive x axis and the point (x, y); y comes first.",
        "ATAN2(Y, X)",
        Signature((DOUBLE, DOUBLE), DOUBLE, _java("atan2"), names=("y", "x")),
    ),
    _of_double("CBRT", "The cube root.", "CBRT(VOLUME)"),
    _math(
        "CEIL",
        "The least whole number that is not below the argument, in its type.",
        "CEIL(PRICE)",
        *(Signature((x,), x, _same, names=("number",)) for x in (INTEGER, BIGINT)),
        Signature((DOUBLE,), DOUBLE, _ceil, names=("number",)),
        Signature((ANY_DECIMAL,), _first, _in_type("ceil"), names=("number",)),
    ),
    _of_double("COS", "The cosine of an angle in radians.", "COS(ANGLE)"),
    _of_double("COSH", "The hyperbolic cosine.", "COSH(X)"),
    _of_double("COT", "The cotangent of an angle in radians; Infinity for 0.", "COT(ANGLE)"),
    _of_double("DEGREES", "An angle in radians as degrees.", "DEGREES(ANGLE)"),
    _of_double("EXP", "e to that power.", "EXP(RATE)"),
    _math(
        "FLOOR",
        "The greatest whole number that is not above the argument, in its type.",
        "FLOOR(PRICE)",
        *(Signature((x,), x, _same, names=("number",)) for x in (INTEGER, BIGINT)),
        Signature((DOUBLE,), DOUBLE, _floor, names=("number",)),
        Signature((ANY_DECIMAL,), _first, _in_type("floor"), names=("number",)),
    ),
    _math(
        "GEO_DISTANCE",
        "The distance between two places on the globe, coordinates in degrees, in km (also without a unit) or mi.",
        "GEO_DISTANCE(LAT, LON, 59.91, 10.75, 'km')",
        Signature(
            (DOUBLE, DOUBLE, DOUBLE, DOUBLE),
            DOUBLE,
            lambda a, t: exact("geo_distance", *a, objects=["'km'"]),
            names=("lat1", "lon1", "lat2", "lon2"),
            fails=True,
        ),
        Signature(
            (DOUBLE, DOUBLE, DOUBLE, DOUBLE, STRING),
            DOUBLE,
            lambda a, t: exact("geo_distance", *a[:-1], objects=a[-1:]),
            nulls=frozenset({4}),
            names=("lat1", "lon1", "lat2", "lon2", "unit"),
            fails=True,
        ),
    ),
    _math(
        "GREATEST",
        "The greatest argument that is not null.",
        "GREATEST(BID, ASK)",
        Signature((_ORDERED,), _first, _pick("greatest"), variadic=True, nulls=EVERY, names=("value",)),
    ),
    _math(
        "LEAST",
        "The least argument that is not null.",
        "LEAST(BID, ASK)",
        Signature((_ORDERED,), _first, _pick("least"), variadic=True, nulls=EVERY, names=("value",)),
    ),
    _of_double("LN", "The natural logarithm; -Infinity of 0, NaN of a negative number.", "LN(RATE)"),
    _math(
        "LOG",
        "The natural logarithm, or with two arguments that of the second to the base of the first; NaN for a base that "
        "is not above 0, or is 1.",
        "LOG(2, COUNTED)",
        Signature((DOUBLE,), DOUBLE, _java("ln"), names=("number",)),
        Signature((DOUBLE, DOUBLE), DOUBLE, _java("log"), names=("base", "number")),
    ),
    _math("PI", "The number pi.", "PI()", Signature((), DOUBLE, lambda a, t: "pi()")),
    _math(
        "POWER",
        "The first argument to the power of the second.",
        "POWER(RATE, 2)",
        Signature((DOUBLE, DOUBLE), DOUBLE, _java("power"), names=("base", "exponent")),
    ),
    _of_double("RADIANS", "An angle in degrees as radians.", "RADIANS(HEADING)"),
    _math(
        "RANDOM",
        "A number from 0 on and below 1, another one each time.",
        "RANDOM()",
        Signature((), DOUBLE, lambda a, t: "rand()"),
    ),
    _math(
        "ROUND",
        f"The nearest number with so many places (none without the argument); {_HALVES}.",
        "ROUND(PRICE, 2)",
        *_each(lambda a, t: f"cast({a[0]} as bigint)", BIGINT, INTEGER, BIGINT),
        Signature((DOUBLE,), BIGINT, _round, names=("number",)),
        Signature((DOUBLE, INTEGER), DOUBLE, _java("round"), names=_PLACES, fails=True),
        Signature((ANY_DECIMAL,), _whole, _round_decimal, names=("number",)),
        Signature((ANY_DECIMAL, INTEGER), _first, _to_places(_rounded, "decimal_round"), names=_PLACES),
    ),
    _math(
        "SIGN",
        "-1, 0 or 1, as the number is negative, zero or positive.",
        "SIGN(BALANCE)",
        *_each(lambda a, t: f"cast(sign({a[0]}) as int)", INTEGER, *_NUMBERS),
    ),
    _of_double("SIN", "The sine of an angle in radians.", "SIN(ANGLE)"),
    _of_double("SINH", "The hyperbolic sine.", "SINH(X)"),
    _of_double("SQRT", "The square root; NaN of a negative number.", "SQRT(AREA)"),
    _of_double("TAN", "The tangent of an angle in radians.", "TAN(ANGLE)"),
    _of_double("TANH", "The hyperbolic tangent.", "TANH(X)"),
    _math(
        "TRUNC",
        "The number without the digits behind so many places (none without the argument).",
        "TRUNC(PRICE, 2)",
        *_each(lambda a, t: f"cast({a[0]} as bigint)", BIGINT, INTEGER, BIGINT),
        Signature((DOUBLE,), BIGINT, lambda a, t: f"cast({a[0]} as bigint)", names=("number",)),
        Signature((DOUBLE, INTEGER), DOUBLE, _java("trunc"), names=_PLACES, fails=True),
        Signature((ANY_DECIMAL,), _whole, _trunc_decimal, names=("number",)),
        Signature((ANY_DECIMAL, INTEGER), _first, _to_places(_truncated, "decimal_trunc"), names=_PLACES),
    ),
)
