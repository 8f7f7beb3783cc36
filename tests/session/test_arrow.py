"""Results as tables of Arrow and data frames: the same values as rows have, in the types of the columns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ksqlpy.errors import EngineProblem, EnvironmentProblem
from ksqlpy.session.inbox import Given
from ksqlpy.session.result import Result
from ksqlpy.session.rows import Column
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
    MapType,
    SqlType,
    StructType,
)

MONEY = DecimalType(38, 2)
POINT = StructType((("X", INTEGER), ("when", DATE)))

# The type, its type in Arrow, values as the engine has them or REST sends them, and what Arrow says they are.
TYPES: list[tuple[SqlType, pa.DataType, list[Any], list[Any]]] = [
    (BOOLEAN, pa.bool_(), [True, None, False], [True, None, False]),
    (INTEGER, pa.int32(), [-(2**31), None], [-(2**31), None]),
    (BIGINT, pa.int64(), [2**63 - 1, None], [2**63 - 1, None]),
    (DOUBLE, pa.float64(), [0.5, None, 3], [0.5, None, 3.0]),
    (DOUBLE, pa.float64(), ["Infinity", Decimal("0.1"), 2**60 + 1], [float("inf"), 0.1, float(2**60)]),
    (STRING, pa.string(), ["é", None, ""], ["é", None, ""]),
    (BYTES, pa.binary(), ["AP8=", None, ""], [b"\x00\xff", None, b""]),
    (
        MONEY,
        pa.decimal128(38, 2),
        [Decimal("9" * 36 + ".99"), None, Decimal("1.5"), 7],
        [Decimal("9" * 36 + ".99"), None, Decimal("1.50"), Decimal("7.00")],
    ),
    (DecimalType(4, 2), pa.decimal128(4, 2), ["1.5", None], [Decimal("1.50"), None]),
    (DATE, pa.date32(), [0, None, -1], [date(1970, 1, 1), None, date(1969, 12, 31)]),
    (DATE, pa.date32(), ["2024-05-06", None, "0001-01-01"], [date(2024, 5, 6), None, date(1, 1, 1)]),
    (TIME, pa.time32("ms"), [1, None], [time(0, 0, 0, 1000), None]),
    (TIME, pa.time32("ms"), ["07:08", None, "07:08:09.123"], [time(7, 8), None, time(7, 8, 9, 123000)]),
    (
        TIMESTAMP,
        pa.timestamp("ms", "UTC"),
        [-1, None],
        [datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC), None],
    ),
    (
        TIMESTAMP,
        pa.timestamp("ms", "UTC"),
        ["2024-05-06T07:08:09.123", None],
        [datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=UTC), None],
    ),
    (
        ArrayType(BYTES),
        pa.list_(pa.binary()),
        [["aGk=", None], None, [], ["aGk="]],
        [[b"hi", None], None, [], [b"hi"]],
    ),
    (
        ArrayType(ArrayType(INTEGER)),
        pa.list_(pa.list_(pa.int32())),
        [None, [[1], None, []], [[2, 3]]],
        [None, [[1], None, []], [[2, 3]]],
    ),
    (
        MapType(STRING, MONEY),
        pa.map_(pa.string(), pa.decimal128(38, 2)),
        [{"a": Decimal("1.5"), "b": None}, None, {}],
        [[("a", Decimal("1.50")), ("b", None)], None, []],
    ),
    (MapType(BIGINT, STRING), pa.map_(pa.int64(), pa.string()), [{"7": "x"}, {8: None}], [[(7, "x")], [(8, None)]]),
    (MapType(BOOLEAN, STRING), pa.map_(pa.bool_(), pa.string()), [{"true": "x"}], [[(True, "x")]]),
    (
        POINT,
        pa.struct([("X", pa.int32()), ("when", pa.date32())]),
        [{"X": 1, "when": 0}, None, {"X": None, "when": None}, {"X": 2}],
        [{"X": 1, "when": date(1970, 1, 1)}, None, {"X": None, "when": None}, {"X": 2, "when": None}],
    ),
    (StructType(()), pa.struct([]), [{}, None, {}], [{}, None, {}]),
    (
        ArrayType(MapType(STRING, POINT)),
        pa.list_(pa.map_(pa.string(), pa.struct([("X", pa.int32()), ("when", pa.date32())]))),
        [[{"k": {"X": 1, "when": 1}}, None], None],
        [[[("k", {"X": 1, "when": date(1970, 1, 2)})], None], None],
    ),
]


def result(columns: Sequence[tuple[str, SqlType]], rows: Sequence[Sequence[Any]]) -> Result:
    return Result(Given("q", tuple(Column(n, t) for n, t in columns), rows))


@pytest.mark.parametrize(("type_", "expected", "values", "seen"), TYPES, ids=[str(t[0]) for t in TYPES])
def test_a_column_of_each_type(type_: SqlType, expected: pa.DataType, values: list[Any], seen: list[Any]) -> None:
    made = result([("V", type_)], [[v] for v in values]).arrow()
    assert made.schema == pa.schema([("V", expected)])
    assert made.column(0).to_pylist() == seen
    made.validate(full=True)
    for none in ([], [[None]]):
        empty = result([("V", type_)], none).arrow()
        assert (empty.schema, empty.num_rows) == (made.schema, len(none))
        empty.validate(full=True)


def test_years_that_python_does_not_have() -> None:
    for values in ([4_000_000], ["+12921-08-18"]):
        made = result([("D", DATE)], [values]).arrow()
        assert made.column(0).cast(pa.int32()).to_pylist() == [4_000_000]
    made = result([("T", TIMESTAMP)], [["+12921-08-18T00:00:00.000"]]).arrow()
    assert made.column(0).cast(pa.int64()).to_pylist() == [4_000_000 * 86_400_000]


def test_values_that_do_not_fit() -> None:
    for type_, value in ((INTEGER, 2**31), (DecimalType(4, 2), Decimal("123.45")), (DATE, "tomorrow"), (TIME, "x")):
        with pytest.raises(EngineProblem, match=r"a value of column V is no \w+") as caught:
            result([("V", type_)], [[None], [value]]).arrow()
        assert caught.value.code == "query-failed"


def test_many_rows_are_several_batches() -> None:
    rows = [[i, None if i % 3 == 0 else [str(i)] * (i % 3)] for i in range(150_000)]
    made = result([("N", BIGINT), ("L", ArrayType(STRING))], rows).arrow()
    assert [b.num_rows for b in made.to_batches()] == [65_536, 65_536, 18_928]
    assert made.column("N").to_pylist() == [r[0] for r in rows]
    assert made.column("L").to_pylist() == [r[1] for r in rows]


def test_rows_that_were_read_are_not_in_it() -> None:
    answer = result([("N", BIGINT)], [[1], [2], [3]])
    assert answer.fetchone() == (1,)
    assert answer.arrow().to_pydict() == {"N": [2, 3]}
    assert answer.arrow().num_rows == 0
    assert answer.fetchall() == []


COLUMNS: list[tuple[str, SqlType]] = [
    ("N", BIGINT), ("OK", BOOLEAN), ("T", STRING),
    ("D", DecimalType(4, 2)), ("AT", TIMESTAMP), ("M", MapType(STRING, INTEGER)),
]  # fmt: skip
ROWS = [
    [1, True, "a", Decimal("1.50"), 0, {"k": 1}],
    [None] * 6,
    [2**53 + 1, False, "b", Decimal("0.10"), 1, {}],
]


def test_pandas() -> None:
    frame = result(COLUMNS, ROWS).df()
    assert isinstance(frame, pandas.DataFrame)
    assert [str(t) for t in frame.dtypes[["N", "OK", "AT"]]] == ["Int64", "boolean", "datetime64[ms, UTC]"]
    assert frame["N"][2] == 2**53 + 1 and frame["N"][1] is pandas.NA  # no DOUBLE has that number
    assert frame["D"][0] == Decimal("1.50") and isinstance(frame["D"][0], Decimal)
    assert frame["AT"][2] == pandas.Timestamp("1970-01-01T00:00:00.001Z") and frame["AT"][1] is pandas.NaT
    assert frame["M"][0] == {"k": 1}
    assert str(result([("N", BIGINT)], [[1], [2]]).df().dtypes["N"]) == "int64"
    assert result(COLUMNS, []).df().empty


def test_polars() -> None:
    frame = result(COLUMNS, ROWS).pl()
    assert isinstance(frame, polars.DataFrame)
    assert frame.schema["N"] == polars.Int64 and frame.schema["D"] == polars.Decimal(4, 2)
    assert frame.schema["AT"] == polars.Datetime("ms", "UTC")
    assert frame["N"].to_list() == [1, None, 2**53 + 1]
    assert frame["D"].to_list() == [Decimal("1.50"), None, Decimal("0.10")]


def test_others_read_a_result_as_it_comes() -> None:
    assert pa.table(result(COLUMNS, ROWS)) == result(COLUMNS, ROWS).arrow()
    assert pa.RecordBatchReader.from_stream(result(COLUMNS, ROWS)).read_all() == result(COLUMNS, ROWS).arrow()
    assert polars.DataFrame(result(COLUMNS, ROWS)).equals(result(COLUMNS, ROWS).pl())
    wider = pa.schema([("N", pa.int64())])
    assert pa.table(result([("N", INTEGER)], [[1]]), schema=wider).schema == wider


@pytest.mark.parametrize(("name", "method"), [("pyarrow", "arrow"), ("pandas", "df"), ("polars", "pl")])
def test_without_the_package(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(EnvironmentProblem, match=f"without the package {name}") as caught:
        getattr(result([("N", BIGINT)], [[1]]), method)()
    assert (
        caught.value.code == "missing-package"
        and caught.value.hint == f"pip install 'ksqlpy[{name.removeprefix('py')}]'"
    )


def test_it_is_imported_when_it_is_asked_for() -> None:
    program = (
        "import sys, ksqlpy.session.result, ksqlpy.session.arrow\n"
        "print(*({'pyarrow', 'pandas', 'polars'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


_VALUES: dict[SqlType, st.SearchStrategy[Any]] = {
    INTEGER: st.integers(-(2**31), 2**31 - 1),
    STRING: st.text(st.characters(codec="utf-8"), max_size=3),
    DATE: st.integers(-700_000, 2_900_000),
}


def values_of(type_: SqlType) -> st.SearchStrategy[Any]:
    match type_:
        case ArrayType(item):
            found: st.SearchStrategy[Any] = st.lists(values_of(item), max_size=3)
        case MapType(_, item):
            found = st.dictionaries(_VALUES[STRING], values_of(item), max_size=3)
        case StructType(fields):
            found = st.fixed_dictionaries({n: values_of(t) for n, t in fields})
        case _:
            found = _VALUES[type_]
    return st.none() | found


_TYPES = st.recursive(
    st.sampled_from([INTEGER, STRING, DATE]),
    lambda inner: st.one_of(
        st.builds(ArrayType, inner),
        st.builds(lambda t: MapType(STRING, t), inner),
        st.builds(lambda a, b: StructType((("A", a), ("b", b))), inner, inner),
    ),
    max_leaves=4,
)


@given(st.data())
@settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nested_values_are_those_that_arrow_makes_itself(data: st.DataObject) -> None:
    type_ = data.draw(_TYPES)
    values = data.draw(st.lists(values_of(type_), max_size=6))
    made = result([("V", type_)], [[v] for v in values]).arrow().column(0)
    expected = pa.array(values, made.type)
    assert made.combine_chunks().to_pylist() == expected.to_pylist()
    made.validate(full=True)
