"""Our Java classes compile with the compiler that Spark brings, and with javac for the oldest Java that we support."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from ksqlpy.embedded.jars import pyspark_jars_folder, spark_jars
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark.jvm import build
from ksqlpy.spark.jvm.build import helper_jar

# Left out: what janino's Java brings with it (casts, raw types), serialization that nobody uses, faults in the jars of
# others.
LINT = "-Xlint:all,-cast,-classfile,-path,-rawtypes,-serial,-unchecked"


def test_all_classes_are_in_the_jar() -> None:
    jar = helper_jar()
    with zipfile.ZipFile(jar) as z:
        assert "ksqlpy/SinkInterceptor.class" in z.namelist()
    modified = jar.stat().st_mtime_ns
    assert helper_jar() == jar
    assert jar.stat().st_mtime_ns == modified


def test_a_compile_error_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "Good.java").write_text("package ksqlpy;\npublic final class Good { static int x = Bad.y; }\n")
    (tmp_path / "Bad.java").write_text('package ksqlpy;\npublic final class Bad {\n  static int y = "text";\n}\n')
    with pytest.raises(EnvironmentProblem, match=r"Bad\.java:3:\d+: .*String.*int") as e:
        helper_jar(folder=tmp_path)
    assert e.value.code == "helper-jar-not-compiled"


@pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK here")
def test_javac_takes_the_sources_for_java_17_without_a_warning(tmp_path: Path) -> None:
    folder = Path(build.__file__).parent
    libraries = os.pathsep.join(map(str, [*pyspark_jars_folder().glob("*.jar"), *spark_jars()]))
    sources = sorted(file.name for file in folder.glob("*.java"))
    command = ["javac", "--release", "17", "-proc:none", "-encoding", "UTF-8", LINT, "-Werror", "-cp", libraries]
    done = subprocess.run([*command, "-d", str(tmp_path), *sources], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs = {name for name in zipfile.ZipFile(helper_jar()).namelist() if name.endswith(".class") and "$" not in name}
    assert {f"ksqlpy/{file.name}" for file in (tmp_path / "ksqlpy").iterdir() if "$" not in file.name} == theirs
