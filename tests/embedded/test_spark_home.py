"""The folder that Spark starts from."""

from __future__ import annotations

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


def test_it_is_made_once() -> None:
    home = spark_home()
    (home / "seen").touch()
    assert spark_home() == home
    assert (home / "seen").exists()
    assert [folder.name for folder in home.parent.iterdir()] == [home.name]


def test_the_one_that_is_set_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert spark_home() == tmp_path
