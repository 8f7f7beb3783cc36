"""Which refusals are the ones that a negative case asks for, and which only say that something is not built yet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ksqlpy.errors import KsqlError, SyntaxProblem

from .functions import PROVIDED

__all__ = ["asks_for_syntax_error", "test_function", "unfit"]

_NEVER = (
    "unknown-statement",
    "unsupported-statement",
    "unsupported-clause",
    "unsupported-pattern",
    "group-of-table",
    "missing-topic",
    "partitions-differ",
    "no-registry",
)
"""Codes that no case can ask for: what they refuse is legal in the language, or the runner's own matter."""

_ASKED: Mapping[str, str] = {
    # code: what the expected message must speak of, so that the refusal can be the one that is meant
    "unknown-function": r"find any function|unknown function|no function",
    "unknown-property": r"invalid config|unknown (config|propert)|no such propert",
    "duplicate-column": r"duplicate|more than once|already|same name",
    "same-topic": r"topic",
    "key-missing": r"projection|include",
    "join-kinds": r"join order|invalid join|join",
    "windowed-source": r"window",
    "regroup-moving": r"group|window",
    "unknown-type": r"type",
}

_PARSING = re.compile(r"^line \d|mismatched input|extraneous input|no viable|syntax error|parse|token", re.IGNORECASE)

_TEST_FUNCTIONS = (
    "TEST_UDF", "BAD_UDF", "BAD_TEST_UDF", "TEST_UDTF", "BAD_TEST_UDTF", "THROWING_UDTF", "WHENCONDITION",
    "WHENRESULT", "TEST_UDAF", "BAD_TEST_UDAF", "MULTI_ARG", "FOUR_ARG", "FIVE_ARG", "VAR_ARG", "MID_VAR_ARG",
    "GENERIC_VAR_ARG", "OBJ_COL_ARG", "TO_STRUCT", "TOMAP", "TOLIST", "MULTIPLY",
)  # fmt: skip
"""Functions that are only in ksqlDB's own test tree or its examples; some of them are provided (``functions.py``)."""

_TEST_CALL = re.compile(rf"\b({'|'.join(f for f in _TEST_FUNCTIONS if f not in PROVIDED)})\s*\(", re.IGNORECASE)


def test_function(sql: str) -> str | None:
    """The first function of a text that exists only in ksqlDB's tests, and is not provided."""
    found = _TEST_CALL.search(sql)
    return found[1].upper() if found else None


def unfit(error: KsqlError, expected: Mapping[str, Any]) -> str | None:
    """Why this refusal cannot be the one that the case expects; None if it can. Texts are not compared."""
    message, kind = str(expected.get("message", "")), str(expected.get("type", "")).rpartition(".")[2]
    if kind == "StreamsException":
        return "refused, but should fail at run time"
    if error.code == "unsupported-statement" and re.search(r"unknown statement", message, re.IGNORECASE):
        return None  # a server has no such statement, and says so: RUN SCRIPT is the shell's
    if isinstance(error, SyntaxProblem):
        if error.code in _NEVER:
            return "not built yet"
        if asks_for_syntax_error(expected):
            return None
        return "refused as syntax, but the case is no syntax error"
    if error.code in _NEVER:
        return "not built yet"
    if error.code in _ASKED and not re.search(_ASKED[error.code], message, re.IGNORECASE):
        return "not built yet"
    if error.code == "join-kinds":
        # The language refuses a stream on the right of a table, and RIGHT and FULL joins of a stream with a table.
        refused = "a table cannot be joined with a stream|a stream cannot be (RIGHT|FULL) joined with a table"
        return None if re.search(refused, error.message) else "not built yet"
    if error.error_code >= 50000:
        return "an error of the engine, not a refusal"
    return None


def asks_for_syntax_error(expected: Mapping[str, Any]) -> bool:
    """Whether the case expects that its last statement does not parse."""
    kind = str(expected.get("type", "")).rpartition(".")[2]
    return kind == "ParseFailedException" or _PARSING.search(str(expected.get("message", ""))) is not None


# Its name begins with test_, and it is none.
test_function.__test__ = False  # type: ignore[attr-defined]
