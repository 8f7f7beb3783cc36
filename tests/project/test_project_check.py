"""What a check without a server finds: the cases of ``checks.txt``.

Set KSQLPY_REWRITE to rewrite the reports, and read the difference.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ksqlpy.errors import ConfigProblem
from ksqlpy.project.check import check_files
from ksqlpy.project.files import File, files_below, sql_files
from ksqlpy.project.statements import Statement, in_order, statements_of

FILE = Path(__file__).with_name("checks.txt")
INTRODUCTION, *BLOCKS = FILE.read_text(encoding="utf-8").split("\n=== ")


def report_of(block: str) -> str:
    _, *sections = block.split("\n--- report")[0].split("\n--- file ")
    files = [File(name, sql) for name, _, sql in (s.partition("\n") for s in sections)]
    report = check_files(files, {"stage": "dev"})
    return "\n\n".join([*(f.render() for f in report.faults), report.summary()])


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.split("\n")[0])
def test_report_is_as_written(block: str) -> None:
    assert report_of(block) == block.split("\n--- report\n")[1].strip("\n")


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    bodies = [b.split("\n--- report")[0].strip("\n") for b in BLOCKS]
    out = [INTRODUCTION.rstrip("\n"), *(f"{b}\n--- report\n{report_of(b)}" for b in bodies)]
    FILE.write_text("\n\n=== ".join(out) + "\n", encoding="utf-8")


def test_a_check_needs_neither_spark_nor_kafka() -> None:
    program = (
        "import sys\nfrom ksqlpy.project.check import check_files\nfrom ksqlpy.project.files import File\n"
        "assert not check_files([File('f', 'SHOW STREAMS;')]).faults\n"
        "print(*sorted({m.split('.')[0] for m in sys.modules} & {'pyspark', 'py4j', 'confluent_kafka'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


def test_a_long_chain_is_put_in_order() -> None:
    """Each stream reads the one behind it in the file."""
    length = 3_000
    made = [f"CREATE STREAM s{n} AS SELECT * FROM s{n + 1};" for n in range(length)]
    statements = [s for s in statements_of(File("a.sql", "\n".join(made)), {}) if isinstance(s, Statement)]
    assert [next(iter(s.makes)) for s in in_order(statements)] == [f"S{n}" for n in reversed(range(length))]
    circle = ["CREATE STREAM a AS SELECT * FROM b;", "CREATE STREAM b AS SELECT * FROM a;"]
    found = [s for s in statements_of(File("a.sql", "".join(circle)), {}) if isinstance(s, Statement)]
    assert [next(iter(s.makes)) for s in in_order(found)] == ["B", "A"]


def test_a_folder_that_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.sql").touch()
    (tmp_path / "a.sql").touch()
    for hidden in (".git", "deep/.cache"):
        (tmp_path / hidden).mkdir()
        (tmp_path / hidden / "c.sql").touch()
    (tmp_path / "deep" / ".d.sql").touch()
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "gone.sql").symlink_to(tmp_path / "nowhere")
    assert sql_files(tmp_path) == [tmp_path / "a.sql", tmp_path / "deep" / "b.sql"]
    for most, fits in ((8, True), (7, False)):
        if fits:
            assert len(files_below(tmp_path, ".sql", most)) == 2
        else:
            with pytest.raises(ConfigProblem, match=f"more than {most} files"):
                files_below(tmp_path, ".sql", most)
    with pytest.raises(ConfigProblem, match="cannot be read: no such file") as refused:
        files_below(tmp_path / "nothing", ".sql")
    assert refused.value.code == "file-unreadable"
