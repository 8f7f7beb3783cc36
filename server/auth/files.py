"""Files that say who may come in: read anew when they change, written whole, by one writer at a time."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from ksqlpy.errors import ConfigProblem, KsqlError, file_reason, shown

__all__ = ["LARGEST", "NAME", "Watched", "checked_name", "checked_roles", "replaced", "state_of", "text_of"]

_log = logging.getLogger("ksqlpy.server")

T = TypeVar("T")

LARGEST = 16 * 2**20
"""Bytes of a file."""

NAME = re.compile(r"[^\s:,#\x00-\x20\x7f]{1,128}")
"""Names of users and of owners of tokens: Basic's end at the first colon, and these files have commas between roles."""

_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

State = tuple[int, int, int]


def state_of(file: Path) -> State | None:
    """What changes when the file does; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def text_of(file: Path) -> str:
    """The file's text; raises ConfigProblem ``login-file``."""
    try:
        with file.open("rb") as opened:
            data = opened.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ConfigProblem("login-file", f"{file} has more than {LARGEST // 2**20} MiB")
        return data.decode()
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigProblem("login-file", f"{file} cannot be read: {file_reason(e)}") from e


def checked_name(text: str) -> str:
    """The name, if it may be one; raises ConfigProblem ``bad-login-name``."""
    if not NAME.fullmatch(text):
        raise ConfigProblem(
            "bad-login-name",
            f"{shown(text)} is no name for a login",
            hint="it has up to 128 characters, none of them a space, a comma, a colon or #",
        )
    return text


def checked_roles(text: str) -> frozenset[str]:
    """The roles of a list with commas between them; raises ConfigProblem ``bad-login-name``."""
    roles = frozenset(filter(None, (r.strip() for r in text.split(","))))
    for role in roles:
        if not _ROLE.fullmatch(role):
            hint = "it has letters (a to z), digits and _"
            raise ConfigProblem("bad-login-name", f"{shown(role)} is no name of a role", hint=hint)
    return frozenset(r.lower() for r in roles)


class Watched(Generic[T]):
    """What a file says now. Where it cannot be read any more, it says nothing: nobody comes in by it."""

    def __init__(
        self,
        file: Path,
        read: Callable[[str, Path], T],
        nothing: T,
        changed: Callable[[T, T], None] = lambda before, now: None,
    ) -> None:
        """Reads it; ``changed`` is told what it has said, and says now. Raises ConfigProblem ``login-file``."""
        self.file = file
        self._read = read
        self._nothing = nothing
        self._changed = changed
        self._state = state_of(file)
        self._value = read(text_of(file), file)

    @property
    def value(self) -> T:
        """What it says; looks whether the file has changed."""
        self.look()
        return self._value

    def look(self) -> None:
        """Looks whether the file has changed."""
        state = state_of(self.file)
        if state == self._state:
            return
        before, self._state = self._value, state
        try:
            self._value = self._read(text_of(self.file), self.file)
        except KsqlError as e:
            self._value = self._nothing
            _log.error("nobody is let in by %s until it is mended: %s", self.file, e.message)
        self._changed(before, self._value)


def replaced(file: Path, change: Callable[[str], str]) -> None:
    """Changes a file's text, for its owner only to read; readers see the old text or the new one.

    Of several writers each sees what the others have written. Raises ConfigProblem ``login-file``.
    """
    try:
        with _alone(file.parent):
            text = change(text_of(file) if file.exists() else "")
            descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as new:
                    new.write(text)
                    new.flush()
                    os.fsync(new.fileno())
                if (before := _mode(file)) is not None:
                    os.chmod(name, before)
                os.replace(name, file)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
    except OSError as e:
        raise ConfigProblem("login-file", f"{file} cannot be written: {file_reason(e)}") from e


def _mode(file: Path) -> int | None:
    try:
        return file.stat().st_mode & 0o777
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time in the folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
