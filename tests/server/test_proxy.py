"""The configuration of nginx that docs/security.md names: what comes through, and what does not."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ksqlpy.server.run import ServerThread
from tests.harness.server import free_port
from tests.server.test_strict import NEXT, REFUSED
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
DOCS = Path(__file__).parents[2] / "docs/security.md"
LOGIN = ("ann", "secret")
AUTHORIZATION = f"Authorization: Basic {base64.b64encode(b'ann:secret').decode()}\r\n"

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


def documented() -> str:
    found = re.search(r"^    server \{\n.*?^    \}\n", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    return textwrap.dedent(found.group())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``server.key`` and ``server.crt``."""
    folder = tmp_path_factory.mktemp("proxy")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-keyout", folder / "server.key", "-out", folder / "server.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


@pytest.fixture
def proxy(server: ServerThread, certificate: Path, tmp_path: Path) -> Iterator[int]:
    """Its port."""
    port = free_port()
    for file in certificate.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "users").write_text(f"{LOGIN[0]}:{{PLAIN}}{LOGIN[1]}\n", encoding="utf-8")
    block = documented().replace("8443", f"127.0.0.1:{port}").replace("/etc/ksqlpy", str(tmp_path))
    block = block.replace("127.0.0.1:8088", server.url.removeprefix("http://"))
    temporary = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"{'user root;' if os.geteuid() == 0 else ''}\n"  # or its workers would be of a user who cannot read them
        f"daemon off;\npid {tmp_path}/pid;\nerror_log {tmp_path}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{block}}}\n",
        encoding="utf-8",
    )
    command = [str(NGINX), "-p", tmp_path, "-e", tmp_path / "error.log", "-c", tmp_path / "nginx.conf"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: listens(port)), (tmp_path / "error.log").read_text(encoding="utf-8")
        yield port
    finally:
        process.terminate()
        process.wait()


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


@pytest.fixture
def client(proxy: int) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=f"https://127.0.0.1:{proxy}", auth=LOGIN, timeout=30, trust_env=False, verify=False
    ) as made:
        yield made


def said(port: int, request: str) -> str:
    """All that comes until the proxy closes the connection."""
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    parts = []
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        trust.wrap_socket(plain) as one,
        contextlib.suppress(OSError),
    ):
        one.settimeout(3)
        one.sendall(request.encode())
        while part := one.recv(65_536):
            parts.append(part)
    return b"".join(parts).decode()


def test_a_login_is_asked_for(client: httpx.Client) -> None:
    assert client.get("/info", auth=("ann", "wrong")).status_code == 401
    assert httpx.get(f"{client.base_url}/info", trust_env=False, verify=False).status_code == 401
    assert "KsqlServerInfo" in client.get("/info").json()
    shown = client.post("/ksql", json={"ksql": "SHOW STREAMS;"}).json()
    assert [s["name"] for s in shown[0]["streams"]] == ["S"]


def test_rows_come_at_once_and_a_query_ends_with_its_client(client: httpx.Client, engine: FakeEngine) -> None:
    with client.stream("POST", "/query-stream", json={"sql": "SELECT * FROM live EMIT CHANGES;"}) as answer:
        lines = answer.iter_lines()
        next(lines)
        (push,) = engine.pushes.values()
        for number in range(3):
            push.source.put([number, "x"])
            assert next(lines) == f'[{number},"x"]'
    assert until(lambda: not engine.pushes)


def test_nothing_is_upgraded(proxy: int) -> None:
    upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
    found = said(proxy, NEXT.replace("\r\n\r\n", f"\r\n{AUTHORIZATION}{upgrade}\r\n"))
    assert found.startswith("HTTP/1.1 200 ")
    assert " 101 " not in found


@pytest.mark.parametrize("request_", REFUSED.values(), ids=REFUSED)
def test_no_request_goes_past_the_login_inside_another(proxy: int, request_: str) -> None:
    line, _, rest = request_.partition("\n")
    end = "\r\n" if line.endswith("\r") else "\n"
    found = said(proxy, f"{line}\n{AUTHORIZATION.removesuffix(chr(13) + chr(10))}{end}{rest}{NEXT}")
    asked = line.startswith("GET")  # the first one, which has the login
    assert found.count("KsqlServerInfo") <= asked
