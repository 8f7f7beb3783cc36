"""A folder of backups.

    <folder>/<time>/manifest.json     what is in the backup; written last, so that one without it is not complete
    <folder>/<time>/commands.jsonl    the command log, an entry a line
    <folder>/<time>/definitions.sql   the same as statements, to be read by people
    <folder>/files/<ab>/<sha256>      all other files, by their content: backups share them

A file is written once, however many backups have it. Files that no backup has any more go when old backups are removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from ksqlpy.backup.manifest import File, Manifest, damaged
from ksqlpy.backup.places import CHUNK, Place, Seen
from ksqlpy.errors import EngineProblem, EnvironmentProblem, KsqlError, file_reason

__all__ = ["COMMANDS", "DEFINITIONS", "Changed", "Store", "name_of", "time_of", "unreadable", "unwritable"]

MANIFEST, COMMANDS, DEFINITIONS = "manifest.json", "commands.jsonl", "definitions.sql"
_FILES = "files"
_NAME = re.compile(r"\d{8}T\d{6}\.\d{3}Z")
_BESIDE = (COMMANDS, DEFINITIONS)


def name_of(time: datetime) -> str:
    """The name of a backup that is made at this time: names are in the order of times."""
    return f"{time:%Y%m%dT%H%M%S}.{time.microsecond // 1000:03}Z"


def time_of(name: str) -> datetime:
    """The inverse of :func:`name_of`."""
    return datetime.strptime(name, "%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC)


class Changed(Exception):
    """A file is not what it was a moment ago."""


class Store:
    """The backups in a place."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.written = 0
        """Bytes that :meth:`add` and :meth:`put` have written."""
        self._listed: dict[str, Seen] | None = None
        self._there: dict[str, int] | None = None

    # ------------------------------------------------------------ which there are

    def names(self) -> list[str]:
        """The complete backups, the oldest first."""
        return sorted(n for n, files in self._folders().items() if MANIFEST in files)

    def incomplete(self) -> list[str]:
        """Those without a manifest."""
        return sorted(n for n, files in self._folders().items() if MANIFEST not in files)

    def _folders(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name in self._files():
            folder, _, file = name.partition("/")
            if _NAME.fullmatch(folder) and file:
                found.setdefault(folder, set()).add(file)
        return found

    def _files(self) -> dict[str, Seen]:
        """All that is there; listed once, as that takes long where there is much."""
        if self._listed is None:
            with unreadable(self.place):
                self._listed = self.place.files()
        return self._listed

    def manifest(self, name: str) -> Manifest:
        """That of a backup. Raises EngineProblem ``backup-incomplete``, ``backup-damaged``, ``backup-version``."""
        where = f"{self.place.name}/{name}"
        try:
            with unreadable(self.place):
                data = b"".join(self.place.chunks(f"{name}/{MANIFEST}"))
        except FileNotFoundError as e:
            raise EngineProblem(
                "backup-incomplete",
                f"the backup {where} has no manifest: it was not made to its end",
                hint="use another backup; `ksqlpy restore … --list` shows them",
            ) from e
        return Manifest.read(data, where)

    # ------------------------------------------------------------ what is in them

    def where(self, backup: str, path: str, file: File) -> str:
        """Where a file of a backup lies."""
        return f"{backup}/{path}" if path in _BESIDE else f"{_FILES}/{file.sha256[:2]}/{file.sha256}"

    def check(self, manifest: Manifest, progress: Callable[[str], None] = lambda text: None) -> None:
        """Reads all files of a backup; raises EngineProblem ``backup-damaged`` for the first that is not as it was."""
        for i, path in enumerate(sorted(manifest.files)):
            progress(f"checking the backup: file {i + 1:,} of {len(manifest.files):,}")
            for _ in self.content(manifest, path):
                pass

    def content(self, manifest: Manifest, path: str) -> Iterator[bytes]:
        """The content of a file; raises EngineProblem ``backup-damaged`` at its end if it is not as it was written."""
        file, where = manifest.files[path], f"{self.place.name}/{manifest.name}"
        digest, size, place = hashlib.sha256(), 0, self.where(manifest.name, path, file)
        try:
            with unreadable(self.place):
                for data in self.place.chunks(place):
                    digest.update(data)
                    size += len(data)
                    yield data
        except FileNotFoundError as e:
            raise damaged(where, f"its file {path} is missing", place) from e
        if size != file.size:
            raise damaged(where, f"its file {path} has {size:,} bytes, not {file.size:,}", place)
        if digest.hexdigest() != file.sha256:
            raise damaged(where, f"its file {path} is not as it was written", place)

    # ------------------------------------------------------------ writing

    def add(self, source: Place, name: str, seen: Seen, known: File | None) -> File:
        """Keeps a file of another place, unless it is there; ``known``: what it was at an earlier time.

        Raises :class:`Changed` if it changes meanwhile, FileNotFoundError if it goes, EnvironmentProblem.
        """
        size, modified = seen
        if known is not None and (known.size, known.modified) == seen and self._has(known):
            return known
        if size <= CHUNK:
            data = [b"".join(_content(source, name))]
            digest = _digest(data)
        else:
            data, digest = [], _digest(_content(source, name))
        file = File(size, digest, modified)
        if data and len(data[0]) != size:
            raise Changed(name)
        if self._has(file):
            return file
        self._write(file, data or _content(source, name), name)
        return file

    def _write(self, file: File, chunks: Iterable[bytes], name: str) -> None:
        digest, place = hashlib.sha256(), self.where("", name, file)

        def checked() -> Iterator[bytes]:
            for data in chunks:
                digest.update(data)
                yield data
            if digest.hexdigest() != file.sha256:
                raise Changed(name)

        with unwritable(self.place):
            self.place.write(place, checked())
        self._known[file.sha256] = file.size
        self.written += file.size

    def put(self, backup: str, path: str, data: bytes) -> File:
        """Writes a file that lies beside the manifest, or the manifest itself."""
        with unwritable(self.place):
            self.place.write(f"{backup}/{path}", [data])
        self.written += len(data)
        return File(len(data), _digest([data]))

    def finish(self, manifest: Manifest) -> None:
        """Writes the manifest: from now on the backup is complete."""
        self.put(manifest.name, MANIFEST, manifest.write())
        self._listed = self._there = None

    def _has(self, file: File) -> bool:
        return self._known.get(file.sha256) == file.size

    @property
    def _known(self) -> dict[str, int]:
        if self._there is None:
            found = ((name.split("/"), size) for name, (size, _) in self._files().items())
            self._there = {parts[-1]: size for parts, size in found if parts[0] == _FILES}
        return self._there

    def tidy(self, keep: int | None, own: str) -> list[str]:
        """Removes all but the last ``keep`` backups, what was not made to its end, and files that no backup has.

        Nothing where a manifest cannot be read: it is not known what that backup needs. Gives the names of those
        removed. ``own``: the one that has just been made, which stays.
        """
        names = self.names()
        try:
            manifests = {n: self.manifest(n) for n in names}
        except KsqlError:
            return []
        gone = names[:-keep] if keep is not None else []
        gone = [n for n in gone if n != own]
        with unwritable(self.place):
            for name in [*gone, *self.incomplete()]:
                self.place.remove(f"{name}/{MANIFEST}")  # first: what is half removed is not complete
                self.place.remove(name)
            needed = {f.sha256 for n, m in manifests.items() if n not in gone for f in m.files.values()}
            for path in self._files():
                folder, _, rest = path.partition("/")
                if folder == _FILES and rest.rpartition("/")[2] not in needed:
                    self.place.remove(path)
        self._listed = self._there = None
        return gone


@contextlib.contextmanager
def unwritable(place: Place) -> Iterator[None]:
    """What goes wrong with writing is an EnvironmentProblem ``backup-unwritable``."""
    try:
        yield
    except FileNotFoundError:  # of the source, which may just have gone
        raise
    except OSError as e:
        raise EnvironmentProblem(
            "backup-unwritable",
            f"{place.name} cannot be written: {file_reason(e)}",
            hint="is there room, and may this user write there? What was written so far is no complete backup",
        ) from e


@contextlib.contextmanager
def unreadable(place: Place) -> Iterator[None]:
    """What goes wrong with reading is an EnvironmentProblem ``backup-unreadable``, but for what is not there."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as e:
        hint = "is it the right place, and may this user read there?"
        raise EnvironmentProblem(
            "backup-unreadable", f"{place.name} cannot be read: {file_reason(e)}", hint=hint
        ) from e


def _content(place: Place, name: str) -> Iterator[bytes]:
    with unreadable(place):
        yield from place.chunks(name)


def _digest(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for data in chunks:
        digest.update(data)
    return digest.hexdigest()
