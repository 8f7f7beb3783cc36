"""TLS of the server's ports, several listeners, and certificates that are renewed while it runs."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import ssl
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem
from ksqlpy.server.certificates import Certificates
from ksqlpy.server.listeners import Listeners, places
from tests.server.auth.authority import Authority
from tests.server.auth.conftest import HTTPS, SHOW, Start
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until


def trusting(authority: Authority, *own: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=authority.file)
    if own:
        context.load_cert_chain(*own)
    return context


def asked(url: str, context: ssl.SSLContext | bool = True, *, http2: bool = False) -> int:
    with httpx.Client(verify=context, trust_env=False, timeout=30, http1=not http2, http2=http2) as client:
        answer = client.post(f"{url}/ksql", json=SHOW)
        assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
        return answer.status_code


@pytest.mark.parametrize("http2", [False, True])
def test_https(start: Start, own: dict[str, str], authority: Authority, http2: bool) -> None:
    [url] = start(HTTPS, own)
    assert url.startswith("https://127.0.0.1:")
    assert asked(url, trusting(authority), http2=http2) == 200
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        asked(url)


def test_https_on_host_and_port(start: Start, own: dict[str, str], authority: Authority) -> None:
    [url] = start(own, {"ksqlpy.port": "0"})
    assert asked(url, trusting(authority)) == 200


def test_pages_of_the_server_itself_are_those_of_https(start: Start, own: dict[str, str], authority: Authority) -> None:
    [url] = start(HTTPS, own)
    with httpx.Client(verify=trusting(authority), trust_env=False, timeout=30) as client:
        assert client.post(f"{url}/ksql", json=SHOW, headers={"Origin": url}).status_code == 200
        plain = {"Origin": url.replace("https", "http")}
        assert client.post(f"{url}/ksql", json=SHOW, headers=plain).status_code == 403


def test_a_push_query_over_tls(start: Start, own: dict[str, str], authority: Authority, engine: FakeEngine) -> None:
    [url] = start(HTTPS, own)
    for http2 in (False, True):
        with (
            httpx.Client(verify=trusting(authority), trust_env=False, timeout=30, http1=not http2, http2=http2) as web,
            web.stream("POST", f"{url}/query-stream", json={"sql": "SELECT * FROM live EMIT CHANGES;"}) as answer,
        ):
            lines = answer.iter_lines()
            assert '"queryId"' in next(lines)
            [push] = engine.pushes.values()
            push.source.put([1, "one"])
            assert next(lines) == '[1,"one"]'
        assert push.closed.wait(10)  # with its client


def test_each_listener_has_its_protocol(start: Start, own: dict[str, str], authority: Authority) -> None:
    http, https = start({"listeners": "http://127.0.0.1:0, https://127.0.0.1:0"}, own)
    assert (asked(http), asked(https, trusting(authority))) == (200, 200)
    with pytest.raises(httpx.TransportError):
        asked(https.replace("https", "http"))
    with pytest.raises(httpx.TransportError):
        asked(http.replace("http", "https"), trusting(authority))
    assert (asked(http), asked(https, trusting(authority))) == (200, 200)


def test_bytes_that_are_no_tls(
    start: Start, own: dict[str, str], authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    [url] = start(HTTPS, own)
    port = httpx.URL(url).port or 0
    for data in (b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01", b"\x00" * 1000, b""):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                while got := connection.recv(65536):
                    assert not got.startswith(b"HTTP")
    assert asked(url, trusting(authority)) == 200
    assert "Traceback" not in caplog.text


def test_old_protocols_are_refused(start: Start, own: dict[str, str], authority: Authority) -> None:
    [url] = start(HTTPS, own)
    context = trusting(authority)
    with pytest.warns(DeprecationWarning):
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(httpx.TransportError):
        asked(url, context)


# ------------------------------------------------------------ certificates of clients


def test_clients_need_a_certificate(
    start: Start, own: dict[str, str], authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    [url] = start(HTTPS, own, {"ksqlpy.tls.client.ca": str(authority.file)})
    good = authority.certify("good", client=True)
    expired = authority.certify("expired", client=True, ends=-timedelta(minutes=2))
    not_yet = authority.certify("not yet", client=True, begins=timedelta(minutes=2))  # as of one whose clock is off
    foreign = Authority(tmp_path, "foreign").certify("stranger", client=True)
    of_a_server = authority.certify("another")
    for http2 in (False, True):
        assert asked(url, trusting(authority, *good), http2=http2) == 200
        for files in ((), expired, not_yet, foreign, of_a_server):
            with pytest.raises(httpx.TransportError):
                asked(url, trusting(authority, *files), http2=http2)
    assert asked(url, trusting(authority, *good)) == 200
    assert "Traceback" not in caplog.text


def test_an_authority_that_is_taken_out(
    start: Start, own: dict[str, str], authority: Authority, tmp_path: Path
) -> None:
    second = Authority(tmp_path, "second")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(authority.file.read_bytes() + second.file.read_bytes())
    [url] = start(HTTPS, own, {"ksqlpy.tls.client.ca": str(trusted)})
    first, other = (a.certify(f"of {a.file.stem}", client=True) for a in (authority, second))
    context = trusting(authority, *other)  # kept, as by a client that takes its session up again
    assert (asked(url, trusting(authority, *first)), asked(url, context)) == (200, 200)
    shutil.copy(authority.file, trusted)

    def refused() -> bool:
        try:
            return asked(url, context) != 200
        except httpx.TransportError:
            return True

    assert until(refused)
    assert asked(url, trusting(authority, *first)) == 200


# ------------------------------------------------------------ renewal


def serial(url: str, authority: Authority) -> int:
    """Of the certificate that a new connection gets."""
    at = httpx.URL(url)
    with (
        socket.create_connection((at.host, at.port or 0), timeout=30) as connection,
        trusting(authority).wrap_socket(connection, server_hostname="127.0.0.1") as secure,
    ):
        found = secure.getpeercert()
        assert found is not None
        return int(str(found["serialNumber"]), 16)


def test_a_certificate_is_renewed_while_connections_go_on(
    start: Start, own: dict[str, str], authority: Authority, engine: FakeEngine
) -> None:
    [url] = start(HTTPS, own)
    before = serial(url, authority)
    with (
        httpx.Client(verify=trusting(authority), trust_env=False, timeout=30) as client,
        client.stream("POST", f"{url}/query-stream", json={"sql": "SELECT * FROM live EMIT CHANGES;"}) as answer,
    ):
        lines = answer.iter_lines()
        assert '"queryId"' in next(lines)
        authority.certify("server")
        assert until(lambda: serial(url, authority) != before)
        [push] = engine.pushes.values()
        push.source.put([1, "one"])
        assert next(lines) == '[1,"one"]'


def test_files_that_do_not_fit_change_nothing(
    start: Start, own: dict[str, str], authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    [url] = start(HTTPS, own)
    before = serial(url, authority)
    certificate, key = Path(own["ksqlpy.tls.certificate"]), Path(own["ksqlpy.tls.key"])
    other = authority.certify("other")
    shutil.copy(other[0], certificate)  # and its key is not there yet
    assert until(lambda: "the certificate of before is kept" in caplog.text)
    assert serial(url, authority) == before
    certificate.unlink()
    assert serial(url, authority) == before
    shutil.copy(other[1], key)
    shutil.copy(other[0], certificate)
    assert until(lambda: serial(url, authority) != before)


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ({"ends": -timedelta(minutes=2)}, r"has expired \(\d{4}-\d\d-\d\d \d\d:\d\d UTC\): clients refuse it"),
        ({"begins": timedelta(minutes=2)}, r"is valid from .* UTC on: clients refuse it"),
        ({"ends": timedelta(days=13)}, r"ends on .* UTC$"),
        ({"ends": timedelta(days=15)}, None),
    ],
    ids=["expired", "not yet", "soon", "later"],
)
def test_the_log_says_when_clients_refuse_the_certificate(
    authority: Authority, times: dict[str, timedelta], says: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        found = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
        caplog.clear()
        return found

    made = Certificates(*authority.certify("own", ends=timedelta(days=100)))
    assert told() == []
    authority.certify("own", **times)
    made.look()
    for again in (lambda: None, made._warn):  # at once, and on later days
        again()
        assert [bool(says and re.search(says, line)) for line in told()] == ([True] if says else [])


# ------------------------------------------------------------ properties


def test_a_key_with_a_password(authority: Authority, start: Start) -> None:
    certificate, key = authority.certify("locked", password="open sesame")
    both = certificate.with_name("both.pem")
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    named = {"ksqlpy.tls.certificate": str(both)}
    [url] = start(HTTPS, named, {"ksqlpy.tls.key.password": "open sesame"})
    assert asked(url, trusting(authority)) == 200
    for wrong in ({}, {"ksqlpy.tls.key.password": "sesame"}):
        with pytest.raises(ConfigProblem, match="password is wrong") as e:
            Listeners.of(Config.of({**HTTPS, **named, **wrong}))
        assert e.value.code == "tls-file" and "sesame" not in e.value.message


def test_files_that_are_no_certificates(authority: Authority, own: dict[str, str], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    other = authority.certify("other")[1]
    wrong: list[tuple[dict[str, str], str]] = [
        ({"ksqlpy.tls.certificate": str(tmp_path / "none")}, "cannot be read: no such file"),
        ({"ksqlpy.tls.key": str(tmp_path / "none")}, "cannot be read: no such file"),
        ({"ksqlpy.tls.key": str(other)}, "is not that of"),
        ({"ksqlpy.tls.certificate": str(empty)}, "is not that of"),
        ({"ksqlpy.tls.client.ca": str(empty)}, "holds no certificates"),
        ({"ksqlpy.tls.client.ca": str(tmp_path / "none")}, "cannot be read: no such file"),
    ]
    for properties, said in wrong:
        with pytest.raises(ConfigProblem, match=said) as e:
            Certificates.of(Config.of({**own, **properties}))
        assert e.value.code == "tls-file"


def test_https_needs_a_certificate() -> None:
    with pytest.raises(ConfigProblem, match="a listener is https") as e:
        Listeners.of(Config.of(HTTPS))
    assert e.value.code == "tls-incomplete"


def test_only_one_property_says_where(own: dict[str, str]) -> None:
    for more in ({"ksqlpy.port": "8088"}, {"ksqlpy.host": "127.0.0.1"}):
        with pytest.raises(ConfigProblem) as e:
            places(Config.of({**HTTPS, **more}))
        assert e.value.code == "listeners-twice"


@pytest.mark.parametrize(
    "value",
    ["127.0.0.1:8088", "http://127.0.0.1", "ftp://a:1", "http://a:1/x", "http://u@a:1", "http://a:99999", "http://:1"],
)
def test_what_is_no_listener(value: str) -> None:
    with pytest.raises(ConfigProblem, match="listeners"):
        Config.of({"listeners": value})


ALL = "http://0.0.0.0:0"


def test_other_addresses_need_a_login(
    own: dict[str, str], users: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    for listeners in (ALL, f"http://127.0.0.1:0,{ALL}", "https://0.0.0.0:0", "http://[::]:0"):
        with pytest.raises(ConfigProblem) as e:
            Listeners.of(Config.of({"listeners": listeners, **own}))
        assert (e.value.code, "--insecure" in (e.value.hint or "")) == ("address-insecure", True)
    login = {"ksqlpy.auth.users.file": str(users)}
    clients = {"ksqlpy.tls.client.ca": str(authority.file)}
    with Listeners.of(Config.of({"listeners": "https://0.0.0.0:0", **own, **login})) as found:
        assert found.urls[0].startswith("https://0.0.0.0:")
    Listeners.of(Config.of({"listeners": "https://0.0.0.0:0", **own, **clients})).close()
    with pytest.raises(ConfigProblem):  # nobody looks at certificates there
        Listeners.of(Config.of({"listeners": ALL, **own, **clients}))
    assert "in the clear" not in caplog.text
    Listeners.of(Config.of({"listeners": ALL, **login})).close()
    assert "logins to http://0.0.0.0:" in caplog.text and "cross the network in the clear" in caplog.text
    Listeners.of(Config.of({"listeners": ALL, "ksqlpy.insecure": "true"})).close()


def test_the_names_of_listeners_are_names_of_the_server(start: Start) -> None:
    from ksqlpy.server.gate import Gate

    async def app(*_: object) -> None: ...

    gate = Gate(app, Config.of({"listeners": "http://127.0.0.1:1,https://ksql.example:2"}))
    assert gate._is_own("ksql.example:2", "") and not gate._is_own("other.example", "")
