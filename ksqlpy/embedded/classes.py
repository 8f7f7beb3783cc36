"""Archives of the classes that a JVM loads, so that a later one maps them instead of loading and checking each again.

By default class-data sharing (JEP 350). A Java of version 25 or newer makes its ahead-of-time cache instead, which also
knows which methods were hot (JEP 514, 515), and which a Java cut down with jlink can make as well.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from ksqlpy.embedded.java import Java

__all__ = ["ClassArchive"]

_AHEAD_OF_TIME = 25
"""The first Java (feature version) that makes such a cache in one run."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive ``file``, which ``java`` made or is to make.

    A JVM checks by itself that an archive fits it and its class path, and does without it otherwise. With an
    ahead-of-time cache in the making it takes a while more to end: seconds for some thousand classes.
    """

    file: Path
    java: Java

    @property
    def whole(self) -> bool:
        """Whether it is there, and complete: the JVM writes its head last."""
        return _whole(self.file)

    @property
    def with_profiles(self) -> bool:
        """Whether it knows which methods were hot while it was made, so that these are compiled sooner."""
        return self.java.feature >= _AHEAD_OF_TIME

    @property
    def part(self) -> Path:
        """Where this process makes it."""
        return self.file.with_suffix(f".{os.getpid()}")

    @property
    def in_use(self) -> tuple[str, ...]:
        """The JVM's options to use it; none while it is not whole."""
        if not self.whole:
            return ()
        with contextlib.suppress(OSError):
            self.file.touch()  # so that the archives in use can be told from the others
        # What does not fit is no matter for the console.
        return (f"-XX:{self._names[0]}={self.file}", "-Xlog:disable", "-Xlog:all=error:stderr")

    @property
    def in_making(self) -> tuple[str, ...]:
        """The JVM's options to leave it at its end, at :attr:`part`."""
        return (f"-XX:{self._names[1]}={self.part}", "-Xlog:disable", "-Xlog:all=error:stderr")

    def take(self) -> bool:
        """Puts what the JVM has left in its place; False, and nothing is left, if that one did not get to its end."""
        whole = _whole(self.part)
        with contextlib.suppress(OSError):
            if whole:
                self.part.replace(self.file)
            self.part.unlink(missing_ok=True)
            self.part.with_name(f"{self.part.name}.config").unlink(missing_ok=True)  # of a cache that was cut off
        return whole

    @property
    def _names(self) -> tuple[str, str]:
        if self.with_profiles:
            return "AOTCache", "AOTCacheOutput"
        return "SharedArchiveFile", "ArchiveClassesAtExit"


def _whole(file: Path) -> bool:
    try:
        with file.open("rb") as f:
            return f.read(4).strip(b"\0") != b""
    except OSError:
        return False
