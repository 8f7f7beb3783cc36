"""The call of a function in which the cursor is: ``signatures.txt``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ksqlpy.completion.names import Names, functions
from ksqlpy.completion.signature import call_at

FILE = Path(__file__).with_name("signatures.txt")
HEAD, *BLOCKS = FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")
EXAMPLES = [block.rsplit("\n", 1) for block in BLOCKS]


def told(text: str) -> str:
    call = call_at(text.split("|")[0], Names(functions=functions()))
    return "-" if call is None else f"{call.function.name} {call.active} {call.signatures[0].label}"


@pytest.mark.parametrize(("text", "expected"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_the_call_at_the_cursor(text: str, expected: str) -> None:
    assert told(text) == expected


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    FILE.write_text("\n\n".join([HEAD, *(f"{text}\n{told(text)}" for text, _ in EXAMPLES)]) + "\n", encoding="utf-8")


def test_every_function_has_the_parameters_that_it_shows() -> None:
    for function in functions().values():
        call = call_at(f"SELECT {function.name}(", Names(functions=functions()))
        assert call is not None and call.function is function
        for form in call.signatures:
            assert form.label.split(" → ")[0] == f"{function.name}({', '.join(form.parameters)})"
