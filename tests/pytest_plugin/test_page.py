"""The tests in docs/testing-your-sql.md pass, and the one that fails says what the page shows."""

from __future__ import annotations

import re

import pytest

from tests.pytest_plugin.test_plugin import ROOT, start

pytest_plugins = ["pytester"]

PAGE = (ROOT / "docs" / "testing-your-sql.md").read_text(encoding="utf-8")
CALLS = re.compile(r"^\| `(\w+)", re.MULTILINE)


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.extended("a run of pytest with an engine of its own")
def test_the_page(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    [shown] = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    result = start(pytester, "\n".join(blocks), monkeypatch)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines([re.sub(r"\[", "[[]", line) for line in shown.splitlines()], consecutive=True)


def test_the_calls_are_those_of_the_page() -> None:
    from ksqlpy.pytest_plugin.scenario import Scenario

    assert {*CALLS.findall(PAGE)} == {name for name in vars(Scenario) if not name.startswith("_")}
