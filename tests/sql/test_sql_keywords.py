"""Every word of the language, in the places where a name may stand."""

from __future__ import annotations

import pytest

from ksqlpy.errors import SyntaxProblem
from ksqlpy.grammar import by_place, non_reserved, reserved
from ksqlpy.sql import parse, to_sql

PLACES = (
    "CREATE STREAM {} ({} {} KEY, b STRUCT<{} INT, c {}>) WITH ({} = 1);",
    "CREATE TABLE IF NOT EXISTS {} AS SELECT a FROM {};",
    "SELECT {}, {} + 1, -{}, NOT {}, ({}), a[{}] FROM s;",
    "SELECT a AS {}, a {}, {} {}, {}.a, {}.{}, {}.* FROM {};",
    "SELECT s->{}, {}->a, {}->*, s->{}->{} FROM s;",
    "SELECT a FROM {} AS {} JOIN {} {} ON {}.{} = {}.a LEFT JOIN s {} ON TRUE;",
    "SELECT a FROM {} {} EMIT CHANGES;",
    "SELECT a FROM {} {} PARTITION BY {};",
    "SELECT a FROM {} {} WINDOW TUMBLING (SIZE 1 DAY) WHERE {} GROUP BY {}, {} HAVING {} LIMIT 1;",
    "SELECT f({}, {} => {}, ({}, b) => {} + b), CAST({} AS STRING), STRUCT({} := {}) FROM s;",
    "SELECT CASE {} WHEN {} THEN {} ELSE {} END, {} BETWEEN {} AND {}, {} LIKE {}, {} IS NULL FROM s;",
    "INSERT INTO {} ({}) VALUES (1);",
    "DESCRIBE {};",
    "DESCRIBE FUNCTION {};",
    "DESCRIBE {} EXTENDED;",
    "EXPLAIN {};",
    "TERMINATE {};",
    "DROP STREAM {};",
    "DROP TABLE IF EXISTS {} DELETE TOPIC CASCADE;",
    "CREATE ROLE IF NOT EXISTS {};",
    "DROP ROLE {};",
    "GRANT ALL ON {} TO {};",
    "REVOKE SELECT, DROP ON TOPIC {} FROM {};",
    "SHOW GRANTS FOR {};",
    "SELECT a {} FROM s {} UNION ALL SELECT {} FROM (SELECT {} FROM {}) {} ORDER BY {}, {}.{} DESC NULLS LAST;",
    "WITH {} AS (SELECT {} FROM {}) SELECT {}.{} FROM {} {} WINDOW SESSION (1 DAY) WHERE {};",
    "SELECT a FROM {} {} FULL JOIN {} {} WITHIN 1 DAY GRACE PERIOD 1 DAY ON {} = {};",
    "CREATE OR REPLACE SOURCE TABLE {} ({} INT PRIMARY KEY, b BYTES HEADER('x')) WITH ({} = 'x');",
    "INSERT INTO {} WITH ({} = 1) SELECT {} FROM {};",
    "ALTER STREAM {} ADD COLUMN {} INT, ADD {} STRUCT<{} INT>;",
    "CREATE TYPE {} AS STRUCT<{} INT>;",
    "DROP TYPE IF EXISTS {};",
    "CREATE SINK CONNECTOR {} WITH ({} = 1);",
    "DESCRIBE CONNECTOR {};",
    "DROP CONNECTOR {};",
    "PRINT {} FROM BEGINNING INTERVAL 2 LIMIT 1;",
    "DELETE FROM {} WHERE {} = 1;",
    "DEFINE {} = 'x';",
    "UNDEFINE {};",
    "ASSERT TOPIC {} WITH ({} = 1) TIMEOUT 1 DAY;",
    "ASSERT NOT EXISTS SCHEMA SUBJECT {} ID 1;",
    "ASSERT VALUES {} ({}) VALUES (1);",
    "ASSERT NULL VALUES {} ({}) KEY (1);",
    "ASSERT TABLE {} ({} INT PRIMARY KEY) WITH ({} = 1);",
)

BUILDERS = ("ARRAY", "MAP", "STRUCT")
"""Where a type stands these three begin a constructed type."""


@pytest.mark.parametrize("place", PLACES)
def test_non_reserved_word_is_a_name(place: str) -> None:
    for word in sorted(non_reserved() | by_place()):
        text = place.replace("{} KEY", "INT KEY").replace("c {}>", "c INT>") if word in BUILDERS else place
        for name in (word, word.lower(), f"`{word}`"):
            statement = parse(text.replace("{}", name))[0].node
            assert parse(to_sql(statement) + ";")[0].node == statement
        plain, quoted = parse(text.replace("{}", word))[0].node, parse(text.replace("{}", f"`{word}`"))[0].node
        assert plain == quoted


@pytest.mark.parametrize("word", sorted(reserved()))
def test_reserved_word_is_a_name_in_quotes_only(word: str) -> None:
    [statement] = parse(f"SELECT `{word}`, a AS `{word}`, f(`{word}`) FROM `{word}` AS `{word}`;")
    assert parse(to_sql(statement.node) + ";")[0].node == statement.node
    with pytest.raises(SyntaxProblem):
        parse(f"SELECT a FROM s AS {word};")


@pytest.mark.parametrize("word", sorted(non_reserved() | by_place()))
def test_non_reserved_word_is_a_function_name(word: str) -> None:
    if word not in ("MAP", "STRUCT"):
        assert to_sql(parse(f"SELECT {word}(1) FROM s;")[0].node).upper().replace("`", "") == f"SELECT {word}(1) FROM S"


def test_words_are_in_one_list_only() -> None:
    assert not reserved() & non_reserved()
    assert not by_place() & (reserved() | non_reserved())
