"""Backups of a service whose queries run meanwhile, each of one state; no brokers, no Spark."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from ksqlpy.backup import LocalPlace, Store, make
from ksqlpy.errors import KsqlError
from ksqlpy.sql import parse
from tests.backup.shop import CLUSTER, QUERIES, SERVICE, Shop, shop

__all__ = ["shop"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "PAUSE", 0.0)
    monkeypatch.setattr(make, "BEGINNING", 0.05)


class Busy(LocalPlace):
    """A folder in which something happens while it is read: ahead of the reading of a file whose name ends so."""

    def __init__(self, folder: Path, when: str, what: Callable[[], None], times: int = 1) -> None:
        super().__init__(folder)
        self._when, self._what, self._left = when, what, times

    def chunks(self, name: str) -> Iterator[bytes]:
        if name.endswith(self._when) and self._left:
            self._left -= 1
            self._what()
        return super().chunks(name)


def test_what_is_in_a_backup(shop: Shop, tmp_path: Path) -> None:
    shop.commit(QUERIES[0], 1)
    made = shop.back_up(tmp_path / "to")
    manifest = made.manifest
    assert (manifest.service, manifest.cluster, manifest.warnings) == (SERVICE, CLUSTER, ())
    assert manifest.queries == {QUERIES[0]: 1, QUERIES[1]: 0}
    assert manifest.log == {"topic": shop.log.topic, "id": "topic-1", "largest": 1048588, "first": 0, "next": 3}
    kept = {p.removeprefix("checkpoints/") for p in manifest.files if p.startswith("checkpoints/")}
    assert {f"{QUERIES[0]}/spark/offsets/1", f"{QUERIES[0]}/spark/state/0/0/2_aa.zip", f"{QUERIES[1]}/keys/k1"} <= kept
    assert f"{QUERIES[0]}/spark/state/0/0/1_aa.zip" not in kept  # there is a newer one
    folder = tmp_path / "to" / manifest.name
    assert sorted(p.name for p in folder.iterdir()) == ["commands.jsonl", "definitions.sql", "manifest.json"]
    lines = [json.loads(line) for line in (folder / "commands.jsonl").read_text().splitlines()]
    assert [(line["offset"], line["value"].encode()) for line in lines] == list(enumerate(shop.log.values))
    statements = parse((folder / "definitions.sql").read_text())
    assert [type(s.node).__name__ for s in statements] == ["CreateSource"] * 3
    for path in (tmp_path / "to").rglob("*"):
        assert path.is_dir() or path.stat().st_mode & 0o077 == 0


def test_definitions_are_statements_again(shop: Shop, tmp_path: Path) -> None:
    shop.log.append({"op": "type", "name": "Odd name", "type": "DOUBLE"})
    shop.log.append({"op": "role", "role": "PAYMENTS"})
    on = {"kind": "SOURCE", "name": None, "like": "pay'%"}
    shop.log.append({"op": "grant", "role": "PAYMENTS", "rights": ["SELECT", "INSERT"], "on": on})
    shop.log.append(
        {"op": "grant", "role": "PAYMENTS", "rights": ["SELECT"], "on": {**on, "name": "a`b", "like": None}}
    )
    shop.log.append({"op": "grant", "role": "PAYMENTS", "rights": ["DROP"], "on": {**on, "kind": "TOPIC"}})
    shop.log.append({"op": "pause", "query": QUERIES[0]})
    name = shop.back_up(tmp_path / "to").manifest.name
    text = (tmp_path / "to" / name / "definitions.sql").read_text()
    assert f"-- query {QUERIES[0]}, paused\n" in text
    kinds = [type(s.node).__name__ for s in parse(text)]
    assert kinds == ["CreateType", "CreateSource", "CreateSource", "CreateSource", "CreateRole", *["Grant"] * 3]


@pytest.mark.parametrize("when", ["made.json", "plan.json", "spark/offsets/0", "1_aa.zip", "sink/0", "keys/k1"])
def test_a_query_that_commits_meanwhile(when: str, shop: Shop, tmp_path: Path) -> None:
    """Five batches pass: what was listed goes away. The backup is one state all the same."""
    batches = iter(range(1, 6))

    def commit() -> None:
        for batch in batches:
            shop.commit(QUERIES[1], batch)

    checkpoints = Busy(shop.folder / SERVICE, f"{QUERIES[1]}/{when}" if "/" not in when else when, commit)
    made = shop.back_up(tmp_path / "to", checkpoints=checkpoints)
    batch = made.manifest.queries[QUERIES[1]]
    files = {p for p in made.manifest.files if p.startswith(f"checkpoints/{QUERIES[1]}/")}
    assert batch in (0, 5)
    for name in (
        f"spark/offsets/{batch}",
        f"spark/commits/{batch}",
        f"spark/state/0/0/{batch + 1}_aa.zip",
        f"sink/{batch}",
    ):
        assert f"checkpoints/{QUERIES[1]}/{name}" in files
    Store(LocalPlace(tmp_path / "to")).check(made.manifest)


def test_what_ksqlpy_writes_again_is_noticed(shop: Shop, tmp_path: Path) -> None:
    """As when OR REPLACE lets a query go on without its state: all of its files are of the new era."""

    def again() -> None:
        shop.write(f"{QUERIES[0]}/era.json", '{"era": 1}')

    checkpoints = Busy(shop.folder / SERVICE, f"{QUERIES[0]}/spark/commits/0", again)
    made = shop.back_up(tmp_path / "to", checkpoints=checkpoints)
    assert f"checkpoints/{QUERIES[0]}/era.json" in made.manifest.files


def test_a_command_meanwhile_begins_all_again(shop: Shop, tmp_path: Path) -> None:
    """The log is read ahead of the checkpoints and behind them: a query that ends meanwhile is not in the backup."""
    shop.log.behind.append(lambda: shop.log.append({"op": "terminate", "query": QUERIES[0]}))
    made = shop.back_up(tmp_path / "to")
    assert set(made.manifest.queries) == {QUERIES[1]} and made.manifest.log["next"] == 4


def test_what_never_holds_still_is_refused(shop: Shop, tmp_path: Path) -> None:
    counts = iter(range(1, 1000))
    shop.log.behind += [lambda: shop.log.append({"op": "role", "role": f"R{next(counts)}"})] * 100
    with pytest.raises(KsqlError) as e:
        shop.back_up(tmp_path / "to")
    assert e.value.code == "backup-unsettled" and Store(LocalPlace(tmp_path / "to")).names() == []
    shop.log.behind.clear()
    (shop.folder / SERVICE / QUERIES[1] / "spark/state/0/0/1_aa.zip").unlink()
    (shop.folder / SERVICE / QUERIES[1] / "spark/state/0/0/1_aa.changelog").rename(
        shop.folder / SERVICE / QUERIES[1] / "spark/state/0/0/9_aa.changelog"
    )
    with pytest.raises(KsqlError, match="spark/state/0/0 has no changes of version 1"):
        shop.back_up(tmp_path / "to")


def test_queries_that_cannot_be_brought_back_are_named(shop: Shop, tmp_path: Path) -> None:
    for name in ("plan.json", "spark/commits/0", "spark/offsets/0", "sink/0"):
        (shop.folder / SERVICE / QUERIES[0] / name).unlink()
    os.rename(shop.folder / SERVICE / QUERIES[1], tmp_path / "gone")
    shop.runs = True
    made = shop.back_up(tmp_path / "to")
    assert [w.split(":")[0] for w in made.manifest.warnings] == [
        f"query {QUERIES[0]} has not begun",
        f"query {QUERIES[1]} has no checkpoint",
    ]
    assert made.manifest.queries == {QUERIES[0]: None}


@pytest.mark.parametrize(
    ("owner", "code"),
    [
        (None, "checkpoint-missing"),
        ('{"cluster": "cluster-2", "service": "shop_", "command_log": "topic-1"}', "other-cluster"),
        ('{"cluster": "cluster-1", "service": "else_", "command_log": "topic-1"}', "other-service"),
        ('{"cluster": "cluster-1", "service": "shop_", "command_log": "topic-0"}', "other-command-log"),
        ('{"cluster": "cluster-1", "service": "shop_", "command_log": "restoring"}', "restore-unfinished"),
    ],
)
def test_checkpoints_of_others_are_refused(owner: str | None, code: str, shop: Shop, tmp_path: Path) -> None:
    (shop.folder / SERVICE / "belongs.json").unlink()
    if owner is not None:
        shop.write("belongs.json", owner)
    with pytest.raises(KsqlError) as e:
        shop.back_up(tmp_path / "to")
    assert e.value.code == code


# ---------------------------------------------------------------- several


def test_files_that_are_there_are_not_copied_again(shop: Shop, tmp_path: Path) -> None:
    read: list[str] = []

    class Read(LocalPlace):
        def chunks(self, name: str) -> Iterator[bytes]:
            read.append(name)
            return super().chunks(name)

    first = shop.back_up(tmp_path / "to")
    shop.commit(QUERIES[0], 1)
    second = shop.back_up(tmp_path / "to", checkpoints=Read(shop.folder / SERVICE))
    before = {f.sha256 for f in first.manifest.files.values()}
    new = {f.sha256: f.size for f in second.manifest.files.values() if f.sha256 not in before}
    beside = [second.manifest.files[n] for n in ("commands.jsonl", "definitions.sql")]
    again = sum(f.size for f in beside if f.sha256 in before)
    assert second.written == sum(new.values()) + again + len(second.manifest.write())
    assert f"{QUERIES[1]}/spark/state/0/0/1_aa.zip" not in read  # of a state, which is never written again
    assert f"{QUERIES[0]}/spark/state/0/0/2_aa.zip" in read
    assert f"{QUERIES[1]}/spark/offsets/0" in read


def test_a_file_of_a_state_that_is_another_by_its_time_is_read(shop: Shop, tmp_path: Path) -> None:
    """An attempt that failed, and the next one: the same name and the same size."""
    name = f"{QUERIES[0]}/spark/state/0/0/1_aa.zip"
    text = shop.read()[name]
    first = shop.back_up(tmp_path / "to").manifest.files[f"checkpoints/{name}"]
    path = shop.folder / SERVICE / name
    before = path.stat().st_mtime_ns
    shop.write(name, text.replace("snapshot", "SNAPSHOT"))
    os.utime(path, ns=(before + 1, before + 1))
    second = shop.back_up(tmp_path / "to").manifest.files[f"checkpoints/{name}"]
    assert first.size == second.size and first.sha256 != second.sha256


def test_the_last_n_are_kept_and_no_file_more(shop: Shop, tmp_path: Path) -> None:
    store = Store(LocalPlace(tmp_path / "to"))
    names = []
    for batch in range(1, 5):
        shop.commit(QUERIES[0], batch)
        made = shop.back_up(tmp_path / "to", keep=2)
        names.append(made.manifest.name)
        assert list(made.removed) == names[-3:-2]
    assert store.names() == names[-2:]
    needed = {f.sha256 for n in names[-2:] for p, f in store.manifest(n).files.items() if "/" in p}
    assert {p.rpartition("/")[2] for p in LocalPlace(tmp_path / "to").files("files")} == needed
    for name in names[-2:]:
        store.check(store.manifest(name))


def test_nothing_is_removed_where_a_manifest_cannot_be_read(shop: Shop, tmp_path: Path) -> None:
    first = shop.back_up(tmp_path / "to").manifest.name
    (tmp_path / "to" / first / "manifest.json").write_text("{")
    files = LocalPlace(tmp_path / "to").files("files")
    shop.commit(QUERIES[0], 1)
    made = shop.back_up(tmp_path / "to", keep=1)
    assert made.removed == [] and files.keys() <= LocalPlace(tmp_path / "to").files("files").keys()


# ---------------------------------------------------------------- a target that fails


class Full(LocalPlace):
    """A folder with room for so many files."""

    def __init__(self, folder: Path, room: int, error: int = errno.ENOSPC) -> None:
        super().__init__(folder)
        self.room, self.error = room, error

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        self.room -= 1
        if self.room < 0:

            def half(given: Iterable[bytes]) -> Iterator[bytes]:
                yield next(iter(given), b"")[:3]
                raise OSError(self.error, os.strerror(self.error), name)

            chunks = half(chunks)
        super().write(name, chunks)


def test_a_target_without_room_leaves_the_backups_before(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "to"
    first = shop.back_up(target).manifest
    shop.commit(QUERIES[0], 1)
    for room in range(100):
        try:
            shop.back_up(Store(Full(target, room)))
        except KsqlError as e:
            assert e.code == "backup-unwritable" and "no space left on device" in e.message
        else:
            break
        assert Store(LocalPlace(target)).names() == [first.name]
        Store(LocalPlace(target)).check(first)
        assert not list(target.rglob("*.part"))
    assert room > 3  # each try has gone on where the one before it has ended
    assert len(Store(LocalPlace(target)).names()) == 2 and Store(LocalPlace(target)).incomplete() == []


def test_a_target_that_may_not_be_written(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "to").write_text("a file")
    with pytest.raises(KsqlError) as e:
        shop.back_up(tmp_path / "to" / "in")
    assert e.value.code in ("backup-unwritable", "backup-unreadable")


def test_a_backup_that_was_killed_does_not_count_and_goes(shop: Shop, tmp_path: Path) -> None:
    """At each file: what is there is no backup, and the next one removes it."""

    class Killed(BaseException):
        pass

    class Deadly(LocalPlace):
        def __init__(self, folder: Path, left: int) -> None:
            super().__init__(folder)
            self.left = left

        def write(self, name: str, chunks: Iterable[bytes]) -> None:
            self.left -= 1
            if self.left < 0:
                raise Killed
            super().write(name, chunks)

    target = tmp_path / "to"
    for left in range(100):
        try:
            shop.back_up(Store(Deadly(target, left)))
        except Killed:
            assert Store(LocalPlace(target)).names() == []
            continue
        break
    assert len(Store(LocalPlace(target)).names()) == 1
    shop.back_up(target)
    assert Store(LocalPlace(target)).incomplete() == []
