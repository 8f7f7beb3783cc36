"""Functions that ksqlDB's own suite brings along for its cases: they fail when they are told to, or say what they got.

Their errors are NULLs that count as errors, as everywhere (``Signature.fails``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType

from ksqlpy.functions import FUNCTIONS, Function, Scalar, Signature, TableFunction
from ksqlpy.functions.signatures import ANY
from ksqlpy.types import BIGINT, BOOLEAN, INTEGER, STRING

__all__ = ["PROVIDED", "provided_functions"]


def _when_true(value: str, condition: str) -> str:
    return f"CASE WHEN {condition} THEN {value} END"


def _scalar(name: str, help_: str, *signatures: Signature) -> Scalar:
    return Scalar(name, "TEST", help_, f"{name}(…)", signatures)


def _table(name: str, help_: str, *signatures: Signature) -> TableFunction:
    return TableFunction(name, "TEST", help_, f"{name}(…)", signatures)


_FUNCTIONS: tuple[Function, ...] = (
    _scalar(
        "WHENCONDITION",
        "The first argument; fails where the second is false.",
        Signature((BOOLEAN, BOOLEAN), BOOLEAN, lambda a, _: _when_true(a[0], a[1]), fails=True),
    ),
    _scalar(
        "WHENRESULT",
        "The first argument; fails where the second is false.",
        Signature((INTEGER, BOOLEAN), INTEGER, lambda a, _: _when_true(a[0], a[1]), fails=True),
    ),
    _scalar(
        "BAD_UDF",
        "Fails: of a number always, of true, not of false.",
        Signature((INTEGER,), INTEGER, lambda a, _: f"if({a[0]} IS NULL, {a[0]}, CAST(NULL AS INT))", fails=True),
        Signature((BOOLEAN,), INTEGER, lambda a, _: f"CASE WHEN NOT {a[0]} THEN 0 END", fails=True),
    ),
    _scalar(
        "TEST_UDF",
        "Says which form was chosen.",
        Signature((INTEGER, STRING), STRING, lambda a, _: "'doStuffIntString'"),
        Signature((BIGINT, STRING), STRING, lambda a, _: "'doStuffLongString'"),
    ),
    _table(
        "TEST_UDTF",
        "One row with the argument.",
        Signature((ANY,), lambda t: t[0], lambda a, _: f"array({a[0]})"),
    ),
    _table(
        "THROWING_UDTF",
        "One row with the argument; fails where it is true.",
        Signature((BOOLEAN,), BOOLEAN, lambda a, _: f"CASE WHEN NOT {a[0]} THEN array({a[0]}) END", fails=True),
    ),
)

PROVIDED = frozenset(f.name for f in _FUNCTIONS)
"""Their names."""


@contextmanager
def provided_functions() -> Iterator[None]:
    """Adds them to the functions of the language, to the end of the block."""
    before = FUNCTIONS.functions
    FUNCTIONS.functions = MappingProxyType({**before, **{f.name: f for f in _FUNCTIONS}})
    try:
        yield
    finally:
        FUNCTIONS.functions = before
