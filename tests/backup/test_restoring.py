"""Backups that are restored, or refused: what is there, what was lost, what is damaged. No brokers, no Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.backup import LocalPlace, Restored, Store, choose, list_backups, restore, restore_backup
from ksqlpy.backup.commandtopic import Standing
from ksqlpy.errors import KsqlError
from ksqlpy.spark.folder_owner import FolderOwner, check_folder
from tests.backup.shop import CLUSTER, QUERIES, SERVICE, Shop, shop

__all__ = ["shop"]


@pytest.fixture(autouse=True)
def appending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries go into the list that stands for the topic."""

    def append(kafka: object, log: Any, entries: Mapping[int, bytes | None], begin: int, end: int) -> None:
        assert begin == len(log.values)
        log.values += [entries.get(offset) for offset in range(begin, end)]

    monkeypatch.setattr(restore, "append_entries", append)
    monkeypatch.setattr(restore, "LEAVING", 0.1)


@pytest.fixture
def target(shop: Shop, tmp_path: Path) -> Path:
    """A folder with a backup, after which the queries have gone on."""
    shop.commit(QUERIES[0], 1)
    shop.back_up(tmp_path / "to")
    return tmp_path / "to"


def bring_back(shop: Shop, source: Path, place: LocalPlace | None = None, **more: Any) -> Restored:
    store = Store(LocalPlace(source))
    manifest = choose(store, more.pop("backup", None))
    found = place if place is not None else LocalPlace(shop.folder)
    shop.data.mkdir(parents=True, exist_ok=True)
    service: Any = shop
    return restore_backup(service, store, manifest, lambda: (found, SERVICE), shop.data, **more)


def refused(shop: Shop, source: Path, **more: Any) -> tuple[str, str]:
    """The code and the hint of the error; nothing is changed by it."""
    files, values = shop.read(), shop.log.values
    with pytest.raises(KsqlError) as e:
        bring_back(shop, source, **more)
    assert (shop.read(), shop.log.values) == (files, values)
    return e.value.code, e.value.hint or ""


def lose(shop: Shop, *, topic: bool = True) -> None:
    """All checkpoints are gone, and the command log."""
    LocalPlace(shop.folder.parent.parent).remove("data")
    if topic:
        shop.log.values = None


def signed(shop: Shop) -> None:
    """A server starts on both folders."""
    now = FolderOwner(CLUSTER, SERVICE, shop.topic_id())
    check_folder(shop.data, now)
    check_folder(shop.folder / SERVICE, now)


def test_all_is_as_it_was_committed(shop: Shop, target: Path) -> None:
    files, values = shop.read(), list(shop.log.values)
    manifest = choose(Store(LocalPlace(target)), None)
    shop.commit(QUERIES[0], 2)
    lose(shop)
    told = bring_back(shop, target)
    assert (told.log, told.aside, told.lacking) == (Standing.MISSING, None, ())
    assert shop.log.values == values
    found = shop.read()
    assert json.loads(found.pop("belongs.json"))["command_log"] == shop.topic_id() == "topic-1+"
    assert found == {n: t for n, t in files.items() if f"checkpoints/{n}" in manifest.files}
    assert f"{QUERIES[0]}/spark/offsets/1" in found and f"{QUERIES[0]}/spark/offsets/2" not in found
    signed(shop)


def test_a_command_log_that_stands_is_kept(shop: Shop, target: Path) -> None:
    """Only the folder was lost; a query that was made behind the backup has no checkpoint any more."""
    shop.log.add("CREATE STREAM later WITH (KAFKA_TOPIC='later') AS SELECT id, n FROM orders;")
    values = list(shop.log.values)
    lose(shop, topic=False)
    told = bring_back(shop, target)
    assert (told.log, told.later, told.lacking) == (Standing.LATER, 1, ("CSAS_LATER_3",))
    assert shop.log.values == values and shop.topic_id() == "topic-1"
    signed(shop)


def test_a_dry_run_changes_nothing(shop: Shop, target: Path) -> None:
    lose(shop)
    told = bring_back(shop, target, dry=True)
    assert told.log is Standing.MISSING and shop.read() == {} and shop.log.values is None


def test_what_is_there_is_not_lost(shop: Shop, target: Path) -> None:
    shop.commit(QUERIES[0], 2)
    files = shop.read()
    code, hint = refused(shop, target)
    assert code == "service-not-empty" and "--force" in hint
    told = bring_back(shop, target, force=True)
    assert told.log is Standing.WHOLE and told.aside is not None
    aside = Path(told.aside)
    assert {p.relative_to(aside).as_posix(): p.read_text() for p in aside.rglob("*") if p.is_file()} == files
    assert f"{QUERIES[0]}/spark/offsets/2" not in shop.read()
    signed(shop)


def test_another_command_log_is_not_lost(shop: Shop, target: Path) -> None:
    values = list(shop.log.values)
    lose(shop)
    shop.log.values, shop.log.id = [], "topic-2"
    shop.log.append({"op": "role", "role": "OTHERS"})
    code, hint = refused(shop, target)
    assert code == "service-not-empty" and "--force" in hint
    assert bring_back(shop, target, force=True).log is Standing.OTHER
    assert shop.log.values == values
    signed(shop)


def test_a_server_that_has_begun_anew_has_nothing_to_lose(shop: Shop, target: Path) -> None:
    """Somebody has started the server after the loss: it has an empty command log, and folders of its own."""
    values = list(shop.log.values)
    lose(shop)
    shop.log.values, shop.log.id = [], "topic-2"
    owner = FolderOwner(CLUSTER, SERVICE, "topic-2").text
    shop.write("belongs.json", owner)
    (shop.data / "belongs.json").write_text(owner)
    assert bring_back(shop, target).log is Standing.BEGINNING
    assert shop.log.values == values
    signed(shop)


def test_a_server_that_runs_is_left_alone(shop: Shop, target: Path) -> None:
    lose(shop)
    shop.runs = True
    assert refused(shop, target)[0] == "service-taken"


def test_a_server_that_was_stopped_is_known_for_a_while(
    shop: Shop, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "LEAVING", 60)
    left = iter([True, True, False])

    class Leaving(Shop):
        runs = property(lambda self: next(left), lambda self, runs: None)

    shop.__class__ = Leaving
    lose(shop)
    bring_back(shop, target)
    assert next(left, None) is None


@pytest.mark.parametrize("what", ["service", "cluster"])
def test_another_service_and_another_cluster_are_refused(what: str, shop: Shop, target: Path) -> None:
    """The producers of the other service would not be fenced, and offsets mean nothing on another cluster."""
    lose(shop)
    setattr(shop, "id" if what == "service" else what, "else")
    code, hint = refused(shop, target)
    assert code == f"other-{what}" and "definitions.sql" in hint
    setattr(shop, "id" if what == "service" else what, SERVICE if what == "service" else CLUSTER)
    shop.data.mkdir(exist_ok=True)
    there = {"cluster": CLUSTER, "service": SERVICE, "command_log": "topic-1", what: "else"}
    (shop.data / "belongs.json").write_text(json.dumps(there))
    assert refused(shop, target)[0] == f"other-{what}"


# ---------------------------------------------------------------- killed in between


class Killed(BaseException):
    pass


class Deadly(LocalPlace):
    """A folder in which nothing can be done any more after so many writes."""

    def __init__(self, folder: Path, left: int) -> None:
        super().__init__(folder)
        self.left = left

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        self._count()
        super().write(name, chunks)

    def remove(self, name: str) -> None:
        self._count()
        super().remove(name)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed


@pytest.mark.parametrize("force", [False, True])
def test_a_restore_that_is_killed_is_begun_again(force: bool, shop: Shop, target: Path) -> None:
    """After each write: no server starts on what is there, and the next restore needs no --force."""
    values = list(shop.log.values)
    wanted: dict[str, str] = {}
    for left in range(200):
        lose(shop)
        if force:
            shop.log.values = list(values)
            shop.begin()
        try:
            bring_back(shop, target, Deadly(shop.folder, left), force=force)
        except Killed:
            if left:
                with pytest.raises(KsqlError) as e:
                    check_folder(shop.folder / SERVICE, FolderOwner(CLUSTER, SERVICE, shop.topic_id()))
                assert e.value.code == "restore-unfinished"
            bring_back(shop, target)
        signed(shop)
        found = shop.read()
        del found["belongs.json"]
        assert found == (wanted := wanted or found) and shop.log.values == values
        if left > len(found) + 5:
            break
    assert len(wanted) > 10


def test_a_restore_that_is_killed_while_it_writes_the_command_log(
    shop: Shop, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, whole = list(shop.log.values), restore.append_entries

    def killed(kafka: Any, log: Any, entries: Mapping[int, bytes | None], begin: int, end: int) -> None:
        whole(kafka, log, entries, begin, begin + 1)
        raise Killed

    for _ in range(2):
        monkeypatch.setattr(restore, "append_entries", killed)
        lose(shop, topic=shop.log.values == values)
        with pytest.raises(Killed):
            bring_back(shop, target)
    assert shop.log.values == values[:2]
    monkeypatch.setattr(restore, "append_entries", whole)
    assert bring_back(shop, target).log is Standing.BEGINNING
    assert shop.log.values == values
    signed(shop)


# ---------------------------------------------------------------- damage


def blob(target: Path, ending: str) -> Path:
    """The file that holds one of the backup's."""
    store = Store(LocalPlace(target))
    manifest = choose(store, None)
    [path] = [p for p in manifest.files if p.endswith(ending)]
    return target / store.where(manifest.name, path, manifest.files[path])


def changed(path: Path, how: Callable[[bytes], bytes]) -> None:
    path.write_bytes(how(path.read_bytes()))


STATE, OFFSETS = f"{QUERIES[1]}/spark/state/0/0/1_aa.zip", f"{QUERIES[0]}/spark/offsets/1"


@pytest.mark.parametrize(
    ("file", "how", "message"),
    [
        (STATE, lambda b: b[:-1], "has 1,449 bytes, not 1,450"),
        (STATE, lambda b: b"", "has 0 bytes, not 1,450"),
        (STATE, lambda b: b[:-1] + b"!", "is not as it was written"),
        (OFFSETS, lambda b: b.replace(b"1", b"2"), "is not as it was written"),
        ("commands.jsonl", lambda b: b[:-2], "bytes, not"),
        ("definitions.sql", lambda b: b.replace(b"BIG", b"SML").replace(b"big", b"sml"), "is not as it was written"),
    ],
)
def test_a_file_that_is_damaged(
    file: str, how: Callable[[bytes], bytes], message: str, shop: Shop, target: Path
) -> None:
    path = blob(target, file)
    changed(path, how)
    lose(shop)
    with pytest.raises(KsqlError) as e:
        bring_back(shop, target)
    assert e.value.code == "backup-damaged" and message in e.value.message and file in e.value.message
    path.unlink()
    with pytest.raises(KsqlError, match="is missing"):
        bring_back(shop, target)
    assert shop.read() == {} and shop.log.values is None


@pytest.mark.parametrize(
    ("how", "code"),
    [
        (lambda b: b[: len(b) // 2], "backup-damaged"),
        (lambda b: b"", "backup-damaged"),
        (lambda b: b"[]", "backup-damaged"),
        (lambda b: b.replace(b'"next": 3', b'"next": 2'), "backup-damaged"),
        (lambda b: b.replace(b'"format": 1', b'"format": 2'), "backup-version"),
    ],
)
def test_a_manifest_that_is_damaged(how: Callable[[bytes], bytes], code: str, shop: Shop, target: Path) -> None:
    [name] = Store(LocalPlace(target)).names()
    changed(target / name / "manifest.json", how)
    lose(shop)
    assert refused(shop, target)[0] == code
    [row] = list_backups(Store(LocalPlace(target)))
    assert row["name"] == name and row["made"] is None and row["problem"]


@pytest.mark.parametrize("path", ["checkpoints/../../outside", "/etc/outside", "checkpoints//x", "logins/.."])
def test_a_manifest_leads_nowhere_else(path: str, shop: Shop, target: Path) -> None:
    store = Store(LocalPlace(target))
    manifest: Any = choose(store, None)
    for files in (
        {path: manifest.files["commands.jsonl"]},
        {"a": replace(manifest.files["commands.jsonl"], sha256="../../outside")},
    ):
        store.finish(replace(manifest, files={**manifest.files, **files}))
        lose(shop)
        assert refused(shop, target)[0] == "backup-damaged"


@pytest.mark.parametrize(("what", "version"), [("ksqlpy", "99.0.0"), ("spark", "4.9.0")])
def test_a_backup_of_a_later_version(what: str, version: str, shop: Shop, target: Path) -> None:
    store = Store(LocalPlace(target))
    manifest: Any = choose(store, None)
    store.finish(replace(manifest, **{what: version}))
    lose(shop)
    code, hint = refused(shop, target)
    assert code == "backup-version" and version in hint


def test_the_last_complete_backup_is_taken(shop: Shop, target: Path) -> None:
    first = choose(Store(LocalPlace(target)), None)
    shop.commit(QUERIES[0], 2)
    second = shop.back_up(target).manifest
    third = shop.back_up(target).manifest
    (target / third.name / "manifest.json").unlink()
    assert choose(Store(LocalPlace(target)), None) == second
    lose(shop)
    assert refused(shop, target, backup=third.name)[0] == "backup-incomplete"
    code, _ = refused(shop, target, backup="20200101T000000Z")
    assert code == "no-backup"
    bring_back(shop, target, backup=first.name)
    assert f"{QUERIES[0]}/spark/offsets/2" not in shop.read()
    rows = list_backups(Store(LocalPlace(target)))
    assert [(r["name"], r["queries"], r["commands"]) for r in rows[:2]] == [(first.name, 2, 3), (second.name, 2, 3)]
    assert "no manifest" in str(rows[2]["problem"])


def test_a_folder_without_backups(shop: Shop, tmp_path: Path) -> None:
    assert refused(shop, tmp_path / "none")[0] == "no-backup"
    shop.back_up(tmp_path / "to")
    [name] = Store(LocalPlace(tmp_path / "to")).names()
    (tmp_path / "to" / name / "manifest.json").unlink()
    assert refused(shop, tmp_path / "to")[0] == "backup-incomplete"


def test_a_place_without_room(shop: Shop, target: Path) -> None:
    class Full(LocalPlace):
        def write(self, name: str, chunks: Iterable[bytes]) -> None:
            def half() -> Iterator[bytes]:
                yield next(iter(chunks))[:3]
                raise OSError(28, "No space left on device")

            super().write(name, half() if "spark/state" in name else chunks)

    lose(shop)
    with pytest.raises(KsqlError) as e:
        bring_back(shop, target, Full(shop.folder))
    assert e.value.code == "backup-unwritable"
    bring_back(shop, target)
    signed(shop)


# ---------------------------------------------------------------- logins


def test_files_of_logins_are_kept_where_that_is_wanted(shop: Shop, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("ann:hash")
    shop.back_up(tmp_path / "to")
    assert not any("logins" in p for p in choose(Store(LocalPlace(tmp_path / "to")), None).files)
    shop.back_up(tmp_path / "to", logins={"users": users})
    lose(shop)
    code, hint = refused(shop, tmp_path / "to", logins={"users": users, "tokens": tmp_path / "tokens"})
    assert code == "service-not-empty" and "--force" in hint
    users.unlink()
    bring_back(shop, tmp_path / "to", logins={"users": users, "tokens": tmp_path / "tokens"})
    assert users.read_text() == "ann:hash" and users.stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "tokens").exists()
