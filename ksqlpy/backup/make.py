"""Makes a backup of a service, also while its server runs: it reads the command log and the checkpoints, and changes
nothing.

The command log is read ahead of the checkpoints and again behind them; where it has changed, all is done once more, so
that both belong together. What has been copied before is not copied again.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ksqlpy.backup.checkpoints import Committed, NotWhole, committed, own_files
from ksqlpy.backup.commandtopic import entries_text, log_facts
from ksqlpy.backup.definitions import definitions
from ksqlpy.backup.manifest import File, Manifest
from ksqlpy.backup.places import LocalPlace, Place, Seen
from ksqlpy.backup.service import Service
from ksqlpy.backup.store import COMMANDS, DEFINITIONS, Changed, Store, name_of, time_of, unreadable
from ksqlpy.catalog import Catalog
from ksqlpy.errors import EngineProblem, EnvironmentProblem, KsqlError
from ksqlpy.runtime.commandlog import Entry
from ksqlpy.runtime.replay import replayed
from ksqlpy.spark.checkpoints import folder_name
from ksqlpy.spark.folder_owner import FILE, FolderOwner, check_folder_owner
from ksqlpy.spark.version import SPARK_VERSION
from ksqlpy.version import __version__

__all__ = ["LOGINS", "Made", "make_backup"]

log = logging.getLogger(__name__)

ROUNDS = 20
"""How often all is read at most, until nothing has changed meanwhile."""
PAUSE = 0.3
"""Seconds between them."""
BEGINNING = 10.0
"""Seconds that a query that runs has for its beginning, before which it has no key."""

LOGINS = ("users", "tokens")
"""Files with the logins of a server, as a backup names them."""


@dataclass(frozen=True)
class Made:
    """A backup that was made: its manifest, the bytes that were written for it, and the backups that were removed."""

    manifest: Manifest
    written: int
    removed: Sequence[str]


def make_backup(
    service: Service,
    checkpoints: Place,
    target: Store,
    *,
    keep: int | None = None,
    logins: Mapping[str, Path] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Made:
    """Makes a backup. ``checkpoints``: the folder of those of the service; ``logins``: files, as in :data:`LOGINS`.

    Raises KsqlError; what is in the target then is no complete backup.
    """
    name = _new_name(target)
    before = _files_before(target)
    run = _Run(service, checkpoints, target, before, progress)
    entries, catalog = run.all()
    files = {
        **run.files,
        **_of_logins(target, logins or {}),
        COMMANDS: target.put(name, COMMANDS, entries_text(entries)),
        DEFINITIONS: target.put(name, DEFINITIONS, definitions(catalog, service.id, service.log.next_offset).encode()),
    }
    manifest = Manifest(
        name,
        datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        __version__,
        SPARK_VERSION,
        service.cluster,
        service.id,
        log_facts(service.kafka, service.log, entries),
        run.batches,
        tuple(run.warnings),
        files,
    )
    target.finish(manifest)
    return Made(manifest, target.written, target.tidy(keep, name))


def _new_name(target: Store) -> str:
    """The time; later than that of all that are there, whatever the clock says."""
    now = datetime.now(UTC)
    last = max([*target.names(), *target.incomplete()], default="")
    if last:
        now = max(now, time_of(last) + timedelta(milliseconds=1))
    return name_of(now)


def _files_before(target: Store) -> Mapping[str, File]:
    """The files of the last backup, which need not be read again where the originals are as they were."""
    for name in reversed(target.names()):
        with contextlib.suppress(KsqlError):
            return target.manifest(name).files
    return {}


def _of_logins(target: Store, logins: Mapping[str, Path]) -> dict[str, File]:
    found = {}
    for name, path in logins.items():
        place = LocalPlace(path.parent)
        try:
            told = path.stat()
            found[f"logins/{name}"] = target.add(place, path.name, (told.st_size, told.st_mtime_ns), None)
        except (OSError, Changed) as e:
            raise EnvironmentProblem(
                "backup-unreadable", f"the file {path} cannot be read: {getattr(e, 'strerror', None) or 'it changes'}",
                hint="try again, or leave out --logins",
            ) from e  # fmt: skip
    return found


class _Run:
    """One backup in the making. ``files``: by their path in the backup; ``batches``: see :class:`Manifest`."""

    def __init__(
        self,
        service: Service,
        checkpoints: Place,
        target: Store,
        before: Mapping[str, File],
        progress: Callable[[str], None],
    ) -> None:
        self.files: dict[str, File] = {}
        self.batches: dict[str, int | None] = {}
        self.warnings: list[str] = []
        self._service, self._checkpoints, self._target = service, checkpoints, target
        self._known = dict(before)
        self._progress = progress

    def all(self) -> tuple[list[Entry], Catalog]:
        """Copies all checkpoints; gives the command log to which they belong, and what it tells."""
        log = self._service.log
        for _ in range(ROUNDS):
            entries = self._service.entries()
            end, topic = log.next_offset, self._service.topic_id()
            replay = replayed(entries, self._service.config)
            self.files, self.batches, self.warnings = {}, {}, [f"the command log: {w}" for w in replay.left_out]
            self._check_owner(replay.catalog)
            for query in replay.catalog.queries.values():
                self._query(query.id, paused=query.paused)
            if log.end == end and self._service.topic_id() == topic:
                return entries, replay.catalog
        raise _unsettled("the command log changes all the time")

    def _check_owner(self, catalog: Catalog) -> None:
        """Makes sure that the checkpoints are those of the service, not of another, or none at all."""
        with unreadable(self._checkpoints):
            try:
                text = b"".join(self._checkpoints.chunks(FILE)).decode(errors="replace")
            except FileNotFoundError:
                text = None
        if text is None and catalog.queries:
            raise EngineProblem(
                "checkpoint-missing",
                f"{self._checkpoints.name} is no folder of checkpoints, and the service has queries",
                hint="are ksqlpy.data.dir and ksqlpy.checkpoint.dir those of the server? --config names its file",
            )
        own = FolderOwner(self._service.cluster, self._service.id, self._service.topic_id())
        check_folder_owner(text, own, self._checkpoints.name, "folder of the checkpoints")

    def _query(self, query_id: str, *, paused: bool) -> None:
        """Copies the checkpoint of a query, again until it was one state throughout."""
        why, until = "", time.monotonic() + BEGINNING
        for attempt in range(ROUNDS):
            if attempt:
                time.sleep(PAUSE)
            try:
                state, files = self._copied(query_id)
            except NotWhole as e:
                why = str(e)
                continue
            except Changed as e:
                why = f"{e} changes all the time"
                continue
            except FileNotFoundError as e:
                why = f"{e.filename or e} went away"
                continue
            if not state.files:
                self.warnings.append(
                    f"query {query_id} has no checkpoint: it cannot go on, here or where it is restored"
                )
                return
            while not state.begun and not paused and self._service.runs and time.monotonic() < until:
                time.sleep(PAUSE)
                with contextlib.suppress(NotWhole, Changed, FileNotFoundError):
                    state, files = self._copied(query_id)
            if not state.begun:
                self.warnings.append(
                    f"query {query_id} has not begun: what it writes from now on is written again by a restored one"
                )
            self.files.update(files)
            self.batches[query_id] = state.batch
            return
        raise _unsettled(f"the checkpoint of query {query_id} is not one state: {why}")

    def _copied(self, query_id: str) -> tuple[Committed, dict[str, File]]:
        """One attempt. Raises :class:`NotWhole`, :class:`Changed`, FileNotFoundError."""
        folder, place = folder_name(query_id), self._checkpoints
        with unreadable(place):
            seen = {n.removeprefix(f"{folder}/"): s for n, s in place.files(folder).items()}

        def text(name: str) -> str:
            with unreadable(place):
                return b"".join(place.chunks(f"{folder}/{name}")).decode(errors="replace")

        state = committed(seen, text)
        before = {name: text(name) for name in state.own}
        found: dict[str, File] = {}
        for i, name in enumerate(state.files):
            self._progress(f"copying checkpoints: query {query_id}, file {i + 1:,} of {len(state.files):,}")
            found[f"checkpoints/{folder}/{name}"] = self._add(f"{folder}/{name}", seen[name])
        with unreadable(place):
            now = own_files(n.removeprefix(f"{folder}/") for n in place.files(folder))
        if {name: text(name) for name in now} != before:
            raise Changed(folder)
        return state, found

    def _add(self, name: str, seen: Seen) -> File:
        path = f"checkpoints/{name}"
        file = self._target.add(self._checkpoints, name, seen, self._known.get(path) if _immutable(name) else None)
        self._known[path] = file
        return file


def _immutable(name: str) -> bool:
    """Whether a file of a checkpoint is never written again: then its size and time say that it is as it was."""
    return "/spark/state/" in name


def _unsettled(why: str) -> EngineProblem:
    return EngineProblem(
        "backup-unsettled",
        f"no backup was made: {why}",
        hint="try again; PAUSE ALL; before it and RESUME ALL; behind it hold the queries still",
    )
