"""The fixtures of pytest, in a run of pytest of its own: ``sample.py`` and ``sample_kafka.py`` are a user's tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ksqlpy.embedded.cache import cache_folder

pytest_plugins = ["pytester"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HEAVY = ("pyspark", "py4j", "confluent_kafka", "httpx", "pyarrow", "sqlglot", "ksqlpy.runtime", "ksqlpy.session")


def run(pytester: pytest.Pytester, sample: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> pytest.RunResult:
    """Runs one of the files beside this one."""
    return start(pytester, (HERE / sample).read_text(encoding="utf-8"), monkeypatch, *options)


def start(pytester: pytest.Pytester, tests: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> pytest.RunResult:
    """Runs a user's tests as pytest does where ksqlpy is installed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    # Its home is another one; jars and compiled classes are those of all tests.
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_folder().parent))
    pytester.makepyfile(test_sample=tests)
    return pytester.runpytest_subprocess("-p", "no:schemathesis", "-q", *options)


@pytest.mark.spark
def test_in_memory(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(pytester, "sample.py", monkeypatch, "-W", "error")
    expected = (HERE / "expected.txt").read_text(encoding="utf-8").splitlines()
    result.assert_outcomes(passed=10, failed=4)
    failed = [line.removeprefix("E").strip() for line in result.outlines if line.startswith("E  ")]
    assert [line for line in failed if line] == [line.strip() for line in expected if line.strip()]


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.extended("a run of pytest with an engine of its own")
def test_on_kafka(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    run(pytester, "sample_kafka.py", monkeypatch).assert_outcomes(passed=3)


def test_pytest_pays_nothing_for_it() -> None:
    """At each start of pytest, also where no test asks for a fixture of it."""
    program = (
        "import sys, pytest\n"
        "before = {*sys.modules}\n"
        "import ksqlpy.pytest_plugin\n"
        "print(*sorted({*sys.modules} - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert {"ksqlpy", "ksqlpy.pytest_plugin"} <= {*modules} and len(modules) <= 5, modules
    assert not [m for m in modules if m.startswith(HEAVY)]


def test_its_fixtures_are_listed_and_no_more(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    result = pytester.runpytest_subprocess("-p", "no:schemathesis", "--fixtures")
    own = [line for line in result.outlines if "/ksqlpy/pytest_plugin/" in line and " -- " in line]
    assert sorted(line.split()[0] for line in own) == ["ksql", "ksql_engine", "ksql_kafka", "ksql_spark"]
