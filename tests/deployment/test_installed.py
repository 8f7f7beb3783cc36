"""The server as the Containerfile and the unit of systemd install and start it, by their own commands.

The wheel is built in the folder that the Containerfile copies together, and installed into a venv. Its dependencies are
those of this one: there may be no network. The server runs without rights, as a user that may write to the folders of
the volumes only; all else is read-only.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil
import pytest

from ksqlpy.client import Client
from ksqlpy.embedded.guard import Guarded
from ksqlpy.embedded.jars import fill
from ksqlpy.errors import KsqlError
from tests.deployment import confined
from tests.deployment.containerfile import ROOT, environment, instructions
from tests.deployment.units import FOLDER, first
from tests.harness.server import free_port
from tests.support.waiting import until

pytestmark = [
    pytest.mark.java,
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.extended("a wheel is built, and servers as processes of another user"),
    pytest.mark.skipif(not confined.is_possible(), reason="needs root, and namespaces of mounts"),
]

PATH = "/usr/local/bin:/usr/bin:/bin"
STATEMENTS = (
    "CREATE STREAM s (k STRING KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=2);"
    "CREATE TABLE counts AS SELECT n, COUNT(*) AS c FROM s GROUP BY n;"
    "INSERT INTO s VALUES ('a', 1);"
)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One that all users reach, unlike the folders of pytest."""
    found = Path(tempfile.mkdtemp(prefix="installed-"))
    found.chmod(0o755)
    yield found
    shutil.rmtree(found)


@pytest.fixture(scope="module")
def installed(folder: Path) -> Path:
    """The venv, of root, with what the Containerfile's first stage puts there."""
    sources, venv = folder / "src", folder / "ksqlpy"
    sources.mkdir()
    for text in (i.text for i in instructions() if i.name == "COPY" and i.stage == 0):
        *names, to = shlex.split(text)
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, sources / to, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(ROOT / name, sources / to / name)
    [build] = [i.text for i in instructions() if i.name == "RUN" and "-m build" in i.text]
    run(shlex.split(build)[1:], sources)
    python = confined.python_for_all()
    if python is None:
        pytest.skip("the user may not start this version of Python")
    subprocess.run([python, "-m", "venv", "--without-pip", str(venv)], check=True)
    [wheel] = (sources / "wheel").glob("*.whl")
    run(["-m", "pip", "--python", str(venv), "install", "--no-deps", "--no-index", str(wheel)], sources)
    [site] = (venv / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    fill(venv / "jars")
    return venv


def run(arguments: Sequence[str], cwd: Path) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def own(folder: Path) -> Path:
    """A folder of the server's user."""
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    os.chown(folder, confined.NOBODY, confined.NOBODY)
    return folder


@contextlib.contextmanager
def running(program: Sequence[str], writable: Sequence[Path], variables: Mapping[str, str], log: Path) -> Iterator[int]:
    """A server, confined; its process id."""
    inherited = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
    env = {"PATH": PATH, "KSQLPY_TRACEBACK": "1", **inherited, **variables}
    child = Guarded(confined.command(program, writable), log=log, env=env, cwd=Path("/"), grace=60)
    try:
        yield child.pid
    finally:
        child.stop()


def answers(client: Client) -> bool:
    with contextlib.suppress(KsqlError):
        return bool(client.info())
    return False


def works(client: Client) -> bool:
    """Whether a query counts what is inserted."""
    client.statements(STATEMENTS)

    def counted() -> bool:
        with contextlib.suppress(KsqlError):
            return [1, 1] in list(client.push("SELECT n, c FROM counts WHERE n = 1;"))
        return False

    return bool(until(counted, 120))


def is_confined(pid: int) -> bool:
    """Whether server and JVMs have no rights, and run as the user."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    status = [Path(f"/proc/{p.pid}/status").read_text(encoding="utf-8") for p in processes]
    assert len(status) >= 3  # a JVM for Spark and one for Kafka
    return all("\nCapEff:\t0000000000000000\n" in s and f"\nUid:\t{confined.NOBODY}\t" in s for s in status)


def test_as_the_container_starts_it(installed: Path, folder: Path) -> None:
    found = instructions()
    [volumes] = [json.loads(i.text) for i in found if i.name == "VOLUME"]
    root = folder / "container"
    places = [own(root / v.lstrip("/")) for v in volumes if v != "/tmp"]
    variables = {
        name: value.replace("/opt/ksqlpy", str(installed)).replace("/var/", f"{root}/var/").replace("$PATH", PATH)
        for name, value in environment(found).items()
    }
    settings, port = folder / "container.properties", free_port()
    settings.write_text(f"ksqlpy.port={port}\nksqlpy.warm.up=false\nksql.streams.auto.offset.reset=earliest\n")
    settings.chmod(0o644)
    [entry] = [json.loads(i.text) for i in found if i.name == "ENTRYPOINT"]
    [arguments] = [json.loads(i.text) for i in found if i.name == "CMD"]
    assert entry[:2] == ["tini", "--"]
    program = [a.replace("/etc/ksqlpy/server.properties", str(settings)) for a in (*entry[2:], *arguments)]
    client = Client(f"http://127.0.0.1:{port}")
    log = folder / "container.log"
    with running([f"{installed}/bin/{program[0]}", *program[1:]], places, variables, log) as pid:
        assert until(lambda: answers(client), 180), log.read_text()
        assert is_confined(pid)
        assert works(client), log.read_text()
    assert (root / "var/lib/ksqlpy/data").is_dir()


def test_as_systemd_starts_it(installed: Path, folder: Path) -> None:
    state, cache, credentials = (own(folder / "systemd" / name) for name in ("state", "cache/ksqlpy", "credentials"))
    port = free_port()
    text = (FOLDER / "server.properties").read_text(encoding="utf-8").replace("/var/lib/ksqlpy", str(state))
    more = f"ksqlpy.port={port}\nksqlpy.warm.up=false\nksql.streams.auto.offset.reset=earliest\n"
    (credentials / "server.properties").write_text(text + more, encoding="utf-8")
    os.chown(credentials / "server.properties", confined.NOBODY, confined.NOBODY)
    (credentials / "server.properties").chmod(0o400)

    def expanded(value: str) -> list[str]:
        value = value.replace("/opt/ksqlpy", str(installed)).replace("%d", str(credentials))
        return shlex.split(value.replace("%S/ksqlpy", str(state)).replace("%C", str(cache.parent)))

    variables = dict(part.split("=", 1) for part in expanded(first("Environment")))
    variables["KSQLPY_JARS"] = str(installed / "jars")
    client, log = Client(f"http://127.0.0.1:{port}"), folder / "systemd.log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        address = f"\0ksqlpy-installed-{os.getpid()}"
        systemd.bind(address)
        systemd.settimeout(180)
        variables["NOTIFY_SOCKET"] = address.replace("\0", "@")
        with running(expanded(first("ExecStart")), [state, cache], variables, log) as pid:
            while "READY=1" not in systemd.recv(1000).decode():
                pass
            assert answers(client), log.read_text()
            assert is_confined(pid)
            assert works(client), log.read_text()
        while not systemd.recv(1000).startswith(b"STOPPING=1"):
            pass
    assert (state / "data").is_dir()
    assert sorted(p.name for p in folder.glob("java-crash*")) == []
