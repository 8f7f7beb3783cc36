"""A folder of one of Hadoop's file systems, as backups use it: see :class:`ksqlpy.backup.places.Place`."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

from ksqlpy.errors import reason_of
from ksqlpy.spark.gateway import jvm_of, scala_session

__all__ = ["HadoopPlace"]

CHUNK = 2**20
"""Bytes that go from the JVM to Python, or back, at one time."""


class HadoopPlace:
    """A folder that a URI names. Calls raise OSError.

    ``shared``: others may read what is written, as executors of a cluster must, which may run as another user; else
    it is for its owner only, where the file system knows owners.
    """

    def __init__(self, session: Any, uri: str, *, shared: bool = False) -> None:
        self._uri = uri
        self._jvm: Any = jvm_of(session)
        self._configuration = scala_session(session).sessionState().newHadoopConf()
        self._configuration.set("fs.permissions.umask-mode", "022" if shared else "077")

    @property
    def name(self) -> str:
        """The URI."""
        return self._uri

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._uri}/{name}" if name else self._uri)

    @contextlib.contextmanager
    def _at(self, name: str) -> Iterator[tuple[Any, Any]]:
        """The file system and the path of a file."""
        try:
            path = self._path(name)
            yield path.getFileSystem(self._configuration), path
        except Py4JJavaError as e:
            kind = e.java_exception.getClass().getName()
            if kind == "java.io.FileNotFoundException":
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{self._uri}/{name}") from e
            raise OSError(reason_of(e)) from e
        except (Py4JError, ConnectionError) as e:
            raise OSError("the JVM does not answer") from e

    def files(self, under: str = "") -> dict[str, tuple[int, int]]:
        """All files below a folder; those of a folder are looked at ahead of those in its folders."""
        found: dict[str, tuple[int, int]] = {}
        left = [under]
        while left:
            folder = left.pop()
            with contextlib.suppress(FileNotFoundError), self._at(folder) as (files, path):
                for status in files.listStatus(path):
                    name = f"{folder}/{status.getPath().getName()}" if folder else status.getPath().getName()
                    if status.isDirectory():
                        left.append(name)
                    else:
                        found[name] = status.getLen(), status.getModificationTime()
        return found

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a file."""
        with self._at(name) as (files, path):
            stream = files.open(path)
        try:
            while True:
                with self._at(name):
                    data = bytes(stream.readNBytes(CHUNK))
                if not data:
                    return
                yield data
        finally:
            with contextlib.suppress(Py4JError, OSError):
                stream.close()

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Writes a file, which is there as a whole or not at all; one that is there is replaced."""
        folder, _, last = name.rpartition("/")
        part = f"{folder}/.{last}.part" if folder else f".{last}.part"
        with self._at(part) as (files, path):
            stream = files.create(path, True)
        try:
            for data in chunks:
                for begin in range(0, len(data), CHUNK):
                    with self._at(name):
                        stream.write(data[begin : begin + CHUNK])
            with self._at(name):
                stream.close()
            self.remove(name)
            self.rename(part, name)
        except BaseException:
            with contextlib.suppress(Py4JError, OSError):
                stream.close()
            with contextlib.suppress(OSError):
                self.remove(part)
            raise

    def remove(self, name: str) -> None:
        """Removes a file, or a folder with all that is in it; it need not be there."""
        with self._at(name) as (files, path):
            files.delete(path, True)

    def rename(self, name: str, to: str) -> None:
        """Gives a file or a folder another name."""
        with self._at(name) as (files, path):
            if not files.rename(path, self._path(to)):
                raise OSError(f"{self._uri}/{name} cannot be renamed")
