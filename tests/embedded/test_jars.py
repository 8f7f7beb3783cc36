"""The jars are the pinned ones or an error says which is not."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ksqlpy.embedded import jars
from ksqlpy.errors import EnvironmentProblem


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as `ksqlpy jars --to DIR` fills it, with Spark's jars only, and KSQLPY_JARS naming it."""
    folder = tmp_path / "jars"
    (folder / "spark").mkdir(parents=True)
    for jar in jars.spark_jars():
        shutil.copyfile(jar, folder / "spark" / jar.name)
    monkeypatch.setenv("KSQLPY_JARS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_the_list_is_complete_and_exact() -> None:
    for name, pinned in jars._pinned(jars._LISTS).items():
        assert pinned, name
        assert len({j.file_name for j in pinned}) == len(pinned), "two jars would share one file"
        assert all(re.fullmatch(r"[0-9a-f]{64}", j.sha256) for j in pinned)


def test_second_call_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    first = jars.spark_jars()
    monkeypatch.setattr(subprocess, "Popen", None)
    assert jars.spark_jars() == first
    assert all(j.is_absolute() and j.exists() for j in first)


def test_own_folder(own_folder: Path) -> None:
    assert {j.parent for j in jars.spark_jars()} == {own_folder / "spark"}


def test_own_folder_with_a_missing_jar(own_folder: Path) -> None:
    (own_folder / "spark" / "kafka-clients-3.9.2.jar").unlink()
    with pytest.raises(EnvironmentProblem, match=r"kafka-clients-3\.9\.2\.jar is missing") as e:
        jars.spark_jars()
    assert e.value.code == "jar-missing"


def test_own_folder_without_a_set(own_folder: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="is missing in"):
        jars.broker_jars()


@pytest.mark.parametrize("seen_before", [False, True])
def test_changed_jar(own_folder: Path, seen_before: bool) -> None:
    if seen_before:
        jars.spark_jars()
    jar = own_folder / "spark" / "commons-pool2-2.13.1.jar"
    data = bytearray(jar.read_bytes())
    data[1000] ^= 1  # of the same size
    jar.write_bytes(data)
    with pytest.raises(EnvironmentProblem, match=r"commons-pool2-2\.13\.1\.jar is not the one that was tested") as e:
        jars.spark_jars()
    assert e.value.code == "jar-wrong"


def test_damaged_cache_is_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = {j.name: j for j in jars.spark_jars()}
    runs: list[str] = []

    def ivy(name: str, pinned: tuple[jars.Jar, ...], scratch: Path, to: Path, progress: object) -> None:
        runs.append(name)
        to.mkdir()
        for jar in pinned:
            shutil.copyfile(source[jar.file_name], to / jar.file_name)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars, "_run_ivy", ivy)
    first = jars.spark_jars()
    first[0].write_bytes(b"broken")
    assert jars.spark_jars() == first
    assert runs == ["spark", "spark"]
    assert not list((tmp_path / "ksqlpy" / "jars").glob(".*"))


def test_fill(own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_spark = {"spark": jars._pinned(jars._LISTS)["spark"]}
    monkeypatch.setattr(jars, "_pinned", lambda lists: only_spark)
    filled = jars.fill(tmp_path / "to")
    monkeypatch.setenv("KSQLPY_JARS", str(tmp_path / "to"))
    assert jars.spark_jars() == filled


@pytest.mark.java
def test_what_cannot_be_fetched_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "settings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="none"/><resolvers><filesystem name="none">'
        f'<artifact pattern="{tmp_path}/[artifact].[ext]"/></filesystem></resolvers></ivysettings>'
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("KSQLPY_IVY_SETTINGS", str(settings))
    said: list[str] = []
    with pytest.raises(EnvironmentProblem, match="10 of 10 jars for spark could not be fetched") as e:
        jars.spark_jars(said.append)
    assert e.value.code == "jars-not-fetched"
    assert "\n" not in e.value.message
    assert "UNRESOLVED" in e.value.__notes__[0]
    assert said[0].startswith("fetching jars for spark") and said[-1] == ""


def test_proxy_variables() -> None:
    options = jars._proxy_options({"https_proxy": "http://proxy.example:3128", "no_proxy": "localhost,.example"})
    assert options == [
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.example",
    ]
