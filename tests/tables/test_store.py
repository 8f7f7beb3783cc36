"""The files of a copied table: what was written is there after a restart, whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ksqlpy.reading import Record
from ksqlpy.tables.store import Busy, Store, Torn, packed, unpacked


def record(key: bytes, value: bytes | None, offset: int = 0) -> Record:
    return Record(key, value, 1577836800000, 3, offset)


def kept(*records: Record) -> list[tuple[bytes, bytes | None]]:
    """Records as they are written, under their own keys."""
    return [(r.key or b"", None if r.value is None else packed(r)) for r in records]


def test_rows_and_positions_are_there_after_a_restart(tmp_path: Path) -> None:
    store = Store(tmp_path / "a")
    assert (store.positions(), store.seen()) == ({}, None)
    store.write(kept(record(b"k", b"1", 5), record(b"l", b"2", 6)), {3: 7, 11: 1})
    store.write(kept(record(b"k", None, 7), record(b"m", b"", 8)), {3: 9})
    store.close()
    again = Store(tmp_path / "a")
    assert again.positions() == {3: 9, 11: 1}
    assert list(again.all()) == [record(b"l", b"2", 6), record(b"m", b"", 8)]
    assert again.get(b"k") is None
    assert again.get(b"l") == record(b"l", b"2", 6)
    again.close()


def test_rows_between_two_keys(tmp_path: Path) -> None:
    store = Store(tmp_path / "a")
    store.write(kept(*(record(k, b"1") for k in (b"", b"a", b"ab", b"b", b"c\xff"))), {3: 1})

    def keys(low: bytes, high: bytes | None) -> list[bytes | None]:
        return [r.key for r in store.all(low, high)]

    assert keys(b"", None) == [b"", b"a", b"ab", b"b", b"c\xff"]
    assert keys(b"a", b"b") == [b"a", b"ab", b"b"]
    assert keys(b"aa", b"az") == [b"ab"]
    assert keys(b"c", None) == [b"c\xff"]
    assert keys(b"", b"") == [b""]
    assert keys(b"z", b"a") == []
    store.close()


def test_rows_go_with_the_first_records_of_their_partitions(tmp_path: Path) -> None:
    store = Store(tmp_path / "a")
    other = Record(b"o", b"4", 0, 4, 1)
    store.write(kept(record(b"k", b"1", 5), record(b"l", b"2", 6), record(b"m", b"3", 7), other), {3: 8, 4: 2})
    assert store.begins() == {}
    assert store.forget({3: 7, 4: 0}) == 2
    assert list(store.all()) == [record(b"m", b"3", 7), other]
    assert (store.begins(), store.positions()) == ({3: 7, 4: 0}, {3: 8, 4: 2})
    store.close()
    again = Store(tmp_path / "a")
    assert again.begins() == {3: 7, 4: 0}
    assert again.forget({3: 8, 4: 2}) == 2
    assert list(again.all()) == []
    again.close()


@pytest.mark.parametrize("key", [b"", b"\x00", b"p1", b"a", b"r", b"\xff" * 8])
def test_no_key_is_taken_for_something_else(tmp_path: Path, key: bytes) -> None:
    store = Store(tmp_path / "a")
    store.write(kept(record(key, b"v")), {0: 1})
    assert store.positions() == {0: 1}
    assert list(store.all()) == [record(key, b"v")]
    assert store.get(key) == record(key, b"v")
    store.close()


def test_windows_of_a_key_are_told_from_those_of_longer_keys(tmp_path: Path) -> None:
    store = Store(tmp_path / "a")
    keys = [b"an" + bytes(8), b"an" + bytes(7) + b"\x01", b"ann" + bytes(8), b"a" + bytes(8)]
    store.write(kept(*(record(k, b"v") for k in keys)), {0: 4})
    assert [r.key for r in store.beginning(b"an", 10)] == keys[:2]
    assert [r.key for r in store.beginning(b"ann", 11)] == [keys[2]]
    store.close()


def test_headers_are_kept() -> None:
    given = Record(b"k", b"v", 1, 2, 3, (("a", b"\x00\xff"), ("b", None), ("a", b"")))
    assert unpacked(b"k", packed(given)) == given


def test_a_record_may_lie_under_another_key_than_its_own() -> None:
    given = Record(b"\x00k", b"v", 1, 2, 3, (("a", b"1"),))
    assert unpacked(b"other", packed(given, elsewhere=True)) == given


def test_a_scan_shows_the_rows_as_they_were_at_its_beginning(tmp_path: Path) -> None:
    store = Store(tmp_path / "a")
    store.write(kept(*(record(b"%d" % i, b"old") for i in range(5))), {0: 5})
    rows = store.all()
    first = next(rows)
    store.write(kept(record(b"4", b"new")), {0: 6})
    assert {r.value for r in (first, *rows)} == {b"old"}
    store.close()


def test_files_that_are_torn_are_said_to_be(tmp_path: Path) -> None:
    store = Store(tmp_path / "a")
    store.write(kept(record(b"k", b"v")), {0: 1})
    store.close()
    for file in (tmp_path / "a").glob("MANIFEST*"):
        file.write_bytes(b"torn")
    with pytest.raises(Torn):
        Store(tmp_path / "a")
    Store.remove(tmp_path / "a")
    Store(tmp_path / "a").close()


def test_files_that_are_open_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.tables.store._RELEASED", 0.2)
    store = Store(tmp_path / "a")
    with pytest.raises(Busy):
        Store(tmp_path / "a")
    store.close()


def test_what_was_not_flushed_is_lost_whole(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from ksqlpy.tables.store import Store\n"
        "s = Store(Path(sys.argv[1])); s.write([(b'a', bytes(24) + b'1')], {0: 1}); s.flush()\n"
        "s.write([(b'b', bytes(24) + b'2')], {0: 2}); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path / "a")], check=False).returncode == 9
    store = Store(tmp_path / "a")
    assert (store.positions(), [r.key for r in store.all()]) == ({0: 1}, [b"a"])
    store.close()
