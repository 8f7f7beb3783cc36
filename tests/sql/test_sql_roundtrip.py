"""Text to tree to text: nothing is lost, every node has its place, the written grammar agrees."""

from __future__ import annotations

from pathlib import Path

import pytest
from lark import Lark
from sqlglot import exp

from ksqlpy.grammar import reserved
from ksqlpy.sql import Parsed, parse, span_of, to_sql
from ksqlpy.sql.generator import KsqlGenerator
from tests.sql.sql_sentences import sentences

HERE = Path(__file__).parent
TEXT = (HERE / "roundtrip.sql").read_text(encoding="utf-8")
GRAMMAR = (HERE.parents[1] / "grammar" / "ksql.lark").read_text(encoding="utf-8")
STATEMENTS = parse(TEXT)


def check(statement: Parsed) -> None:
    text = to_sql(statement.node)
    [again] = parse(text + ";")
    assert again.node == statement.node
    assert to_sql(again.node) == text
    for node in statement.node.walk():
        assert type(node) in KsqlGenerator.PRINTERS
        place = span_of(node, statement.sql)
        assert place is not None
        assert statement.start <= place.start < place.end < statement.start + len(statement.text)


@pytest.fixture(scope="module")
def grammar() -> Lark:
    return Lark(GRAMMAR, parser="earley")


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.text[:40])
def test_statement_survives_the_round_trip(statement: Parsed) -> None:
    check(statement)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.text[:40])
def test_statement_is_in_the_grammar(statement: Parsed, grammar: Lark) -> None:
    grammar.parse(statement.text)


@pytest.mark.slow
def test_every_sentence_of_the_grammar_parses() -> None:
    for sentence in sentences(GRAMMAR, count=400, seed=7):
        try:
            statements = parse(sentence)
        except Exception as problem:
            raise AssertionError(f"in the grammar, but refused: {sentence}") from problem
        for statement in statements:
            check(statement)


def test_grammar_leaves_out_the_reserved_words() -> None:
    words = GRAMMAR.split("NAME: /(?!(?:")[1].split(")")[0].split("|")
    assert set(words) == reserved()


def test_spans_point_at_what_was_written() -> None:
    sql = "-- first\nSELECT a+b  AS c, f( x ) FROM s\n WINDOW TUMBLING (SIZE 1 DAY) WHERE a = 1;"
    query = parse(sql)[0].node

    def written(node: exp.Expr) -> str:
        place = span_of(node, sql)
        assert place is not None
        return sql[place.start : place.end]

    assert written(query.expressions[0]) == "a+b  AS c"
    assert written(query.expressions[0].this) == "a+b"
    assert written(query.expressions[1]) == "f( x )"
    assert written(query.args["window"]) == "WINDOW TUMBLING (SIZE 1 DAY)"
    assert written(query.args["where"]) == "WHERE a = 1"
    assert written(query) == sql[9:-1]
    made = exp.Paren(this=query.expressions[0].this.copy())
    assert written(made) == "a+b"
    assert span_of(exp.Null(), sql) is None


def test_statement_texts_leave_out_comments_between_them() -> None:
    texts = [s.text for s in parse("/* a */ SHOW STREAMS ; -- b\n SHOW /* c */ TABLES; -- d")]
    assert texts == ["SHOW STREAMS ;", "SHOW /* c */ TABLES;"]
    assert parse(" -- nothing\n") == []
