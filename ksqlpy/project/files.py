"""The files of a project."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.errors import ConfigProblem, file_reason

__all__ = [
    "File",
    "files_below",
    "read_file",
    "read_files",
    "read_variables",
    "sql_files",
    "write_file",
    "writing",
]


@dataclass(frozen=True)
class File:
    """A file of statements: its name as it was asked for, and its text."""

    name: str
    sql: str


def files_below(folder: Path, suffix: str, most: int | None = None) -> list[Path]:
    """The files below a folder whose names end so, in the order of their paths; hidden ones are left out.

    Links to folders are not followed. ``most``: files and folders that are looked at. Raises ConfigProblem
    ``file-unreadable`` for a folder that cannot be read, since its files would seem to be gone, and
    ``folder-too-large``.
    """
    found, left, seen = [], [folder], 0
    while left:
        place = left.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    seen += 1
                    if most is not None and seen > most:
                        raise ConfigProblem("folder-too-large", f"there are more than {most:,} files in {folder}")
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        left.append(Path(entry.path))
                    elif entry.name.endswith(suffix) and entry.is_file():
                        found.append(Path(entry.path))
        except OSError as e:
            raise ConfigProblem("file-unreadable", f"the folder {place} cannot be read: {file_reason(e)}") from e
    return sorted(found)


def sql_files(path: Path, most: int | None = None) -> list[Path]:
    """The file itself, or all ``*.sql`` files below a folder; ``most``: as of :func:`files_below`, which raises, too.

    Raises ConfigProblem ``no-such-file`` and, for a folder without any, ``no-files``.
    """
    if path.is_dir():
        found = files_below(path, ".sql", most)
        if not found:
            raise ConfigProblem("no-files", f"there is no .sql file in {path}")
        return found
    if not path.exists():
        raise ConfigProblem("no-such-file", f"there is no file or folder {path}")
    return [path]


def read_file(path: Path) -> File:
    """A file as text; raises ConfigProblem ``file-unreadable``."""
    try:
        # Bytes, so that line ends and offsets stay as they are.
        return File(str(path), path.read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigProblem("file-unreadable", f"the file {path} cannot be read: {file_reason(e)}") from e


def read_files(paths: Iterable[Path]) -> list[File]:
    """The files of all these files and folders, each once; raises ConfigProblem."""
    return [read_file(p) for p in dict.fromkeys(f for path in paths for f in sql_files(path))]


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Makes a ConfigProblem ``file-unwritable`` of what the file system has against it."""
    try:
        yield
    except OSError as e:
        raise ConfigProblem("file-unwritable", f"{path} cannot be written: {file_reason(e)}") from e


def write_file(path: Path, text: str) -> None:
    """Replaces a file as a whole: a full disk leaves the old one. Raises ConfigProblem ``file-unwritable``."""
    path = path.resolve()
    beside = path.with_name(f".{path.name}.new")
    with writing(path):
        try:
            beside.write_bytes(text.encode())
            shutil.copymode(path, beside)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)


def read_variables(path: Path) -> dict[str, str]:
    """Lines NAME=VALUE; those that are empty or begin with # are comments. Raises ConfigProblem ``bad-variables``."""
    return dict(_pairs(read_file(path)))


def _pairs(file: File) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(file.sql.splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            name, equals, value = text.partition("=")
            if not equals or not name.strip():
                raise ConfigProblem("bad-variables", f"{file.name}, line {number}: {text!r} is not NAME=VALUE")
            yield name.strip(), value.strip()
