"""The JUnit tests below java/ of our Java classes: all pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ksqlpy.embedded.jars import jar_set, pyspark_jars_folder, spark_jars
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark.jvm import build

pytestmark = pytest.mark.java

HERE = Path(__file__).parent
SOURCES = HERE / "java"

OPENED = ("java.lang", "java.lang.invoke", "java.nio", "java.util", "java.util.concurrent", "sun.nio.ch")
"""Packages of java.base into which Spark's classes reach, as its launcher opens them."""


@pytest.fixture
def junit() -> Path:
    try:
        return jar_set("junit", lists=HERE / "jars.toml")[0]
    except EnvironmentProblem as e:
        if e.code not in ("jars-not-fetched", "jar-missing"):
            raise
        pytest.skip(f"JUnit cannot be fetched here: {e}")


def test_junit(junit: Path, tmp_path: Path) -> None:
    ours, tests = build.helper_jar(), tmp_path / "tests.jar"
    build.compile_jar(tests, build.compiler(), [ours, junit, *build.libraries()], SOURCES)
    jars = os.pathsep.join(map(str, [tests, ours, junit, *spark_jars(), pyspark_jars_folder() / "*"]))
    command = [str(find_java().executable), "-XX:TieredStopAtLevel=1", "-cp", jars]
    command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    command += [
        f"-Dcases={HERE}",
        f"-Djava.io.tmpdir={tmp_path}",
        f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
        f"-Dksqlpy.functions.python.executable={sys.executable}",
    ]
    command += ["org.junit.platform.console.ConsoleLauncher", "execute", f"--scan-class-path={tests}"]
    command += ["--details=tree", "--disable-banner", "--disable-ansi-colors", f"--reports-dir={tmp_path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = ElementTree.parse(tmp_path / "TEST-junit-jupiter.xml").getroot()
    print(f"{report.get('tests')} JUnit tests in {report.get('time')} s")
    assert report.get("skipped") == "0"
    ran = {case.get("classname") for case in report.iter("testcase")}
    files = (s.with_suffix("") for s in build.sources(SOURCES) if s.stem.endswith("Test"))
    assert ran == {".".join(["ksqlpy", *file.parts]) for file in files}
