"""Our Java classes compile with the compiler that Spark brings."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark.jvm.build import helper_jar


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
