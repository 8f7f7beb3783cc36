"""No text, however odd, raises anything but SyntaxProblem, and what parses survives the round trip."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ksqlpy.errors import SyntaxProblem
from ksqlpy.grammar import non_reserved, reserved
from ksqlpy.sql import parse, to_sql
from ksqlpy.sql.tokens import SYMBOLS, tokenize

TEXT = (Path(__file__).parent / "roundtrip.sql").read_text(encoding="utf-8")
PIECES = [TEXT[t.start : t.end + 1] for t in tokenize(TEXT)]
ODD = ["'", "`", '"', "/*", "*/", "--", "\n", "${x}", "@", "$", "{", "\\", "é", "\x00", "\ud800", "1e", "1.e5", "0x1"]
WORDS = sorted({*PIECES, *SYMBOLS, *reserved(), *non_reserved()}) + ODD

SOME = settings(max_examples=500, derandomize=True, deadline=None, database=None)


def check(text: str) -> None:
    try:
        statements = parse(text)
    except SyntaxProblem as problem:
        assert problem.sql == text
        assert problem.span is not None
        assert 0 <= problem.span.start <= problem.span.end <= len(text)
        problem.render()
        problem.summary()
    else:
        for statement in statements:
            assert parse(to_sql(statement.node) + ";")[0].node == statement.node


@given(st.text(max_size=80))
@SOME
def test_random_text(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(WORDS), max_size=30))
@SOME
def test_random_tokens(words: list[str]) -> None:
    check(" ".join(words))


@given(st.integers(0, len(PIECES) - 1), st.integers(1, 60), st.integers(0, 59), st.sampled_from(WORDS))
@SOME
def test_piece_of_real_statements_with_one_word_changed(start: int, size: int, at: int, word: str) -> None:
    first = max((k + 1 for k in range(start) if PIECES[k] == ";"), default=0)  # begin where a statement begins
    words = PIECES[first : first + size]
    words[at % len(words)] = word
    check(" ".join(words) + " ;")


@given(st.binary(max_size=60))
@SOME
def test_random_bytes(data: bytes) -> None:
    check(data.decode("latin-1"))
