"""The folder that Spark starts from."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from ksqlpy.embedded.jars import pyspark_jars_folder
from ksqlpy.embedded.spark_home import spark_home


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)


def test_it_has_all_jars_but_mllib() -> None:
    theirs = {jar.name for jar in pyspark_jars_folder().glob("*.jar")}
    home = spark_home()
    ours = {jar.name for jar in (home / "jars").iterdir() if jar.resolve().is_file()}
    assert {name.split("_")[0] for name in theirs - ours} == {"spark-mllib"}
    assert ours <= theirs
    assert (home / "bin" / "spark-submit").is_file()
    assert (home / "python" / "lib" / "pyspark.zip").is_file()


def test_no_jar_is_signed() -> None:
    """An archive of classes takes none of a signed jar."""
    signed = [jar for jar in pyspark_jars_folder().glob("*.jar") if signatures(jar)]
    assert signed  # else all of this could go
    jars = spark_home() / "jars"
    assert [jar.name for jar in jars.iterdir() if signatures(jar)] == []
    for theirs in signed:
        with zipfile.ZipFile(theirs) as before, zipfile.ZipFile(jars / theirs.name) as after:
            left = set(before.namelist()) - set(after.namelist())
            assert left == signatures(theirs)
            assert all(before.read(name) == after.read(name) for name in after.namelist())


def signatures(jar: Path) -> set[str]:
    with zipfile.ZipFile(jar) as file:
        return {name for name in file.namelist() if re.fullmatch(r"META-INF/[^/]+\.(SF|DSA|RSA|EC)", name)}


def test_it_is_made_once() -> None:
    home = spark_home()
    (home / "seen").touch()
    assert spark_home() == home
    assert (home / "seen").exists()
    assert [folder.name for folder in home.parent.iterdir()] == [home.name]


def test_the_one_that_is_set_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert spark_home() == tmp_path
