"""Folders that a backup is read from and written to: local ones, and those of Hadoop's file systems.

:class:`ksqlpy.spark.hadoop.HadoopPlace` is the other :class:`Place`. What a place cannot do is an OSError; a file that
is not there is a FileNotFoundError.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from ksqlpy.config import Config
from ksqlpy.embedded.folders import scratch_folder

__all__ = ["CHUNK", "LocalPlace", "Place", "Places", "Seen", "is_uri"]

CHUNK = 4 * 2**20
"""Bytes of a file that are held at one time."""

Seen = tuple[int, int]
"""Size of a file, and when it was changed: a number that another content has not."""


class Place(Protocol):
    """A folder. Names of files are relative to it, with slashes."""

    @property
    def name(self) -> str:
        """As people call it."""

    def files(self, under: str = "") -> dict[str, Seen]:
        """All files below a folder; those of a folder are looked at ahead of those in its folders."""

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a file."""

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Writes a file, which is there as a whole or not at all; one that is there is replaced."""

    def remove(self, name: str) -> None:
        """Removes a file, or a folder with all that is in it; it need not be there."""

    def rename(self, name: str, to: str) -> None:
        """Gives a file or a folder another name."""


class LocalPlace:
    """A folder of this machine; files that are written there are for nobody else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def name(self) -> str:
        """The path."""
        return str(self._folder)

    def files(self, under: str = "") -> dict[str, Seen]:
        """All files below a folder."""
        found: dict[str, Seen] = {}
        left = [self._folder / under]
        while left:
            inside: list[Path] = []
            with contextlib.suppress(FileNotFoundError), os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        inside.append(Path(entry.path))
                        continue
                    with contextlib.suppress(FileNotFoundError):
                        told = entry.stat()
                        name = Path(entry.path).relative_to(self._folder).as_posix()
                        found[name] = told.st_size, told.st_mtime_ns
            left += inside
        return found

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a file."""
        with (self._folder / name).open("rb") as file:
            while data := file.read(CHUNK):
                yield data

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Writes a file as a whole, down to the disk."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                for data in chunks:
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def remove(self, name: str) -> None:
        """Removes a file or a folder."""
        path = self._folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def rename(self, name: str, to: str) -> None:
        """Gives a file or a folder another name."""
        (self._folder / name).rename(self._folder / to)


def is_uri(text: str) -> bool:
    """Whether a folder is named by a URI, and so is one of Hadoop's."""
    return "://" in text or text.startswith("file:")


class Places(contextlib.ExitStack):
    """Finds the places of folders; for those that have a URI it starts a JVM, which ends with the block."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._config = config
        self._session: Any = None

    def at(self, text: str, *, shared: bool = False) -> Place:
        """The place of a path or a URI; ``shared``: see :class:`ksqlpy.spark.hadoop.HadoopPlace`.

        Raises EnvironmentProblem where no JVM can be had.
        """
        if not is_uri(text):
            return LocalPlace(Path(text).expanduser().absolute())
        from ksqlpy.spark.hadoop import HadoopPlace
        from ksqlpy.spark.session import end_session, has_session, start_session

        if self._session is None:
            folder, own = self.enter_context(scratch_folder("ksqlpy-backup-")), not has_session()
            self._session = session = start_session("local[1]", "512m", folder, conf=self._config.spark)
            if own:
                self.callback(end_session, session)
        return HadoopPlace(self._session, text.rstrip("/"), shared=shared)
