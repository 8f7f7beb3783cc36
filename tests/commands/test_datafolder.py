"""Where ``ksqlpy server`` and ``ksqlpy dev`` keep their data."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from ksqlpy.commands.datafolder import add_data, with_data
from ksqlpy.config import Config
from ksqlpy.errors import EnvironmentProblem


def folder(*arguments: str, **properties: str) -> str:
    parser = argparse.ArgumentParser()
    add_data(parser)
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return with_data(parser.parse_args(arguments), Config.of(given)).get("ksqlpy.data.dir")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path / ".local" / "share" / "ksqlpy"


def test_a_folder_for_each_service_and_its_brokers(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = "kafka-1.example:9092, kafka-2.example:9092"
    assert folder() == str(home / "local")
    assert folder(ksql_service_id="default_") == str(home / "local")
    assert folder(ksql_service_id="rides") == str(home / "local@rides")
    assert folder(ksql_service_id="") == str(home / "local@")
    assert folder(bootstrap_servers=brokers) == str(home / "kafka-1.example_9092_kafka-2.example_9092")
    many = [",".join(f"kafka-{n}.{zone}.example:9092" for n in range(20)) for zone in "ab"]
    assert len({Path(folder(bootstrap_servers=m)).name for m in many}) == 2
    assert all(len(Path(folder(bootstrap_servers=m)).name) < 120 for m in many)
    assert Path(folder(bootstrap_servers="../../[::1]:9092")).parent == home
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    assert folder() == "/elsewhere/ksqlpy/local"
    monkeypatch.setenv("XDG_DATA_HOME", "no/absolute/path")
    assert folder() == str(home / "local")


def test_who_says_it_is_heard(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder(ksqlpy_data_dir="/data") == "/data"
    assert folder(ksqlpy_data_dir="") == ""
    assert folder("--data-dir", "/other", ksqlpy_data_dir="/data") == "/other"
    assert folder("--temporary", ksqlpy_data_dir="/data") == ""
    assert not home.exists()
    with pytest.raises(SystemExit):
        folder("--data-dir", "/other", "--temporary")
    assert "not allowed with" in capsys.readouterr().err


def test_no_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    with pytest.raises(EnvironmentProblem) as e:
        folder()
    assert e.value.code == "folder-not-usable"
    assert folder("--temporary") == ""
