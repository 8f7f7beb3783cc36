"""The examples that are programs: each prints what its ``expected.txt`` says, and its page shows what is run.

They run as they are, but for the engine: it takes the JVM and the broker of the tests. In processes of their own
``tests/docs/test_pages.py`` runs them, by the commands of their pages.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ksqlpy
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.testing.stories import EXPECTED, PROGRAM, Story, find_story, read_stories
from ksqlpy.types import DOUBLE, INTEGER
from ksqlpy.udfs.definition import Definition
from ksqlpy.udfs.pool import Settings, Workers

ROOT = Path(__file__).parents[2]
PROGRAMS = [s for s in read_stories() if s.program is not None]
OWN_JVM = ("fraud",)
"""Those whose JVM has settings of its own: where workers find their modules."""


def blocks(story: Story, language: str) -> list[str]:
    """Those of its page."""
    page = (story.folder / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def sources(story: Story) -> list[str]:
    return [file.read_text(encoding="utf-8") for file in sorted(story.folder.glob("*.py"))]


def test_there_are_programs() -> None:
    assert {s.name for s in PROGRAMS} == {"plain-python", "taxi-library", "fastapi", "fraud", "faust"}


@pytest.mark.parametrize("story", PROGRAMS, ids=lambda story: story.name)
def test_the_page_shows_what_is_run(story: Story) -> None:
    for language in ("python", "sql"):
        shown = blocks(story, language)
        assert shown and [b for b in shown if not any(b in text for text in sources(story))] == []
    expected = (story.folder / EXPECTED).read_text(encoding="utf-8")
    assert blocks(story, "text") and [b for b in blocks(story, "text") if b not in expected] == []
    page = (story.folder / "README.md").read_text(encoding="utf-8")
    files = {f.name for f in story.folder.iterdir() if f.is_file()} - {"README.md", "requirements.txt"}
    assert [name for name in sorted(files) if f"`{name}`" not in page] == []


@pytest.mark.slow
def test_all_programs_are_typed(tmp_path: Path) -> None:
    """By ``mypy --strict``, in one run: each file with the name of its folder ahead where two have the same one."""
    copies = []
    for story in PROGRAMS:
        for file in sorted(story.folder.glob("*.py")):
            name = f"{story.name.replace('-', '_')}_main.py" if file.name == PROGRAM else file.name
            copies.append(tmp_path / name)
            assert not copies[-1].exists(), f"two examples have a module {file.name}"
            shutil.copyfile(file, copies[-1])
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, copies)]
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "MYPYPATH": path}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def needed(story: Story) -> Story:
    if story.missing:
        pytest.skip(f"needs {', '.join(story.missing)}")
    return story


def test_the_model_judges_as_is_expected(tmp_path: Path) -> None:
    """By workers as an engine has them; a JVM of its own, as the program needs it, is that of ``test_pages.py``."""
    story = needed(find_story("fraud"))
    here = shutil.copytree(story.folder, tmp_path / "fraud")
    subprocess.run([sys.executable, "-c", "import training; training.train()"], cwd=here, check=True)
    parameters = (("AMOUNT", DOUBLE), ("HOUR", INTEGER), ("KILOMETRES", DOUBLE))
    function = Definition("FRAUD_RISK", "SCALAR", parameters, DOUBLE, "", "risk:fraud_risk", timeout_ms=60_000)
    workers = Workers(Settings(1, path=(str(here),)))
    try:
        with (here / "payments.csv").open(encoding="utf-8", newline="") as file:
            shown = [judged(workers, function, payment) for payment in csv.DictReader(file)]
    finally:
        workers.close()
    assert shown == (story.folder / EXPECTED).read_text(encoding="utf-8").split("\n")[1:11]


def judged(workers: Workers, function: Definition, payment: Mapping[str, str]) -> str:
    """A payment as the program prints it."""
    number, amount, hour, kilometres = (
        float(payment[name]) if payment[name] else None for name in ("id", "amount", "hour", "kilometres")
    )
    assert hour is not None
    risk = workers.call(function, [amount, int(hour), kilometres])
    return f"  {number:2.0f} {amount:7.2f} risk {'unknown' if risk is None else f'{risk:.2f}'}"


@pytest.fixture(params=[s for s in PROGRAMS if s.name not in OWN_JVM], ids=lambda story: story.name)
def story(request: pytest.FixtureRequest) -> Story:
    return needed(request.param)


@pytest.mark.spark
def test_a_program_prints_what_is_expected(
    story: Story,
    spark: SparkSession,
    fresh_broker: EmbeddedKafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = tmp_path / story.name
    shutil.copytree(story.folder, here)
    monkeypatch.syspath_prepend(here)
    own = {"ksqlpy.warm.up": "false", "ksql.service.id": f"{story.name}_"}

    def on_ours(made: Callable[..., Any]) -> Callable[..., Any]:
        def started(*_: object, config: Mapping[str, object] | None = None) -> Any:
            return made(fresh_broker.bootstrap, tmp_path / "data", {**(config or {}), **own})

        return started

    for name in ("Engine", "AsyncEngine"):
        monkeypatch.setattr(ksqlpy, name, on_ours(getattr(ksqlpy, name)))
    modules = set(sys.modules)
    spec = importlib.util.spec_from_file_location(PROGRAM.removesuffix(".py"), here / PROGRAM)
    assert spec is not None and spec.loader is not None
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.main()
    finally:
        for own_module in set(sys.modules) - modules:
            file = getattr(sys.modules[own_module], "__file__", None)
            if file is not None and Path(file).is_relative_to(here):
                del sys.modules[own_module]
    assert capsys.readouterr().out == (story.folder / EXPECTED).read_text(encoding="utf-8")
