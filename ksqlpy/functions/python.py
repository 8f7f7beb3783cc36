"""Functions in Python as functions of the language: a call of one is a call of a worker (``jvm/python/PythonCall``)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from ksqlpy.functions.python_aggregates import aggregate_signature
from ksqlpy.functions.signatures import EVERY, Aggregate, Function, Scalar, Signature, TableFunction
from ksqlpy.functions.sparktext import named
from ksqlpy.udfs.definition import Definition

__all__ = ["PYTHON", "arguments_text", "call_text", "in_definitions", "python_function"]

PYTHON = "PYTHON"
"""The category of the functions in SHOW FUNCTIONS."""


@lru_cache(maxsize=1000)
def python_function(definition: Definition) -> Function:
    """The function that calls a definition; equal definitions have the same, so equal calls are equal.

    Null arguments reach it as None. A call that fails is no failure of the expression around it: what its value is then
    says ON_ERROR, and the JVM counts it.
    """
    shown = f"{definition.name}({', '.join(n.upper() for n, _ in definition.parameters)})"
    about = definition.name, PYTHON, definition.help or "A function in Python.", shown
    if definition.kind == "AGGREGATE":
        return Aggregate(*about, (aggregate_signature(definition),), definition)
    signature = Signature(
        definition.arguments,
        definition.returns,
        lambda a, _: call_text(definition, a),
        nulls=EVERY,
        names=tuple(n for n, _ in definition.parameters),
    )
    kind = TableFunction if definition.kind == "TABLE" else Scalar
    return kind(*about, (signature,), definition)


def call_text(definition: Definition, arguments: Sequence[str], method: str = "") -> str:
    """The Spark text of a call: of the function, or of a method of an aggregate, with the state first where it has one.

    A call without arguments gets one that it does not pass on: Spark has no struct of nothing.
    """
    described = json.dumps({"python": definition.to_call(method)}, separators=(",", ":"))
    return f"ksqlpy.{named(described)}({arguments_text(arguments)})"


def arguments_text(arguments: Sequence[str]) -> str:
    """The Spark text of a STRUCT of arguments."""
    fields = ", ".join(f"'{i}', {a}" for i, a in enumerate(arguments)) or "'0', 0"
    return f"named_struct({fields})"


_DESCRIBED = re.compile(re.escape("ksqlpy." + named('{"python":')[:-1]) + "[0-9a-f]*`")


def in_definitions(text: str) -> int:
    """Characters of a Spark text that describe functions in Python, source and all: each is one word to Spark."""
    return sum(m.end() - m.start() for m in _DESCRIBED.finditer(text))
