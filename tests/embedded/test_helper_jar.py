"""Our Java classes compile with javac for the oldest Java that we support, and where there is no JDK."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from ksqlpy.errors import EnvironmentProblem
from ksqlpy.spark.jvm import build
from ksqlpy.spark.jvm.build import helper_jar

pytestmark = pytest.mark.java

# Left out: faults in the jars of others.
LINT = "-Xlint:all,-classfile,-path"


def names(jar: Path) -> set[str]:
    """The classes in a jar; without those that stand in others, for which each compiler has its own names."""
    with zipfile.ZipFile(jar) as z:
        return {n for n in z.namelist() if n.endswith(".class") and not re.search(r"\$\d", n)}


@pytest.fixture
def javac() -> str:
    found = build.find_javac()
    if found is None:
        pytest.skip("no JDK here")
    return str(found)


@pytest.fixture
def eclipse() -> list[str]:
    try:
        return build._eclipse_command(lambda line: None)
    except EnvironmentProblem as e:
        if e.code != "jars-not-fetched":
            raise
        pytest.skip(f"the compiler's jar cannot be fetched here: {e}")


def test_all_classes_are_in_the_jar() -> None:
    jar = helper_jar()
    sources = {s.with_suffix(".class").as_posix() for s in build.sources() if s.parts[0] != "stubs"}
    assert {f"ksqlpy/{s}" for s in sources} <= names(jar)
    assert {n for n in names(jar) if not n.startswith("ksqlpy/")} == set(), "a stub would hide the class of Spark's"
    modified = jar.stat().st_mtime_ns
    assert helper_jar() == jar
    assert jar.stat().st_mtime_ns == modified


def test_a_compile_error_names_file_and_line(tmp_path: Path) -> None:
    write_bad(tmp_path)
    with pytest.raises(EnvironmentProblem, match=r"do not compile: sub/Bad\.java:3: .*String.*int") as e:
        helper_jar(folder=tmp_path)
    assert e.value.code == "helper-jar-not-compiled"


def test_so_does_one_without_a_jdk(tmp_path: Path, eclipse: list[str]) -> None:
    write_bad(tmp_path)
    with pytest.raises(EnvironmentProblem, match=r"Bad\.java:3: .*String.*int"):
        build.compile_jar(tmp_path / "out.jar", eclipse, [], tmp_path)


def write_bad(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "Good.java").write_text("package ksqlpy;\npublic final class Good { static int x = ksqlpy.sub.Bad.y; }\n")
    (folder / "sub" / "Bad.java").write_text(
        'package ksqlpy.sub;\npublic final class Bad {\n  public static int y = "text";\n}\n'
    )


def test_a_folder_without_sources_has_its_jar(tmp_path: Path) -> None:
    assert helper_jar(folder=tmp_path) == tmp_path / build.JAR


def test_without_a_jdk_the_same_classes_are_made(tmp_path: Path, eclipse: list[str]) -> None:
    build.compile_jar(tmp_path / "out.jar", eclipse, build.libraries())
    assert names(tmp_path / "out.jar") == names(helper_jar())


def test_javac_takes_the_sources_for_java_17_without_a_warning(tmp_path: Path, javac: str) -> None:
    jars = os.pathsep.join(map(str, build.libraries()))
    command = [javac, "--release", "17", "-proc:none", "-encoding", "UTF-8", LINT, "-Werror", "-cp", jars]
    sources = map(str, build.sources())
    done = subprocess.run([*command, "-d", str(tmp_path), *sources], cwd=build.FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.class")}
    stubs = {s.relative_to("stubs").with_suffix(".class").as_posix() for s in build.sources() if s.parts[0] == "stubs"}
    assert {n for n in made if not re.search(r"\$\d", n)} == names(helper_jar()) | stubs
