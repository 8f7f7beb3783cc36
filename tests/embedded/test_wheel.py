"""A wheel has the compiled Java classes, and a session takes them from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ksqlpy.spark.jvm import build

ROOT = Path(__file__).parents[2]
PARTS = ("ksqlpy", "server", "grammar", "examples")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")

SESSION = """
import sys
from pathlib import Path
from ksqlpy.spark.jvm import build
from ksqlpy.spark.session import end_session, start_session
build.compile_jar = None  # nothing is compiled
session = start_session("local[1]", "700m", Path(sys.argv[1]))
print(build.helper_jar().parent, session.sql("SELECT ksqlpy.`{\\"exact\\":\\"cbrt\\"}`(-27D) AS s").first().s)
end_session(session)
"""

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.extended("wheels are built")]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what wheels are made of: the tools leave files beside it."""
    folder = tmp_path_factory.mktemp("sources")
    for name in PARTS:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def wheel(sources: Path, to: Path, **environ: str) -> Path:
    shutil.rmtree(sources / "build", ignore_errors=True)  # of the wheel before
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(to), str(sources)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environ})
    assert done.returncode == 0, done.stdout + done.stderr
    return next(to.glob("*.whl"))


def modules(sources: Path) -> set[str]:
    """The modules of the package, those behind links too, without the maker of the grammar's drawings."""
    found = (Path(top, name) for top, _, names in os.walk(sources / "ksqlpy", followlinks=True) for name in names)
    return {str(f.relative_to(sources)) for f in found if f.suffix == ".py" and f.parent.name != "railroad"}


def java(files: list[str]) -> set[str]:
    return {f for f in files if f.startswith("ksqlpy/spark/jvm/") and f.endswith((".jar", ".java"))}


@pytest.mark.spark
def test_a_session_runs_on_the_jar_of_the_wheel(sources: Path, tmp_path: Path) -> None:
    if build.find_javac() is None:
        pytest.skip("no JDK here")
    with zipfile.ZipFile(wheel(sources, tmp_path)) as z:
        assert java(z.namelist()) == {f"ksqlpy/spark/jvm/{build.JAR}"}
        z.extractall(tmp_path / "site")
    command = [sys.executable, "-c", SESSION, str(tmp_path / "spark")]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    said = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environ, cwd=tmp_path)
    assert said.stdout.splitlines()[-1:] == [f"{tmp_path / 'site' / 'ksqlpy' / 'spark' / 'jvm'} -3.0"], said.stderr


def test_without_a_jdk_it_has_the_sources(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(str(build.find_java().executable))
    with zipfile.ZipFile(wheel(sources, tmp_path, JAVA_HOME="", PATH=str(tmp_path / "bin"))) as z:
        files = z.namelist()
    assert java(files) == {f"ksqlpy/spark/jvm/{s.as_posix()}" for s in build.sources()}
    assert {f.split("/")[0].partition("-")[0] for f in files} == {"ksqlpy"}
    # What is a link in the repository is a folder in the wheel.
    assert {f for f in files if f.endswith(".py")} == modules(sources) > {"ksqlpy/server/app.py"}
    examples = {str(f.relative_to(sources)) for f in (sources / "examples").rglob("*") if f.is_file()}
    assert {f for f in files if f.startswith("ksqlpy/examples/")} == {f"ksqlpy/{f}" for f in examples}
    assert {"examples/README.md", "examples/taxi/taxi_rides.csv", "examples/kubernetes/chart/values.yaml"} < examples
