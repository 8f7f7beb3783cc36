"""The colours agree with the tokenizer: every word has the colour of its list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Whitespace, _TokenType

from ksqlpy.grammar import by_place, non_reserved, reserved
from ksqlpy.sql.highlight import KsqlLexer
from ksqlpy.sql.tokens import tokenize

TEXT = (Path(__file__).parent / "roundtrip.sql").read_text(encoding="utf-8")


def colours(text: str) -> list[tuple[_TokenType, str]]:
    found = KsqlLexer(stripnl=False, ensurenl=False).get_tokens(text)
    return [(kind, part) for kind, part in found if kind is not Whitespace]


def test_statement_has_its_colours() -> None:
    sql = "--@test: a\nCREATE STREAM `a b` AS SELECT count(*) n, 'x ${y} z' FROM s -- why\nEMIT CHANGES LIMIT 1;"
    assert colours(sql) == [
        (Comment.Special, "--@test: a"),
        (Keyword, "CREATE"),
        (Keyword, "STREAM"),
        (Name, "`"),
        (Name, "a b"),
        (Name, "`"),
        (Keyword, "AS"),
        (Keyword, "SELECT"),
        (Name.Function, "count"),
        (Punctuation, "("),
        (Operator, "*"),
        (Punctuation, ")"),
        (Name, "n"),
        (Punctuation, ","),
        (String.Single, "'"),
        (String.Single, "x "),
        (String.Interpol, "${y}"),
        (String.Single, " z"),
        (String.Single, "'"),
        (Keyword, "FROM"),
        (Name, "s"),
        (Comment.Single, "-- why"),
        (Keyword.Pseudo, "EMIT"),
        (Keyword.Pseudo, "CHANGES"),
        (Keyword, "LIMIT"),
        (Number.Integer, "1"),
        (Punctuation, ";"),
    ]


@pytest.mark.parametrize("word", sorted(reserved() | non_reserved() | by_place()))
def test_every_word_of_the_lists_is_coloured(word: str) -> None:
    for text in (word, word.lower()):
        [(kind, part)] = colours(text)
        assert part == text
        assert kind in Keyword
        assert (kind in (Keyword, Keyword.Constant)) == (word in reserved() - {"DECIMAL"})


def test_words_and_numbers_are_cut_as_the_tokenizer_cuts_them() -> None:
    text = re.sub(r"\$\$.*?\$\$", "$$$$", TEXT, flags=re.DOTALL)  # without what is Python
    plain = [part for kind, part in colours(text) if kind in Keyword or kind in Number or kind in Operator]
    cut = {text[t.start : t.end + 1] for t in tokenize(text)}
    assert set(plain) <= cut


def test_python_between_dollars_has_pythons_colours() -> None:
    sql = "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x - 1  # it's -- less $$;"
    assert [(kind, part) for kind, part in colours(sql) if not part.isspace()][-9:] == [
        (Keyword, "AS"),
        (String.Heredoc, "$$"),
        (Keyword, "return"),
        (Name, "x"),
        (Operator, "-"),
        (Number.Integer, "1"),
        (Comment.Single, "# it's -- less "),
        (String.Heredoc, "$$"),
        (Punctuation, ";"),
    ]
    assert Error not in {kind for kind, _ in colours(TEXT)}


def test_pygments_finds_it_by_name() -> None:
    assert isinstance(get_lexer_by_name("ksql"), KsqlLexer)


@given(st.text(max_size=60) | st.text(alphabet="a'`\"$${}-/*1.e@ \n;(", max_size=40))
@settings(max_examples=500, derandomize=True, deadline=None, database=None)
def test_nothing_is_lost(text: str) -> None:
    text = text.replace("\r", "")
    assert "".join(part for _, part in KsqlLexer(stripnl=False, ensurenl=False).get_tokens(text)) == text
