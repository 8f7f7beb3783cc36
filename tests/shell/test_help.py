"""Help: every statement, command and word of the language has a page, and what the pages say is true."""

from __future__ import annotations

import re

import pytest

from ksqlpy.completion.names import functions
from ksqlpy.errors import ConfigProblem
from ksqlpy.functions import FUNCTIONS
from ksqlpy.shell.help import Topic, clauses, overview, page, topics
from ksqlpy.shell.special import SPECIALS, commands, match
from ksqlpy.shell.syntax import rules, syntax
from ksqlpy.sql import parse
from ksqlpy.sql.statements import Statements

PAGES = [*topics().values(), *clauses().values()]
WORDS = sorted({w for rule in rules().values() for w in re.findall('"([A-Z_]+)"i', rule)})
"""The words of the language."""

NOT_WORDS = ("DATA TYPES", "LAMBDA", "DURATION")
"""Pages of what has no word of its own."""

COMMANDS = {n.lower(): (s.usage, s.help) for s in SPECIALS for n in s.names}


def shown(about: str, room: int = 100) -> str:
    return "\n".join(page(about, COMMANDS, room))


def test_every_statement_of_the_grammar_has_a_page() -> None:
    alternatives = re.findall(r"[a-z_]+", rules()["statement"])
    assert set(alternatives) == {t.rule for t in topics().values()}


@pytest.mark.parametrize("word", Statements.STATEMENTS)
def test_every_first_word_has_help(word: str) -> None:
    assert "Example:" in shown(word)


@pytest.mark.parametrize("kind", Statements.SHOWN)
def test_everything_that_can_be_shown_has_a_page(kind: str) -> None:
    assert shown(f"show {kind}").startswith(f"SHOW {kind}\n")


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_the_language_has_help(word: str) -> None:
    assert "Example:" in shown(word)


@pytest.mark.parametrize(
    ("asked", "first", "has"),
    [
        ("window", "WINDOW", "tumbling: TUMBLING ( SIZE duration"),
        ("emit", "EMIT", "EMIT {CHANGES | FINAL}"),
        ("emit changes", "EMIT", "push query"),
        ("grace period", "GRACE PERIOD", "24 hours"),
        ("grace", "GRACE PERIOD", "Example:"),
        ("left join", "JOIN", "without a partner"),
        ("full outer join", "JOIN", "Example:"),
        ("partition by", "PARTITION BY", "another key"),
        ("group", "GROUP BY", "Example:"),
        ("nulls first", "ORDER BY", "Example:"),
        ("window session", "WINDOW", "session: SESSION ( duration"),
        ("primary key", "KEY", "Example:"),
        ("decimal", "DATA TYPES", "DECIMAL ( precision , scale )"),
        ("with", "WITH", "KAFKA_TOPIC"),
        ("streams", "SHOW STREAMS", "DESCRIBE STREAMS"),
        ("create", "CREATE STREAM", "CREATE TYPE"),
        ("as", "AS", "Example:"),
        ("from beginning", "PRINT", "Example:"),
    ],
)
def test_help_of_clauses(asked: str, first: str, has: str) -> None:
    text = shown(asked)
    assert text.splitlines()[0] == first and has in re.sub(r"\s+", " ", text)


def test_no_page_hides_another() -> None:
    names = [name for t in PAGES for name in (t.name, *t.also)]
    assert len(names) == len(set(names))
    assert not set(names) & set(FUNCTIONS.functions)
    assert {n.lower() for n in names} & set(COMMANDS) == {"run script"}  # the same


@pytest.mark.parametrize("topic", PAGES, ids=lambda t: t.name)
def test_examples_are_of_the_language(topic: Topic) -> None:
    [statement] = parse(topic.example)
    words = iter(re.findall("[A-Z_]+", topic.example.upper()))
    assert topic.name in NOT_WORDS or all(w in words for w in topic.name.split())
    assert statement.text == topic.example


@pytest.mark.parametrize("topic", PAGES, ids=lambda t: t.name)
def test_syntax_is_drawn(topic: Topic) -> None:
    for part in topic.parts:
        assert part in rules()
    forms = topic.syntax()
    assert forms and all(form.count("[") == form.count("]") and '"' not in form for form in forms)
    first = topic.name.split()[0]
    assert topic.name in ("SELECT", "AS", *NOT_WORDS) or any(first in form for form in forms)


def test_syntax() -> None:
    assert syntax("drop") == [
        "DROP {STREAM | TABLE} [IF EXISTS] name [DELETE TOPIC] [CASCADE]",
        "DROP {TYPE | CONNECTOR | FUNCTION} [IF EXISTS] name",
    ]
    assert syntax("names") == ["( name [, name …] )"]


def test_functions_and_properties_and_commands() -> None:
    assert set(functions()) == set(FUNCTIONS.functions)
    assert shown("substring").startswith("SUBSTRING, scalar function\n")
    assert "SET 'auto.offset.reset'" in shown("auto.offset.reset")
    assert "set when the server starts" in shown("ksqlpy.port")
    assert shown("spool").startswith("spool 'FILE' | off")
    assert shown("create").count("Example:") > 4


def test_no_help() -> None:
    with pytest.raises(ConfigProblem, match="no help about 'slect'") as e:
        shown("slect")
    assert e.value.similar == ("SELECT", "SET")


@pytest.mark.parametrize("room", [40, 80, 120])
def test_first_page_fits(room: int) -> None:
    lines = list(overview([(s.usage, s.help) for s in SPECIALS], room))
    assert all(len(line) <= max(room, 52) for line in lines)
    text = "\n".join(lines)
    assert all(s.usage in text for s in SPECIALS) and "CREATE STREAM AS SELECT" in re.sub(r"\s+", " ", text)
    assert "PARTITION BY" in re.sub(r"\s+", " ", text)


def test_commands_hide_no_statement() -> None:
    for name in commands():
        assert name.split()[0].upper() not in Statements.STATEMENTS or name in (
            "set cli wrap",
            "set cli column-width",
            "run script",
        )
    for statement in ("SET 'a'='b';", "SHOW STREAMS;", "HISTORY_OF;", "server_x", "help\nme"):
        assert match(statement) is None


@pytest.mark.parametrize(
    ("line", "name", "rest"),
    [
        ("exit;", "exit", ""),
        ("  QUIT ", "exit", ""),
        ("\\q", "exit", ""),
        ("Set CLI Wrap OFF;", "set cli wrap", "OFF"),
        ("run script 'a b.sql'", "run script", "'a b.sql'"),
        ("\\d RIDES", "\\d", "RIDES"),
        ("\\df", "\\df", ""),
        ("output json", "output", "json"),
        ("\\fs x SHOW STREAMS;", "\\fs", "x SHOW STREAMS;"),
    ],
)
def test_commands_are_found(line: str, name: str, rest: str) -> None:
    found = match(line)
    assert found is not None and (found[0].names[0], found[1]) == (name, rest)


def test_unknown_command() -> None:
    with pytest.raises(ConfigProblem, match=r"there is no command \\nothing"):
        match("\\nothing here")
