"""Real Kafka brokers (KRaft) as child processes, for trying things out and for tests: mostly one, which is all."""

from __future__ import annotations

import base64
import fcntl
import logging
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ksqlpy.embedded.cache import Progress, cache_folder, digest
from ksqlpy.embedded.classes import ClassArchive
from ksqlpy.embedded.guard import Guarded
from ksqlpy.embedded.jars import broker_jars
from ksqlpy.embedded.java import Java, find_java
from ksqlpy.embedded.ports import is_free, keep_port, usual_port
from ksqlpy.errors import EnvironmentProblem

__all__ = ["EmbeddedKafka"]

_HOST = "127.0.0.1"
_NODE = "1"
_ATTEMPTS = 4
_ENDING, _ARCHIVING = 10.0, 60.0  # seconds for a broker to end, and for the first one, which leaves an archive then

_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": _NODE,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "auto.create.topics.enable": "false",
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
}

# Kafka's own choice of collector: short pauses matter more here than a start that is faster by some 0.2 s.
_JVM = ["-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Djava.awt.headless=true", "-Xlog:disable"]


class EmbeddedKafka:
    """A broker of this machine, started by :meth:`start` or ``with``, ended by :meth:`stop` or with this process.

    ``host``, ``port``: of the listener; None picks a free port, and with a ``folder`` the same one at each start.
    ``folder``: where topics and log are kept for the next start; None takes a temporary folder that goes with the
    broker. ``settings``: broker settings that replace or extend ours.
    ``protocol``: of that listener; with another than PLAINTEXT the settings say the rest, those of the listener with
    the prefix ``listener.name.clients.``, and :attr:`inner` is a second listener without a login.
    ``ready_within``: seconds that the broker may take to answer. ``progress``: told about jars being fetched.
    ``joins``: the first broker of a cluster, which has its controller; this one is then another broker of it, with the
    number ``node``.
    """

    def __init__(
        self,
        *,
        host: str = _HOST,
        port: int | None = None,
        folder: Path | str | None = None,
        settings: Mapping[str, str] | None = None,
        protocol: str = "PLAINTEXT",
        ready_within: float = 60.0,
        progress: Progress | None = None,
        node: int = 1,
        joins: EmbeddedKafka | None = None,
        log_settings: Path | None = None,
    ) -> None:
        self._node, self._joins = node, joins
        self._log_settings = log_settings
        self._host = host
        self._wanted_port = port
        self._wanted_folder = None if folder is None else Path(folder).expanduser().absolute()
        self._settings = dict(settings or {})
        self._protocol = protocol
        self._ready_within = ready_within
        self._progress = progress
        self._child: Guarded | None = None
        self._started = False
        self._lock: IO[str] | None = None
        self._folder = Path()
        self._archive: ClassArchive | None = None
        self._port = self._inner = self._controller = 0

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """``host:port`` for ``bootstrap.servers``. Raises RuntimeError unless started."""
        self._running()
        return f"{self._host}:{self._port}"

    @property
    def inner(self) -> str:
        """``host:port`` of the listener without a login and TLS. Raises RuntimeError unless started."""
        self._running()
        return f"{self._host}:{self._inner}"

    @property
    def pid(self) -> int:
        """Process id of the broker. Raises RuntimeError unless started."""
        return self._running().pid

    @property
    def cluster_id(self) -> str:
        """The id of the cluster that this broker is of."""
        lines = (self._folder / "kafka" / "meta.properties").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)["cluster.id"]

    @property
    def folder(self) -> Path:
        """The folder with data and log of this broker."""
        return self._folder

    @property
    def log_file(self) -> Path:
        """The broker's log; a temporary folder takes it away with it."""
        return self._folder / "broker.log"

    def start(self) -> Self:
        """Start the broker and wait until it answers.

        Raises EnvironmentProblem: ``port-in-use``, ``folder-in-use``, ``broker-not-started``, and those of
        :func:`~ksqlpy.embedded.jars.broker_jars` and :func:`~ksqlpy.embedded.java.find_java`.
        """
        if self._child is not None:
            raise RuntimeError("this broker is already started")
        if self._wanted_port is not None and not is_free(self._host, self._wanted_port):
            raise _port_in_use(self._host, self._wanted_port)
        java, jars = find_java(), broker_jars(self._progress)
        try:
            self._take_folder()
            cluster = "" if self._joins is None else self._joins.cluster_id
            _format(self._folder / "kafka", java, jars, self._node, cluster)
            for attempt in range(_ATTEMPTS):
                if self._try_start(java, jars, last=attempt == _ATTEMPTS - 1):
                    break
        except BaseException:
            self.stop()
            raise
        self._started = True
        return self

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself: it was killed, or its disk was full."""
        return self._started and (self._child is None or self._child.poll() is not None)

    def restart(self) -> None:
        """Starts one that has ended again, at its port and with its topics. Raises EnvironmentProblem."""
        if not self._started:
            return  # it is being stopped
        wanted, self._wanted_port = self._wanted_port, self._port
        child, self._child = self._child, None
        try:
            if child is not None:
                child.stop()
            self._try_start(find_java(), broker_jars(self._progress), last=True)
        finally:
            self._wanted_port = wanted

    def stop(self) -> None:
        """End the broker in order (10 s, then by force) and wait for it. Does nothing when it does not run."""
        self._started = False
        child, self._child = self._child, None
        if child is not None:
            child.stop()
        if self._archive is not None:
            self._archive.take()
            self._archive = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None
            if self._wanted_folder is None:
                shutil.rmtree(self._folder, ignore_errors=True)

    # --- steps of a start ------------------------------------------------------------------------------------------

    def _running(self) -> Guarded:
        if self._child is None:
            raise RuntimeError("the embedded Kafka broker is not started")
        return self._child

    def _take_folder(self) -> None:
        """Make the folder ours; the lock is handed to the guard, so it lasts exactly as long as the broker."""
        if self._wanted_folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="ksqlpy-kafka-"))
        else:
            self._folder = self._wanted_folder
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as e:
                raise EnvironmentProblem(
                    "folder-not-usable", f"the data folder {self._folder} cannot be created: {e.strerror or e}"
                ) from e
        lock = (self._folder / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            owner = lock.read().strip()
            lock.close()
            raise EnvironmentProblem(
                "folder-in-use",
                f"the data folder {self._folder} is in use by another broker"
                f"{f', started by process {owner}' if owner else ''}",
                hint="stop that one, use it by its bootstrap.servers, or name another folder",
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        self._lock = lock

    def _try_start(self, java: Java, jars: Sequence[Path], *, last: bool) -> bool:
        """One attempt; False when somebody took our port between choosing and binding and another try makes sense."""
        wanted = self._wanted_port
        if wanted is None and self._wanted_folder is not None:
            wanted = usual_port(self._folder, self._host)
        self._port, self._controller, inner = _free_ports(wanted)
        self._inner = self._port if self._protocol == "PLAINTEXT" else inner
        listeners = _listeners(self._protocol, self._host, self._port, inner, self._controller)
        if self._joins is not None:
            listeners |= _of_another(self._node, listeners, self._joins._controller)  # noqa: SLF001  # a broker, too
        file = self._folder / "server.properties"
        file.touch(0o600)  # the settings may hold passwords
        file.write_text(_properties(self._folder / "kafka", {**listeners, **self._settings}), encoding="utf-8")
        log_start = self.log_file.stat().st_size if self.log_file.exists() else 0
        assert self._lock is not None
        temporary = self._folder / "tmp"  # a broker that was killed has left its libraries there
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        options = [*_JVM, f"-Djava.io.tmpdir={temporary}", *self._archive_options(java, jars)]
        options += _class_path(jars, self._log_settings)
        self._child = Guarded(
            [str(java.executable), *options, "kafka.Kafka", str(file)],
            log=self.log_file,
            cwd=self._folder,
            grace=_ENDING if self._archive is None else _ARCHIVING,
            remove=[self._folder] if self._wanted_folder is None else [],
            keep_open=[self._lock.fileno()],
        )
        deadline = time.monotonic() + self._ready_within
        while time.monotonic() < deadline:
            status = self._child.poll()
            if status is not None:
                lines = _tail(self.log_file, log_start)
                self._child.stop()
                self._child = None
                if not last and any("Address already in use" in line for line in lines):
                    if self._wanted_port is not None and not is_free(self._host, self._wanted_port):
                        raise _port_in_use(self._host, self._wanted_port)
                    return False
                raise self._not_started(f"ended with status {status} at its start", lines)
            if _answers(self.inner):
                if self._wanted_folder is not None:
                    keep_port(self._folder, self._port)
                return True
            time.sleep(0.02)
        lines = _tail(self.log_file, log_start)
        raise self._not_started(f"gave no answer within {self._ready_within:g} s", lines)

    def _not_started(self, what: str, lines: Sequence[str]) -> EnvironmentProblem:
        said = "\n".join(f"   {line}" for line in lines[-12:]) or "   (nothing)"
        where = f"its log {self.log_file}" if self._wanted_folder is not None else "its log"
        return EnvironmentProblem(
            "broker-not-started", f"the embedded Kafka broker {what}", hint=f"{where} ends with:\n{said}"
        )

    def _archive_options(self, java: Java, jars: Sequence[Path]) -> tuple[str, ...]:
        """The first broker leaves an archive of its classes, and later ones start in half the time."""
        file = cache_folder("broker") / f"{digest(java.version, *map(str, (java.executable, *jars)))}.jsa"
        archive = ClassArchive(file, java)
        if archive.whole:
            return archive.in_use
        self._archive = archive
        return archive.in_making


def _class_path(jars: Sequence[Path], log_settings: Path | None = None) -> list[str]:
    log4j = log_settings or Path(__file__).with_name("log4j2.properties")
    return [f"-Dlog4j2.configurationFile={log4j}", "-cp", os.pathsep.join(map(str, jars))]


def _listeners(protocol: str, host: str, port: int, inner: int, controller: int) -> dict[str, str]:
    """Where the broker listens: for clients and for itself at one port, unless clients have another protocol."""
    of_clients = f"PLAINTEXT://{host}:{port}"
    protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    if protocol != "PLAINTEXT":
        of_clients = f"CLIENTS://{host}:{port},PLAINTEXT://{host}:{inner}"
        protocols += f",CLIENTS:{protocol}"
    return {
        "listeners": f"{of_clients},CONTROLLER://{_HOST}:{controller}",
        "advertised.listeners": of_clients,
        "listener.security.protocol.map": protocols,
        "controller.quorum.voters": f"{_NODE}@{_HOST}:{controller}",
    }


def _of_another(node: int, listeners: Mapping[str, str], controller: int) -> dict[str, str]:
    """What differs in a broker that is not the first: the controller is there."""
    return {
        "process.roles": "broker",
        "node.id": str(node),
        "listeners": listeners["listeners"].partition(",CONTROLLER://")[0],
        "controller.quorum.voters": f"{_NODE}@{_HOST}:{controller}",
    }


def _properties(data: Path, more: Mapping[str, str]) -> str:
    settings = {**_SETTINGS, "log.dirs": str(data), **more}
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _format(data: Path, java: Java, jars: Sequence[Path], node: int, cluster: str) -> None:
    """Make ``data`` a log directory of a new cluster, or of ``cluster``, unless it is one already.

    Kafka's own tool takes a JVM and a second for it. All that it writes is the cluster's and the directory's id and a
    file of feature levels that is the same for one version of Kafka: the tool runs once, and we keep that file.
    """
    if (data / "meta.properties").exists():
        return
    features = cache_folder("broker") / f"{digest(*(j.name for j in jars))}.checkpoint"
    if not features.exists():
        with tempfile.TemporaryDirectory(prefix=".format-", dir=features.parent) as scratch:
            made, file = Path(scratch) / "kafka", Path(scratch) / "server.properties"
            file.write_text(_properties(made, _listeners("PLAINTEXT", _HOST, 9092, 9094, 9093)), encoding="utf-8")
            command = [str(java.executable), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *_class_path(jars)]
            command += ["kafka.tools.StorageTool", "format", "-t", _new_id(), "-c", str(file)]
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                said = (done.stdout + done.stderr).strip()
                raise EnvironmentProblem(
                    "broker-not-started", "a data folder for Kafka could not be formatted", hint=f"it said: {said}"
                )
            (made / "bootstrap.checkpoint").replace(features)
    data.mkdir(exist_ok=True)
    shutil.copyfile(features, data / "bootstrap.checkpoint")
    meta = {"version": "1", "cluster.id": cluster or _new_id(), "node.id": str(node), "directory.id": _new_id()}
    part = data / "meta.properties.part"
    part.write_text("".join(f"{key}={value}\n" for key, value in meta.items()), encoding="utf-8")
    part.replace(data / "meta.properties")  # last, since it marks the folder as formatted


def _new_id() -> str:
    """A random id as Kafka writes them: 16 bytes in URL-safe base64, not starting with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def _free_ports(wanted: int | None) -> tuple[int, int, int]:
    """The listener's, the controller's, and one more."""
    with socket.socket() as a, socket.socket() as b, socket.socket() as c, socket.socket() as d:
        found: list[int] = []
        for s in (a, b, c, d):
            s.bind((_HOST, 0))
            found.append(s.getsockname()[1])
    if wanted is None:
        return found[0], found[1], found[2]
    # The wanted port may lie where the system picks from.
    others = [port for port in found if port != wanted]
    return wanted, others[0], others[1]


def _port_in_use(host: str, port: int) -> EnvironmentProblem:
    return EnvironmentProblem(
        "port-in-use",
        f"port {port} on {host}, where the embedded Kafka broker shall listen, is in use",
        hint=f"if a Kafka broker runs there, use it: bootstrap.servers={host}:{port}; else choose another port",
    )


def _answers(bootstrap: str) -> bool:
    """Whether a metadata request is answered with a broker in it."""
    host, port = bootstrap.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), timeout=0.2):
            pass
    except OSError:
        return False
    quiet = logging.getLogger("ksqlpy.embedded.kafka.probe")
    quiet.propagate = False
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}, logger=quiet)
    try:
        return bool(admin.list_topics(timeout=2).brokers)
    except KafkaException:
        return False


def _tail(file: Path, start: int) -> list[str]:
    """The lines of a log from byte ``start`` on, at most the last 64 KB of them."""
    try:
        with file.open("rb") as f:
            size = f.seek(0, os.SEEK_END)
            f.seek(max(start, size - 65536))
            return f.read().decode(errors="replace").splitlines()
    except OSError:
        return []
