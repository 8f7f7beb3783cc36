"""The formatter: pairs of ``format.txt``, and for all SQL of the tests that nothing but blanks and case changes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksqlpy.errors import SyntaxProblem
from ksqlpy.project.comments import gaps_of
from ksqlpy.project.format import format_sql
from ksqlpy.project.printing import WIDTH
from ksqlpy.sql import parse
from ksqlpy.sql.tokens import tokenize
from ksqlpy.testing import read_cases

HERE = Path(__file__).parent
TESTS = HERE.parent
PAIRS = [
    (name, *rest.split("\n-->\n"))
    for name, _, rest in (
        block.partition("\n") for block in (HERE / "format.txt").read_text(encoding="utf-8").split("\n=== ")[1:]
    )
]
ROUNDTRIP = (TESTS / "sql" / "roundtrip.sql").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "written", "wanted"), PAIRS, ids=[p[0] for p in PAIRS])
def test_layout_is_as_wanted(name: str, written: str, wanted: str) -> None:
    assert format_sql(written) == f"{wanted.strip(chr(10))}\n"
    assert format_sql(wanted) == f"{wanted.strip(chr(10))}\n"


def texts() -> Iterator[tuple[str, str]]:
    """All SQL of the tests and examples that parses."""
    yield "roundtrip.sql", ROUNDTRIP
    for file in sorted((TESTS / "streams").glob("*.test")):
        cases = read_cases(file)
        yield file.name, cases[0].shared
        for case in cases:
            yield f"{file.name} {case.name}", case.sql
    for block in (TESTS / "runtime" / "answers.txt").read_text(encoding="utf-8").split("\n\n"):
        yield "answers.txt", block.split("\n----\n")[0]
    for file in sorted((TESTS.parent / "examples").rglob("*.sql")):
        yield file.name, file.read_text(encoding="utf-8")


def test_all_sql_of_the_tests_keeps_its_meaning() -> None:
    count = 0
    for name, sql in texts():
        try:
            trees = [p.node for p in parse(sql, substitution=False)]
        except SyntaxProblem:  # what is refused is tested there
            continue
        result = format_sql(sql)
        assert [p.node for p in parse(result, substitution=False)] == trees, name
        assert format_sql(result) == result, name
        count += len(trees)
    assert count > 500


COMMENTS = (
    " -- c{}\n",
    "\n-- c{}\n",
    "\n\n  -- c{} \n\n",
    " /* c{} */ ",
    "\n/* c{} */\n",
    "/* c{}\n   more */",
    "  /* c{} */\n",
    "\n/* c{} */ ",
    " /* c{} */ -- and\n",
    "\n",
)


def noisy(rng: random.Random, sql: str) -> str:
    """The statement with comments and line ends between any of its words."""
    out = []
    for token in tokenize(sql):
        if rng.random() < 0.06:
            out.append(rng.choice(COMMENTS).format(rng.randrange(99)))
        out.append(f" {sql[token.start : token.end + 1]}")
    return "".join([*out, rng.choice((" -- end\n", "/* end */", "\n\n/* end */ ", "", "\n", "\n\n\n"))])


def comments_by_statement(sql: str) -> list[list[str]]:
    """The comments of each statement, with those behind it on its line; last those that follow all statements."""
    tokens = tokenize(sql)
    found: list[list[str]] = [[]]
    for index, gap in enumerate(gaps_of(tokens, sql)):
        trailing = [c.text for c in gap.comments if c.place == "TRAILING"]
        if index and tokens[index - 1].text == ";":
            found[-1] += trailing
            found.append([])
            trailing = []
        found[-1] += trailing + [c.text for c in gap.comments if c.place != "TRAILING"]
    return found


@pytest.mark.parametrize("seed", range(30))
def test_comments_stay_with_their_statement(seed: int) -> None:
    rng = random.Random(seed)
    sql = "".join(noisy(rng, p.text) for p in rng.sample(parse(ROUNDTRIP), 4))
    result = format_sql(sql)
    assert comments_by_statement(result) == comments_by_statement(sql)
    assert [p.node for p in parse(result)] == [p.node for p in parse(sql)]
    assert format_sql(result) == result


def test_lines_are_short_where_they_can_be() -> None:
    assert max(len(line) for line in format_sql(ROUNDTRIP).splitlines() if "--" not in line) <= WIDTH


def test_line_ends_and_marks_of_the_file() -> None:
    assert format_sql("show streams;\r\nshow tables;\r\n") == "SHOW STREAMS;\r\nSHOW TABLES;\r\n"
    assert format_sql("\ufeffshow streams;") == "SHOW STREAMS;\n"
    assert format_sql("select 'a\nb' from s;") == "SELECT 'a\nb' FROM s;\n"
    assert format_sql(" \n\n") == ""


@pytest.mark.parametrize(
    ("sql", "line", "column"),
    [("show streams;\nselect 1 frm s;", 2, 14), ("select ${a} ${b} ${c} from s;", 1, 18), ("show streams", 1, 13)],
)
def test_what_is_no_sql_is_refused_at_its_place(sql: str, line: int, column: int) -> None:
    with pytest.raises(SyntaxProblem) as refused:
        format_sql(sql)
    assert refused.value.span is not None
    assert refused.value.span.position(sql) == (line, column)
