"""Places that have a URI are those of Hadoop: they do what a local folder does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.backup import LocalPlace, Place, Places, Store, choose
from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from tests.backup.shop import Shop, shop

__all__ = ["shop"]


@pytest.fixture(params=["local", "hadoop"])
def place(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path / "place"
    with Places(Config.of({})) as places:
        yield places.at(str(folder) if request.param == "local" else folder.as_uri())


def test_a_place_keeps_files(place: Place, tmp_path: Path) -> None:
    assert place.files() == {} == place.files("none")
    large = [bytes([i]) * 3_000_000 for i in range(3)]
    place.write("a/b/large", iter(large))
    place.write("a/empty", [])
    place.write("top", [b"1"])
    assert {n: size for n, (size, _) in place.files().items()} == {"a/b/large": 9_000_000, "a/empty": 0, "top": 1}
    assert set(place.files("a")) == {"a/b/large", "a/empty"}
    assert b"".join(place.chunks("a/b/large")) == b"".join(large)
    assert list(place.chunks("a/empty")) == []
    place.write("top", [b"22"])
    assert b"".join(place.chunks("top")) == b"22"
    place.rename("a", "c")
    place.remove("c/b")
    place.remove("none")
    assert set(place.files()) == {"c/empty", "top"}
    with pytest.raises(FileNotFoundError):
        list(place.chunks("none"))
    for path in (tmp_path / "place").rglob("*"):
        assert path.is_dir() or path.stat().st_mode & 0o077 == 0


def test_a_file_is_there_as_a_whole_or_not_at_all(place: Place) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ValueError

    place.write("kept", [b"before"])
    for name in ("kept", "new"):
        with pytest.raises(ValueError):
            place.write(name, broken())
    assert set(place.files()) == {"kept"} and b"".join(place.chunks("kept")) == b"before"


def test_what_fails_is_told(place: Place, tmp_path: Path) -> None:
    (tmp_path / "place").write_text("a file")
    with pytest.raises(OSError):
        place.write("a/b", [b"1"])


def test_a_backup_may_lie_there(place: Place, shop: Shop, tmp_path: Path) -> None:
    """Of a local folder of checkpoints, and of one that Hadoop knows."""
    shop.back_up(Store(place))
    with Places(Config.of({})) as places:
        made = shop.back_up(Store(place), checkpoints=places.at((shop.folder / shop.id).as_uri()), keep=1)
    store = Store(place)
    assert store.names() == [made.manifest.name]
    store.check(choose(store, None))
    [path] = [n for n in LocalPlace(tmp_path / "place").files("files") if "files/" in n][:1]
    (tmp_path / "place" / path).write_bytes(b"")
    with pytest.raises(KsqlError, match="has 0 bytes, not"):
        store.check(choose(store, None))
