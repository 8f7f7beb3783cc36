"""As many of ksqlDB's own cases pass as docs/conformance.md says; they lie where `make qtt` takes them from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .readme import read_figures

ROOT = Path(__file__).parents[2]
CASES = ROOT.parent / "shared" / "qtt"
PAGE = ROOT / "docs" / "conformance.md"


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.extended("1,400 cases of ksqlDB, which lie beside this folder or are skipped")
def test_as_many_cases_pass_as_the_page_says(tmp_path: Path) -> None:
    if not CASES.is_dir():
        pytest.skip(f"ksqlDB's cases are not in {CASES}")
    page = Path(shutil.copy(PAGE, tmp_path))
    # In a process of its own, as `make qtt`: it changes the list of functions.
    command = [sys.executable, "-m", "tests.qtt", str(CASES), "--readme", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    said = f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert done.returncode in (0, 1), said
    (_, wanted, _), (_, passed, _) = (read_figures(p.read_text(encoding="utf-8"))["all"] for p in (PAGE, page))
    assert passed >= wanted, said
