"""What a check without a server finds: the cases of ``checks.txt``.

Set KSQLPY_REWRITE to rewrite the reports, and read the difference.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ksqlpy.project.check import check_files
from ksqlpy.project.files import File

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
