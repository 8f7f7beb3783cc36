"""Variables: ``variables.txt`` has texts and what they mean, blocks as in ``errors.txt``."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from ksqlpy.errors import Span, SyntaxProblem
from ksqlpy.sql import parse, span_of, substitute, to_sql
from ksqlpy.sql.tokens import tokenize

# A busy machine makes every example slow.
SOME = settings(
    max_examples=300, derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
ODD = "ab1.-+'\"`;,() \n/*${}x\\"
FILE = Path(__file__).with_name("variables.txt")
BLOCKS = [block.split("\n----\n") for block in FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")[1:]]


@pytest.mark.parametrize(("sql", "expected"), BLOCKS, ids=[block[0][:60] for block in BLOCKS])
def test_text_means_what_is_written(sql: str, expected: str) -> None:
    try:
        statements = parse(sql)
    except SyntaxProblem as problem:
        assert problem.sql == sql
        assert problem.render() == expected
    else:
        assert "\n".join(to_sql(s.node) + ";" for s in statements) == expected
        for statement in statements:
            assert [to_sql(s.node) for s in parse(statement.text)] == [to_sql(statement.node)]


def test_caller_gives_values_and_may_switch_them_off() -> None:
    sql = "SELECT ${A}, '${a}' FROM s;"
    assert to_sql(parse(sql, {"a": "7"})[0].node) == "SELECT 7, '7' FROM S"
    with pytest.raises(SyntaxProblem, match="no variable A"):
        parse(sql, {"a": "7"}, substitution=False)


def test_places_are_of_the_text_as_written() -> None:
    sql = "SELECT '${long}' AS a,\n  ${n} + b FROM s WHERE c = ${n} AND d;"
    [statement] = parse(sql, {"long": "a much longer text than its reference", "n": "1"})

    def written(node: exp.Expr) -> str:
        place = span_of(node, statement.sql)
        assert place is not None
        return sql[place.start : place.end]

    items = statement.node.expressions
    assert statement.sql == sql
    assert [written(i) for i in items] == ["'${long}' AS a", "${n} + b"]
    assert written(items[1].this) == "${n}"
    assert written(items[1].expression) == "b"
    assert written(statement.node.args["where"]) == "WHERE c = ${n} AND d"
    assert written(statement.node) == sql[:-1]
    assert statement.text.startswith("SELECT 'a much longer text")


def test_substitution_knows_where_its_text_comes_from() -> None:
    sql = "SELECT ${a}, 'x ${a} y' -- ${a}\n FROM s;"
    made = substitute(sql, {"A": "'12345'"})
    assert made.text == "SELECT '12345', 'x ''12345'' y' -- ${a}\n FROM s;"
    for word in ("SELECT", "FROM", " y'", ";"):
        begin, old = made.text.index(word), sql.index(word)
        assert made.origin(Span(begin, begin + len(word))) == Span(old, old + len(word))
    assert made.origin(Span(7, 14)) == Span(7, 11)
    assert made.origin(Span(9, 10)) == Span(7, 11)
    assert substitute("SELECT 1;", {"A": "x"}).text == "SELECT 1;"


def test_values_made_of_values_do_not_grow_without_end() -> None:
    text = "DEFINE a = 'haha';" + "DEFINE a = '${a}${a}${a}${a}${a}${a}${a}${a}${a}${a}';" * 30
    with pytest.raises(SyntaxProblem, match="more than 10000000 characters") as caught:
        parse(text)
    assert caught.value.code == "text-too-long"


def test_a_long_value_in_many_statements_is_one_long_text() -> None:
    value = "x" * 1_000_000
    assert len(parse("SELECT '${a}' FROM s;" * 9, {"a": value})) == 9
    with pytest.raises(SyntaxProblem, match="more than 10000000 characters") as caught:
        parse("SELECT '${a}' FROM s;" * 11, {"a": value})
    assert caught.value.span == Span(10 * 21 + 8, 10 * 21 + 12)
    long = f"SELECT '${{a}} {'y' * 4_000_000}' FROM s;"
    assert len(parse(long * 3, {"a": "x"})) == 3, "a long text is none that grew"


@pytest.mark.parametrize("text", ["SELECT ${x} FROM s WHERE a = ${x};", "SELECT a ${x}, -${x} FROM t.${x};", "${x};"])
@given(value=st.text(alphabet=ODD, max_size=12) | st.sampled_from(["-1", "+ 2.5", "-- a", "/*", "null", "'a'--b"]))
@SOME
def test_value_cannot_change_what_a_statement_does(text: str, value: str) -> None:
    try:
        made = substitute(text, {"x": value})
    except SyntaxProblem:
        return
    kept = [t.text for t in tokenize(text) if t.text != "${x}"]
    inside = {(new, end): 0 for new, end, _, _ in made.pieces}
    outside = []
    for token in tokenize(made.text):
        piece = next(((new, end) for new, end in inside if new <= token.start and token.end < end), None)
        if piece is None:
            outside.append(token.text)
        else:
            sign = made.text[token.start : token.end + 1] in ("+", "-")  # the text '-' is none
            inside[piece] += 1 + sign
    # All other tokens are the same, and a reference gives one, or a sign and a number.
    assert outside == kept
    assert set(inside.values()) <= {1, 3}


@given(value=st.text(max_size=20))
@SOME
def test_value_in_quotes_stays_there(value: str) -> None:
    [statement] = parse("SELECT 'a ${x} b' FROM s;", {"x": value})
    assert statement.node.expressions[0].this == f"a {value} b"
