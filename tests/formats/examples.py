"""Values and texts of all types, drawn by hypothesis: many at once, so that Spark takes them in one go."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ksqlpy.types import (
    ALL_DIGITS,
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
    MapType,
    SqlType,
    StructType,
)

__all__ = ["NESTED", "SCALARS", "drawn", "json_scalars", "json_texts", "lines", "mutated", "of_each", "values"]


SCALARS: tuple[SqlType, ...] = (
    BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP,
    DecimalType(4, 2), DecimalType(10, 0), DecimalType(38, 20),
)  # fmt: skip

NESTED: tuple[SqlType, ...] = (
    ArrayType(INTEGER),
    ArrayType(ArrayType(DecimalType(20, 10))),
    MapType(STRING, DOUBLE),
    MapType(STRING, ArrayType(TIMESTAMP)),
    StructType((("A", INTEGER), ("a", STRING), ("B", DecimalType(9, 8)), ('o "d\td', DATE))),
    ArrayType(StructType((("K", MapType(STRING, BYTES)), ("t", TIME)))),
)

FURTHER: tuple[SqlType, ...] = (
    BOOLEAN, BIGINT, DATE, TIME, DecimalType(10, 0), DecimalType(38, 20), ArrayType(INTEGER), MapType(STRING, DOUBLE),
)  # fmt: skip
"""Types of which only ``make test-all`` generates values in every format."""


def of_each(types: Iterable[SqlType], mark: pytest.MarkDecorator) -> list[object]:
    """The types as parameters of a test; those of :data:`FURTHER` get the mark."""
    return [pytest.param(t, id=str(t), marks=[mark] if t in FURTHER else []) for t in types]


T = TypeVar("T")


def drawn(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """So many examples, the same ones in each run."""
    found: list[T] = []

    @settings(
        max_examples=count, database=None, derandomize=True, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def take(example: T) -> None:
        found.append(example)

    take()
    return found


# ---------------------------------------------------------------- values

TEXTS = st.text(max_size=8) | st.text("ab\"'\\\r\n\t ,;:{}[]#!0\x00\x1f\x7fé€😀", max_size=8)


def values(type_: SqlType) -> st.SearchStrategy[Any]:
    """Values of the type as codecs have them, or None."""
    return st.none() | _values(type_)


def _values(type_: SqlType) -> st.SearchStrategy[Any]:
    match type_:
        case ArrayType(item):
            return st.lists(values(item), max_size=3)
        case MapType(_, item):
            return st.dictionaries(TEXTS, values(item), max_size=3)
        case StructType(fields):
            return st.fixed_dictionaries({n: values(t) for n, t in fields})
        case DecimalType(precision, scale):
            most = 10**precision - 1
            return st.integers(-most, most).map(lambda n: Decimal(n).scaleb(-scale, ALL_DIGITS))
    return {
        BOOLEAN: st.booleans(),
        INTEGER: st.integers(-(2**31), 2**31 - 1),
        BIGINT: st.integers(-(2**63), 2**63 - 1),
        DOUBLE: st.floats() | st.floats(-1e9, 1e9) | st.integers(-9, 9).map(float) | st.integers(-330, 308).map(_power),
        STRING: TEXTS,
        BYTES: st.binary(max_size=5),
        DATE: st.integers(-(2**31), 2**31 - 1) | st.integers(0, 30_000),
        TIME: st.integers(0, 86_400_000),
        TIMESTAMP: st.integers(-(2**63) // 1000 + 1, 2**63 // 1000) | st.integers(0, 2 * 10**12),
    }[type_]  # type: ignore[index]


def _power(exponent: int) -> float:
    return float(f"1e{exponent}")


# ---------------------------------------------------------------- texts

_NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-200, 200).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-(10**12), 10**12, places=3).map(str),
    st.builds("{}e{}".format, st.integers(-99, 99), st.integers(-400, 400)),
    st.sampled_from(
        ["-0", "0", "-0.0", "0e5", "1.50", "1e999999999", "1e99999999999", "-1.5e-999999999", "00", "01", "-", "1.",
         ".5", "+1", "1e", "1e+", "9" * 1000, "9" * 1001, "0." + "0" * 999 + "1", "86400000", "86400001", "2147483648",
         "12a"]
    ),
)  # fmt: skip
_IN_TEXTS = st.one_of(
    _NUMBERS,
    TEXTS,
    st.binary(max_size=4).map(lambda b: base64.b64encode(b).decode()),
    st.sampled_from(
        ["true", "TRUE", "NaN", "Infinity", "-Infinity", "+Infinity", "1d", "0x1p3", "0x1.8p-2f", " 1 ", "1_0",
         "١٢", "\U0001d7d9", "YQ==YQ==", "YQ=", "Y Q==", "YQ==\n", "1e5", "1E+5", "5.", ".", "", "null", "inf",
         "1e2147483648", "1e-2147483647"]
    ),
)  # fmt: skip
_QUOTED = _IN_TEXTS.map(lambda s: json.dumps(s, ensure_ascii=False)) | _IN_TEXTS.map(json.dumps)
_WORDS = st.sampled_from(["true", "false", "null", "NaN", "tru", "nullx", '"\\ud800"', '"\\ud83d\\ude00"', '"\\x"'])
_NAMES = st.sampled_from(['"A"', '"a"', '"B"', '"b"', '"K"', '"t"', '"T"', '"ß"', '"\\u0041"', '"o \\"d\\td"', '"V"'])
_SPACES = st.sampled_from(["", "", "", " ", "\n", "\t", "\r\n"])


_LEAVES = st.builds("{0}{1}{0}".format, _SPACES, _NUMBERS | _QUOTED | _WORDS)


def json_scalars() -> st.SearchStrategy[bytes]:
    """Numbers, strings and words, or nearly so."""
    return _LEAVES.map(str.encode)


def json_texts() -> st.SearchStrategy[bytes]:
    """Texts that are JSON, or nearly so, with the names that types here have."""
    return st.recursive(
        _LEAVES,
        lambda inner: (
            st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
            | st.lists(st.builds("{}{}:{}".format, _SPACES, _NAMES, inner), max_size=4).map(_object)
        ),
        max_leaves=5,
    ).map(lambda text: text.encode("utf-8", "surrogatepass"))


def _object(members: list[str]) -> str:
    return "{" + ",".join(members) + "}"


def lines() -> st.SearchStrategy[bytes]:
    """Lines of fields, or nearly so."""
    plain = _IN_TEXTS | st.integers(-99, 99).map(str)
    quoted = plain.map(lambda s: '"' + s.replace('"', '""') + '"')
    return st.builds(
        "{}{}{}".format,
        st.sampled_from(["", "", "", "\n", "\r\n"]),
        st.lists(plain | quoted, min_size=1, max_size=2).map(",".join),
        st.sampled_from(["", "", "", "\n", "\nx", " ", "\t", "\u2007", "x", '"']),
    ).map(lambda text: text.encode("utf-8", "surrogatepass"))


def mutated(texts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """The texts, some of them with a few bytes that were put in, taken out or changed."""
    pieces = st.sampled_from(
        [b"", b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\\u00e9", b"-", b".", b"e", b"0", b"1", b" ", b"\n",
         b"\x00", b"\x1f", b"\xff", b"\xc3", b"\xc3\xa9", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
         b"\xe2\x82"]
    )  # fmt: skip

    def change(text: bytes, at: float, out: int, piece: bytes) -> bytes:
        place = int(at * len(text))
        return text[:place] + piece + text[place + out :]

    changed = st.builds(change, texts, st.floats(0, 1), st.integers(0, 2), pieces)
    return texts | changed | st.binary(max_size=6)
