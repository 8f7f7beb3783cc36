"""A real schema registry (Apicurio, by Confluent's API) as a child process, for trying things out and for tests."""

from __future__ import annotations

import shutil
import socket
import tarfile
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from ksqlpy.embedded.cache import Progress, StatusLine, cache_folder, locked
from ksqlpy.embedded.guard import Guarded
from ksqlpy.embedded.jars import jar_set
from ksqlpy.embedded.java import find_java
from ksqlpy.embedded.ports import keep_port, usual_port
from ksqlpy.errors import EnvironmentProblem

__all__ = ["EmbeddedRegistry"]

_HOST = "127.0.0.1"
_PATH = "/apis/ccompat/v7"
_JVM = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xlog:disable"]


class EmbeddedRegistry:
    """A registry on 127.0.0.1, started by :meth:`start` or ``with``, ended by :meth:`stop` or with this process.

    ``port``: None picks a free one, and with a ``folder`` the same one at each start. ``folder``: where schemas and log
    are kept for the next start; None takes a temporary folder that goes with the registry. ``ready_within``: seconds
    that it may take to answer. ``progress``: told about what is being fetched.
    """

    def __init__(
        self,
        *,
        port: int | None = None,
        folder: Path | str | None = None,
        ready_within: float = 60.0,
        progress: Progress | None = None,
    ) -> None:
        self._port = port
        self._wanted_folder = None if folder is None else Path(folder).expanduser().absolute()
        self._ready_within = ready_within
        self._progress = progress
        self._folder = Path()
        self._child: Guarded | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """For ``ksql.schema.registry.url``. Raises RuntimeError unless started."""
        if self._child is None:
            raise RuntimeError("the embedded schema registry is not started")
        return f"http://{_HOST}:{self._port}{_PATH}"

    def start(self) -> Self:
        """Start the registry and wait until it answers.

        Raises EnvironmentProblem: ``registry-not-started``, ``folder-not-usable``, and those of
        :func:`~ksqlpy.embedded.jars.jar_set` and :func:`~ksqlpy.embedded.java.find_java`.
        """
        if self._child is not None:
            raise RuntimeError("this schema registry is already started")
        java, home = find_java(), _unpacked(self._progress)
        self._take_folder()
        try:
            kept = None if self._wanted_folder is None else usual_port(self._folder, _HOST)
            port = self._port = self._port or kept or _free_port()
            options = [
                *_JVM,
                f"-Dquarkus.http.host={_HOST}",
                f"-Dquarkus.http.port={port}",
                f"-Dapicurio.datasource.url=jdbc:h2:file:{self._folder / 'schemas'}",
                "-Dquarkus.log.level=WARN",
                "-Dquarkus.http.access-log.enabled=false",
            ]
            self._child = Guarded(
                [str(java.executable), *options, "-jar", str(next(home.glob("*-runner.jar")))],
                log=self._folder / "registry.log",
                cwd=home,
                remove=[self._folder] if self._wanted_folder is None else [],
            )
            self._wait(port)
            if self._wanted_folder is not None:
                keep_port(self._folder, port)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the registry and wait for it. Does nothing when it does not run."""
        child, self._child = self._child, None
        if child is not None:
            child.stop()
        if self._wanted_folder is None and self._folder != Path():
            shutil.rmtree(self._folder, ignore_errors=True)

    def _take_folder(self) -> None:
        if self._wanted_folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="ksqlpy-registry-"))
            return
        self._folder = self._wanted_folder
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise EnvironmentProblem(
                "folder-not-usable", f"the data folder {self._folder} cannot be created: {e.strerror or e}"
            ) from e

    def _wait(self, port: int) -> None:
        import httpx

        assert self._child is not None
        deadline = time.monotonic() + self._ready_within
        while time.monotonic() < deadline:
            status = self._child.poll()
            if status is not None:
                raise self._not_started(f"ended with status {status} at its start")
            try:
                if httpx.get(f"http://{_HOST}:{port}{_PATH}/subjects", timeout=2).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.05)
        raise self._not_started(f"gave no answer within {self._ready_within:g} s")

    def _not_started(self, what: str) -> EnvironmentProblem:
        lines = (self._folder / "registry.log").read_text(errors="replace").splitlines()[-12:]
        said = "\n".join(f"   {line}" for line in lines) or "   (nothing)"
        return EnvironmentProblem(
            "registry-not-started", f"the embedded schema registry {what}", hint=f"its log ends with:\n{said}"
        )


def _unpacked(progress: Progress | None) -> Path:
    """The folder of the registry's jars: the archive is fetched and unpacked once."""
    [archive] = jar_set("registry", progress)
    home = cache_folder("registry") / archive.name.removesuffix(".tar.gz")
    if home.is_dir():
        return home
    tell = progress or StatusLine()
    tell("unpacking the schema registry")
    try:
        with locked(cache_folder("registry") / "lock", lambda: tell("another process unpacks the schema registry")):
            if not home.is_dir():
                with tempfile.TemporaryDirectory(prefix=".unpack-", dir=home.parent) as scratch:
                    with tarfile.open(archive) as tar:
                        tar.extractall(Path(scratch, "registry"), filter="data")
                    Path(scratch, "registry").rename(home)
    finally:
        tell("")
    return home


def _free_port() -> int:
    with socket.socket() as s:
        s.bind((_HOST, 0))
        port: int = s.getsockname()[1]
        return port
