"""Statement files themselves: what is refused, how a difference looks, how answers are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksqlpy.catalog import Column, KeySpec, Source, ValueSpec
from ksqlpy.testing import Case, CaseFailed, FileProblem, Outcome, check, complete, read_cases
from ksqlpy.testing.cases import Line
from ksqlpy.testing.live import with_suffix
from ksqlpy.testing.records import Record, inputs, parse_record, show_record
from ksqlpy.types import BIGINT, DOUBLE, INTEGER, STRING, DecimalType, SqlType

SQL = "CREATE STREAM o AS SELECT * FROM s;\n"


def source(key: SqlType | None = INTEGER, key_format: str = "KAFKA") -> Source:
    columns = (Column("D", DecimalType(4, 2)), Column("F", DOUBLE))
    keys = () if key is None else (Column("K", key, True),)
    return Source("O", "STREAM", "o", (*keys, *columns), KeySpec(key_format if keys else "NONE"), ValueSpec("JSON"), "")


class Fixed:
    """A runner that always sees the same."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def run(self, case: Case) -> Outcome:
        return self.outcome


def saw(*values: str) -> Fixed:
    records = [Record("o", n.to_bytes(4, "big"), v.encode(), n * 10) for n, v in enumerate(values, 1)]
    return Fixed(Outcome({"O": source()}, {"o": records}))


def written(folder: Path, text: str) -> Path:
    file = folder / "some.test"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "some.test:1: the file has no cases"),
        (f"=== \n{SQL}", "some.test:1: the case has no name"),
        (f"=== a\n{SQL}--- output o\n=== a\n{SQL}", "some.test:4: there are two cases called a"),
        ("=== a\n--- output o\n", "some.test:1: the case a has no statements"),
        (f"=== a\n{SQL}", "some.test:1: the case a expects nothing"),
        (f"=== a\n{SQL}--- outptu o\n", "some.test:3: there is no section 'outptu o'"),
        (f"=== a\n{SQL}--- output\n", "some.test:3: the section output needs a topic"),
        (f"=== a\n{SQL}--- output o p\n", "some.test:3: too many words behind --- output"),
        (f"=== a\n{SQL}--- error\n--- input s\n", "some.test:3: a case with an error has no records"),
    ],
)
def test_what_a_file_cannot_hold(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FileProblem) as caught:
        read_cases(written(tmp_path, text))
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (INTEGER, '7 @5 +a=b +c="d e" +f=null +g=x\'00ff\' {"D": 1.00}'),
        (BIGINT, "-1 null"),
        (DOUBLE, "0.1 x'ff'"),
        (STRING, 'word {"D": 1}'),
        (STRING, "\"two words\" x''"),
        (STRING, '"null" []'),
        (STRING, "null @1 {}"),
        (INTEGER, "x'00' {}"),
        (None, '@3 {"F": 1}'),
    ],
)
def test_lines_come_back(key: SqlType | None, line: str) -> None:
    of = source(key)
    assert show_record(parse_record(Line(1, line), of, "here"), of, time=True) == line


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x {}", "here: x is no INTEGER"),
        ("9999999999 {}", "here: 9999999999 is no INTEGER"),
        ("1 @5", "here: the record has no value"),
        ('"open', "here: this is not JSON"),
    ],
)
def test_what_is_no_record(line: str, words: str) -> None:
    with pytest.raises(FileProblem) as caught:
        parse_record(Line(1, line), source(), "here")
    assert words in caught.value.message


@pytest.mark.parametrize("line", ['1 {"F": 1, "D": 1.50}', '1 @10 {"D":1.50,"F":1.0e0}', '1 {"D": 1.50, "F": 1.00}'])
def test_equal(tmp_path: Path, line: str) -> None:
    [case] = read_cases(written(tmp_path, f"=== a\n{SQL}--- output o\n{line}\n"))
    check(case, saw('{"D": 1.50, "F": 1.0}'))


@pytest.mark.parametrize(
    "line",
    ['1 {"D": 1.5, "F": 1}', '1 {"D": "1.50", "F": 1}', '1 {"D": 1.50}', '1 @11 {"D": 1.50, "F": 1}', "(nothing)"],
)
def test_not_equal(tmp_path: Path, line: str) -> None:
    [case] = read_cases(written(tmp_path, f"=== a\n{SQL}--- output o\n{line}\n"))
    with pytest.raises(CaseFailed):
        check(case, saw('{"D": 1.50, "F": 1.0}'))


def test_a_difference_is_drawn(tmp_path: Path) -> None:
    lines = '1 @10 {"D": 1.00}\n2 @21 {"D": 2.00}\n3 @30 {"D": 9.00}\n'
    file = written(tmp_path, f"=== a\n{SQL}--- output o\n{lines}")
    [case] = read_cases(file)
    with pytest.raises(CaseFailed) as caught:
        check(case, saw('{"D": 1.00}', '{"D": 2.00}', '{"D": 3.00}'))
    assert str(caught.value).split("\n") == [
        f"{file}:1: case 'a'",
        f"{file}:3: output o differs (- expected, + actual)",
        '    1 @10 {"D": 1.00}',
        '  - 2 @21 {"D": 2.00}    [some.test:5]',
        '  + 2 @20 {"D": 2.00}',
        '  - 3 @30 {"D": 9.00}    [some.test:6]',
        '  + 3 @30 {"D": 3.00}',
    ]


def test_dead_letters_must_be_named(tmp_path: Path) -> None:
    from ksqlpy.testing.records import DeadLetter

    [case] = read_cases(written(tmp_path, f"=== a\n{SQL}--- output o\n(nothing)\n"))
    with pytest.raises(CaseFailed, match=r"some\.test:1: dead letters differ"):
        check(case, Fixed(Outcome({"O": source()}, {}, [DeadLetter("s", 4, "not JSON: far too long")])))


def test_answers_are_written(tmp_path: Path) -> None:
    file = written(tmp_path, f"=== a\n{SQL}--- input s\n1 @5 x\n--- output o\n\n=== b\n{SQL}--- output o\n1 kept\n")
    assert complete(file, saw("{}")) == 1
    assert f"--- output o\n1 @10 {{}}\n\n=== b\n{SQL}--- output o\n1 kept\n" in file.read_text()
    assert complete(file, saw("{}")) == 0


@pytest.mark.parametrize(
    ("sql", "renamed"),
    [
        ("SELECT a.x FROM a;", "SELECT a.x FROM `A_1` AS `A`;"),
        ("SELECT * FROM a b JOIN c ON b.x = c.x;", "SELECT * FROM `A_1` b JOIN `C_1` AS `C` ON b.x = c.x;"),
        (
            "create stream a (x INT) with (kafka_topic = 'a''b', value_format='JSON');",
            "create stream `A_1` (x INT) with (kafka_topic = 'a''b_1', value_format='JSON');",
        ),
        ("INSERT INTO a VALUES ('a'); -- a", "INSERT INTO `A_1` VALUES ('a'); -- a"),
        (
            "CREATE TYPE a AS INT; CREATE TYPE b AS STRUCT<c a, d ARRAY<a>>; DROP TYPE a;",
            "CREATE TYPE `A_1` AS INT; CREATE TYPE `B_1` AS STRUCT<c `A_1`, d ARRAY<`A_1`>>; DROP TYPE `A_1`;",
        ),
        (
            "INSERT INTO a WITH (QUERY_ID = 'q') SELECT CAST(x AS m) AS x FROM b;",
            "INSERT INTO `A_1` WITH (QUERY_ID = 'q_1') SELECT CAST(x AS `M_1`) AS x FROM `B_1` AS `B`;",
        ),
        (
            "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$;",
            "CREATE FUNCTION `F_1`(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x $$;",
        ),
        (
            "CREATE FUNCTION f(x a) RETURNS INT LANGUAGE PYTHON AS $$\n  import g\n  def F(x): return x\n$$;",
            "CREATE FUNCTION `F_1`(x `A_1`) RETURNS INT LANGUAGE PYTHON AS $$\n  import g\n  def F(x): return x\n"
            "\n  F_1 = F\n$$;",
        ),
        (
            "CREATE STREAM o AS SELECT F (f(g(x))), f FROM a;",
            "CREATE STREAM `O_1` AS SELECT F_1 (f_1(g(x))), f FROM `A_1` AS `A`;",
        ),
        ("DROP FUNCTION IF EXISTS f;", "DROP FUNCTION IF EXISTS `F_1`;"),
    ],
)
def test_names_get_a_suffix(sql: str, renamed: str) -> None:
    assert with_suffix(sql, "_1", {"F"}) == renamed


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("rows.csv", "f,d\nx,1.5\n", 'rows.csv:2: column f: "x" is no DOUBLE'),
        ("rows.csv", "a,b\n1,2\n", "none of its fields (a, b) is a column of O"),
        ("rows.csv", None, "rows.csv cannot be read: no such file or directory"),
        ("rows.txt", "f\n1\n", "does not say what is in it"),
        ("rows.csv", "f,rowtime\n1,0\n", "the time of an input record is not 0"),
    ],
)
def test_rows_of_a_file_that_are_none(tmp_path: Path, file: str, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / file).write_text(text)
    [case] = read_cases(written(tmp_path, f"=== a\n{SQL}--- input o\n(rows of {file})\n--- output o\n(nothing)\n"))
    with pytest.raises(FileProblem) as caught:
        inputs(case, {"O": source(None)}, lambda found: found)
    assert caught.value.message.startswith(f"{case.file}:4: ")
    assert said in caught.value.message
