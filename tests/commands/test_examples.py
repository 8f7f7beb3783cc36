"""``ksqlpy examples``: the list, examples that are run, and copies.

``tests/streams`` runs the cases of all examples, ``tests/docs/test_pages.py`` the commands of their pages.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ksqlpy.testing import stories
from ksqlpy.testing.stories import find_story, read_stories, run_program
from tests.support.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
Run = Callable[..., Any]

DOUBLED = """\
CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM d AS SELECT id, v * 2 AS w FROM s;
"""
RIGHT = "".join(f'{number} {{"W": {number * 2}}}\n' for number in range(1, 13))
CASES = f"""\
{DOUBLED}
=== many
--- input s
{"".join(f'{number} {{"v": {number}}}' + chr(10) for number in range(1, 13))}--- output d
{RIGHT}
=== one that is wrong
--- input s
1 {{"v": 1}}
--- output d
1 {{"W": 1}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Examples of the tests: statements, a program, and files to copy."""
    files = {
        "README.md": "# Examples\n\n| [doubled](doubled) | `v * 2` |\n| [greeting](greeting) | a greeting |\n"
        "| [unit](unit) | a file |\n",
        "doubled/doubled.sql": f"-- Each value twice.\n{DOUBLED}",
        "doubled/doubled.test": CASES,
        "greeting/main.py": "import ksqlpy\nprint('good')\nprint('morning')\n",
        "greeting/expected.txt": "good\nmorning\n",
        "unit/README.md": "# A file\n",
    }
    for name, text in files.items():
        file = tmp_path / "examples" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setattr(stories, "FOLDER", tmp_path / "examples")
    return tmp_path / "examples"


def test_the_list_has_one_line_each(ksqlpy: Run) -> None:
    done = ksqlpy("examples")
    assert (done.code, done.err) == (0, "")
    found = read_stories()
    assert {s.name for s in found if s.runs} > {"word-count", "alerts"}
    others = {"container", "systemd", "kubernetes", "monitoring", "project", "shell"}
    assert {s.name for s in found if not s.runs} == others
    lines = done.out.split("\n")
    assert len([line for line in lines if line.startswith("  ")]) == len(found)
    between = lines.index("ksqlpy examples copy NAME")
    assert {line.split()[0] for line in lines[1:between] if line} == {s.name for s in found if s.runs}
    assert max(map(len, lines)) <= 120 and "`" not in done.out
    assert ksqlpy("examples", "--list").out == done.out


def test_statements_that_come_out_as_expected_but_for_a_record(folder: Path, ksqlpy: Run, spark: SparkSession) -> None:
    done = ksqlpy("examples", "run", "doubled")
    assert done.code == 1
    lines = done.out.split("\n")
    assert lines[:3] == ["doubled: v * 2", "", "    CREATE STREAM d AS SELECT id, v * 2 AS w FROM s;"]
    shown = [*(f'    {n} {{"W": {n * 2}}}' for n in range(1, 9)), "    (4 more)"]
    assert "\n".join(["    --- output d", *shown, ""]) in done.out
    assert "ok     many" in lines and "FAILED one that is wrong" in lines
    assert '      - 1 {"W": 1}    [doubled.test:' in done.out and '      + 1 {"W":2}\n' in done.out
    assert re.fullmatch(r"doubled: 1 of 2 checks failed in [\d.]+ s", lines[-2])


def test_checks_only(folder: Path, ksqlpy: Run, spark: SparkSession) -> None:
    (folder / "doubled" / "doubled.test").write_text(CASES.split("=== one")[0])
    done = ksqlpy("examples", "run", "doubled", "--quiet")
    assert done.code == 0
    assert re.fullmatch(r"doubled: v \* 2\nok     many\ndoubled: 1 check passed in [\d.]+ s\n", done.out)


def test_a_test_file_that_cannot_be_read_fails(folder: Path, ksqlpy: Run) -> None:
    (folder / "doubled" / "doubled.test").write_text("=== x\n--- outputs\n")
    done = ksqlpy("examples", "run", "doubled", "--quiet")
    assert done.code == 1
    assert "FAILED" in done.out and "there is no section 'outputs'" in done.out


@pytest.mark.spark
@pytest.mark.kafka
def test_word_count_on_kafka(ksqlpy: Run, spark: SparkSession) -> None:
    done = ksqlpy("examples", "run", "word-count", "--kafka")
    assert (done.code, done.out.split("\n")[-2].partition(" in ")[0]) == (0, "word-count: 2 checks passed")


def test_a_program(folder: Path, ksqlpy: Run) -> None:
    done = ksqlpy("examples", "run", "greeting")
    shown, _, last = done.out.partition("greeting: 1 check passed in ")
    assert shown == "greeting: a greeting\n\nok     main.py\n    good\n    morning\n" and last
    assert done.code == 0
    assert [f.name for f in sorted((folder / "greeting").iterdir())] == ["expected.txt", "main.py"]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("print('good')\nprint('evening')\n", "    - morning\n    + evening\n"),
        ("print('good')\nprint('morning', end='')\n", "    main.py prints something else (- expected, + actual)\n"),
        ("print('good')\nprint('morning')\n1 / 0\n", "    ZeroDivisionError: division by zero\n"),
        ("print('good')\nprint('morning')\nraise SystemExit(3)\n", "    main.py ends with exit code 3\n"),
    ],
)
def test_a_program_that_does_something_else(folder: Path, ksqlpy: Run, program: str, said: str) -> None:
    (folder / "greeting" / "main.py").write_text(program)
    done = ksqlpy("examples", "run", "greeting")
    assert done.code == 1
    assert "FAILED main.py\n" in done.out and said in done.out
    assert "greeting: 1 of 1 checks failed in " in done.out


def test_a_program_that_does_not_end_is_ended_with_its_children(folder: Path, tmp_path: Path) -> None:
    child = tmp_path / "child"
    (folder / "greeting" / "main.py").write_text(
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(child)!r}, 'w').write(str(child.pid))\ntime.sleep(1000)\n"
    )
    said = run_program(find_story("greeting"), tmp_path, patience=3)
    assert said == ["main.py has not ended within 3 seconds"]
    assert until(lambda: not alive(int(child.read_text())))


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A child whose parent is gone may wait for somebody who takes its exit code.
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_program_chooses_by_itself_where_it_runs(folder: Path, ksqlpy: Run) -> None:
    done = ksqlpy("examples", "run", "greeting", "--kafka")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("ksqlpy examples: greeting is a program, which chooses by itself where it runs")


def test_a_program_whose_packages_are_missing_is_not_run(folder: Path, ksqlpy: Run) -> None:
    (folder / "greeting" / "requirements.txt").write_text("# of the tests\npytest>=8\nno-such-package>=1.2\n")
    done = ksqlpy("examples", "run", "greeting")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "error[missing-package]: the example greeting needs no-such-package, not installed here\n"
        " = hint: pip install 'ksqlpy[examples]'\n"
    )
    assert ksqlpy("examples", "copy", "greeting", folder / "copied").code == 0


def test_the_extra_has_what_examples_need() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    needed = {line for s in read_stories() for line in requirements(s.folder) if line}
    assert needed == set(extras["examples"]) and needed <= {*extras["dev"]}


def requirements(folder: Path) -> list[str]:
    file = folder / "requirements.txt"
    return file.read_text().split("\n") if file.is_file() else []


def test_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksqlpy: Run) -> None:
    monkeypatch.chdir(tmp_path)
    done = ksqlpy("examples", "copy", "word-count")
    assert (done.code, done.err) == (0, "")
    names = ["README.md", "word-count.sql", "word-count.test"]
    assert done.out == f"word-count is copied to word-count: {', '.join(names)}\n"
    of_ours = find_story("word-count").folder
    assert [(tmp_path / "word-count" / n).read_bytes() for n in names] == [(of_ours / n).read_bytes() for n in names]
    assert ksqlpy("examples", "copy", "kubernetes", "deep/er").code == 0
    assert (tmp_path / "deep" / "er" / "chart" / "templates" / "deployment.yaml").is_file()


def test_an_installation_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ksqlpy: Run) -> None:
    monkeypatch.setattr(stories, "FOLDER", tmp_path / "nowhere")
    done = ksqlpy("examples")
    assert done.code == 1
    assert done.err.startswith("error[no-examples]: the examples cannot be read: ")
