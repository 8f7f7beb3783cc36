"""What the statements of functions in Python answer: the examples of ``statements.txt``, without Kafka and Spark.

A block is SQL, ``----``, and what comes; two empty lines end it. The statements before the first block are run ahead of
each. Set KSQLPY_REWRITE to rewrite the answers, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.runtime.test_answers import answer

FILE = Path(__file__).with_name("statements.txt")
START, *BLOCKS = FILE.read_text(encoding="utf-8").strip("\n").split("\n\n\n")
EXAMPLES = [block.split("\n----\n") if "\n----\n" in block else [block, ""] for block in BLOCKS]


@pytest.mark.parametrize(("sql", "expected"), EXAMPLES, ids=[e[0].split("\n", 1)[0][:70] for e in EXAMPLES])
def test_answer_is_as_written(sql: str, expected: str) -> None:
    assert answer(sql, START) == expected


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    blocks = [f"{sql}\n----\n{answer(sql, START)}" for sql, _ in EXAMPLES]
    FILE.write_text("\n\n\n".join([START, *blocks]) + "\n", encoding="utf-8")
