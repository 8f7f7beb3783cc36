"""Restores a backup: the checkpoints of a service, and its command log where the brokers have lost it.

Everything is checked before anything is changed: the files of the backup, cluster and service, that no server runs, and
that nothing is there that would be lost. Then the folder of the checkpoints is marked as unfinished, which no server
starts on, filled, and signed at the end. So a restore that is killed is only begun again.

A restored query goes on from its checkpoint as after a kill: it looks through all results behind the note of the sink
that lies in the checkpoint, and leaves out those that are there (docs/internals/exactly-once.md).
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.backup.commandtopic import Standing, append_entries, entries_from, make_anew, standing
from ksqlpy.backup.manifest import Manifest, damaged
from ksqlpy.backup.places import LocalPlace, Place
from ksqlpy.backup.service import Service
from ksqlpy.backup.store import COMMANDS, Store, unreadable, unwritable
from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.runtime.commandlog import Entry
from ksqlpy.runtime.replay import replayed
from ksqlpy.spark.folder_owner import FILE, RESTORING, FolderOwner, check_folder_owner, sign_folder
from ksqlpy.spark.version import SPARK_VERSION
from ksqlpy.version import __version__

LEAVING = 12.0
"""Seconds for which a server that was stopped or killed may still be known to the brokers."""

__all__ = ["Restored", "choose", "list_backups", "restore_backup"]


@dataclass(frozen=True)
class Restored:
    """What was restored, or would be: the manifest, how the command topic stood, and what was moved aside to where.

    ``later``: entries that the topic has and the backup has not; ``lacking``: queries of theirs, which have no
    checkpoint.
    """

    manifest: Manifest
    log: Standing
    aside: str | None
    later: int = 0
    lacking: tuple[str, ...] = ()


def choose(source: Store, name: str | None) -> Manifest:
    """The backup of that name, the last one by default.

    Raises EngineProblem ``no-backup``, ``backup-incomplete``, ``backup-damaged``, ``backup-version``.
    """
    if name is not None:
        if name not in (known := [*source.names(), *source.incomplete()]):
            said = f": it has {', '.join(known[-5:])}" if known else ""
            raise EngineProblem("no-backup", f"{source.place.name} has no backup {name}{said}")
        return source.manifest(name)
    names = source.names()
    if not names and (begun := source.incomplete()):
        return source.manifest(begun[-1])  # says what is wrong with it
    if not names:
        raise EngineProblem(
            "no-backup", f"{source.place.name} has no backup", hint="`ksqlpy backup` makes one; is it the right place?"
        )
    return source.manifest(names[-1])


def restore_backup(
    service: Service,
    source: Store,
    manifest: Manifest,
    checkpoints: Callable[[], tuple[Place, str]],
    data: Path,
    *,
    force: bool = False,
    dry: bool = False,
    logins: Mapping[str, Path] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Restored:
    """Restores a backup; ``checkpoints``: gives a folder and the name in it of that of the service's checkpoints.

    ``data``: the data folder, which the caller has locked; ``force``: also where something is there, which is moved
    aside; ``dry``: only checks; ``logins``: files of logins to write, by their names in the backup. Raises KsqlError.
    """
    _check_versions(manifest)
    source.check(manifest, progress)
    entries = _entries(source, manifest)
    _check_service(service, manifest)
    _check_data(service, data)
    place, folder = checkpoints()
    end = int(manifest.log["next"])
    stood, own = standing(service.kafka, service.log, entries, end)
    there = _there(place, folder)
    _check_empty(service, manifest, place, folder, stood, there, force=force)
    wanted = _logins(manifest, logins or {}, force=force)
    aside = f"{folder}.before-restore-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}" if there == "others" else None
    lacking = tuple(q for q in _queries(service, entries, stood) if q not in manifest.queries)
    told = Restored(manifest, stood, None if aside is None else f"{place.name}/{aside}", max(0, own - end), lacking)
    if dry:
        return told
    if aside is not None:
        with unwritable(place):
            place.rename(folder, aside)
    _fill(service, source, manifest, place, folder, progress)
    progress("writing the command log")
    if stood in (Standing.MISSING, Standing.OTHER):
        make_anew(service.kafka, service.log, int(manifest.log["largest"]), delete=stood is Standing.OTHER)
        own = 0
    append_entries(service.kafka, service.log, entries, own, end)
    owner = FolderOwner(service.cluster, service.id, service.topic_id())
    for path, name in wanted.items():
        with unwritable(LocalPlace(path.parent)):
            LocalPlace(path.parent).write(path.name, source.content(manifest, name))
    with unwritable(place):
        place.write(f"{folder}/{FILE}", [owner.text.encode()])
    with unwritable(LocalPlace(data)):
        sign_folder(data, owner)
    progress("")
    return told


def _check_versions(manifest: Manifest) -> None:
    for what, there, here, parts in (
        ("ksqlpy", manifest.ksqlpy, __version__, 2),
        ("Spark", manifest.spark, SPARK_VERSION, 2),
    ):
        if _numbers(there)[:parts] > _numbers(here)[:parts]:
            raise EngineProblem(
                "backup-version",
                f"the backup {manifest.name} was made with {what} {there}, this is {here}, which may not read it",
                hint=f"restore it with {what} {there} or a later version",
            )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.replace("-", ".").split(".") if part.isdigit()]


def _entries(source: Store, manifest: Manifest) -> dict[int, bytes | None]:
    where = f"{source.place.name}/{manifest.name}"
    if COMMANDS not in manifest.files:
        raise damaged(where, f"it has no {COMMANDS}")
    try:
        return entries_from(b"".join(source.content(manifest, COMMANDS)))
    except (ValueError, LookupError, TypeError) as e:
        raise damaged(where, f"{COMMANDS} cannot be read") from e


def _check_service(service: Service, manifest: Manifest) -> None:
    """A checkpoint is of topics of its cluster, and of producers of its service; see docs/operations.md."""
    if manifest.service != service.id:
        raise EngineProblem(
            "other-service",
            f"the backup {manifest.name} is of the service {manifest.service}, this is {service.id}",
            hint="a service of another id cannot fence the producers of that one, so results could come twice: set"
            f" ksql.service.id to {manifest.service}; or create what definitions.sql of the backup has",
        )
    if manifest.cluster != service.cluster:
        raise EngineProblem(
            "other-cluster",
            f"the backup {manifest.name} is of the Kafka cluster {manifest.cluster}, this is {service.cluster}",
            hint="the offsets in its checkpoints are of topics of that cluster: set bootstrap.servers to it; or create"
            " on this one what definitions.sql of the backup has",
        )
    end = time.monotonic() + LEAVING
    while service.runs:
        if time.monotonic() > end:
            raise EngineProblem(
                "service-taken",
                f"a server runs the service {service.id}, or stands by for it",
                hint="stop all servers of the service",
            )
        time.sleep(0.2)


def _check_data(service: Service, data: Path) -> None:
    """Makes sure that the data folder is not another service's; that of its command log may have been lost."""
    file = data / FILE
    if not file.exists():
        return
    text = file.read_text(encoding="utf-8")
    with contextlib.suppress(ValueError, AttributeError):
        known = json.loads(text).get("command_log")
        check_folder_owner(text, FolderOwner(service.cluster, service.id, known), str(data), "data folder")


def _there(place: Place, folder: str) -> str:
    """What is in the folder of the checkpoints: ``nothing``, an ``unfinished`` restore, or what is of ``others``."""
    with unreadable(place):
        names = place.files(folder)
        if not names:
            return "nothing"
        try:
            owner = json.loads(b"".join(place.chunks(f"{folder}/{FILE}")))
        except (ValueError, FileNotFoundError):
            owner = None
    if isinstance(owner, dict) and owner.get("command_log") == RESTORING:
        return "unfinished"
    return "nothing" if set(names) == {f"{folder}/{FILE}"} else "others"


def _check_empty(
    service: Service, manifest: Manifest, place: Place, folder: str, stood: Standing, there: str, *, force: bool
) -> None:
    if force:
        return
    if there == "others":
        raise EngineProblem(
            "service-not-empty",
            f"{place.name}/{folder} has checkpoints",
            hint="with --force they are moved aside, and those of the backup are put in their place",
        )
    if stood is Standing.OTHER:
        raise EngineProblem(
            "service-not-empty",
            f"the command log {service.log.topic} has other entries than the backup {manifest.name}",
            hint="with --force that topic is deleted, and made again from the backup",
        )


def _logins(manifest: Manifest, logins: Mapping[str, Path], *, force: bool) -> dict[Path, str]:
    """Which files of logins are to be written, by their paths."""
    found: dict[Path, str] = {}
    for name, path in logins.items():
        kept = f"logins/{name}"
        if kept not in manifest.files:
            continue
        if path.exists() and not force:
            raise EngineProblem(
                "service-not-empty", f"the file {path} is there", hint="with --force that of the backup replaces it"
            )
        found[path] = kept
    return found


def _queries(service: Service, entries: Mapping[int, bytes | None], stood: Standing) -> list[str]:
    """The queries that the command log will have."""
    if stood is Standing.LATER:
        logged = service.log.read()
    else:
        logged = [Entry(offset, value) for offset, value in sorted(entries.items())]
    return list(replayed(logged, service.config).catalog.queries)


def _fill(
    service: Service, source: Store, manifest: Manifest, place: Place, folder: str, progress: Callable[[str], None]
) -> None:
    """Writes the checkpoints, in a folder that is marked as unfinished."""
    mark = FolderOwner(service.cluster, service.id, RESTORING)
    with unwritable(place):
        place.write(f"{folder}/{FILE}", [mark.text.encode()])
        for left in {n.split("/")[1] for n in place.files(folder) if n != f"{folder}/{FILE}"}:
            place.remove(f"{folder}/{left}")
    paths = [p for p in manifest.files if p.startswith("checkpoints/")]
    for i, path in enumerate(paths):
        progress(f"restoring checkpoints: file {i + 1:,} of {len(paths):,}")
        with unwritable(place):
            place.write(f"{folder}/{path.removeprefix('checkpoints/')}", source.content(manifest, path))


def described(manifest: Manifest) -> dict[str, object]:
    """A backup as a row for people."""
    return {
        "name": manifest.name,
        "made": manifest.made,
        "service": manifest.service,
        "queries": len(manifest.queries),
        "commands": int(manifest.log["next"]) - int(manifest.log["first"]),
        "files": len(manifest.files),
        "bytes": manifest.size,
    }


def list_backups(source: Store) -> list[dict[str, object]]:
    """All backups as rows; of one that cannot be used its name and why."""
    rows: list[dict[str, object]] = []
    for name in sorted([*source.names(), *source.incomplete()]):
        try:
            rows.append({**described(source.manifest(name)), "problem": None})
        except KsqlError as e:
            empty = dict.fromkeys(("made", "service", "queries", "commands", "files", "bytes"))
            rows.append({"name": name, **empty, "problem": e.message})
    return rows
