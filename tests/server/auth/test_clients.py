"""ksqlpy's own client and commands against a server that asks for a login, by TLS."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.__main__ import main
from ksqlpy.client import Client, Connection
from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem, EnvironmentProblem, KsqlError
from ksqlpy.server.auth.tokens import create_token
from ksqlpy.server.certificates import Certificates
from ksqlpy.server.listeners import Listeners, listen
from ksqlpy.server.run import ServerThread
from tests.server.auth.authority import Authority
from tests.support.fake_engine import FakeEngine

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.touch()
    return file


@pytest.fixture
def url(engine: FakeEngine, authority: Authority, users: Path, tokens: Path) -> Iterator[str]:
    certificate, key = authority.certify("server")
    engine.config = Config.of(
        {
            "listeners": "https://127.0.0.1:0",
            "ksqlpy.tls.certificate": str(certificate),
            "ksqlpy.tls.key": str(key),
            "ksqlpy.tls.client.ca": str(authority.file),
            "ksqlpy.auth.users.file": str(users),
            "ksqlpy.auth.tokens.file": str(tokens),
        }
    )
    with ServerThread(engine, listeners=Listeners.of(engine.config)) as server:
        yield server.url


@pytest.fixture
def own(authority: Authority) -> Path:
    """A client's certificate and its key in one file."""
    certificate, key = authority.certify("client", client=True)
    both = certificate.with_name("both.pem")
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    return both


@pytest.fixture
def run(url: str, authority: Authority, own: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Run:
    """Runs ksqlpy with the server's name and certificates."""
    for name in ("USER", "PASSWORD", "TOKEN"):
        monkeypatch.delenv(f"KSQLPY_{name}", raising=False)
    monkeypatch.setenv("KSQLPY_CACERT", str(authority.file))

    def ran(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["--server", url, "--cert", str(own), *map(str, arguments)])
        return (code, *capsys.readouterr())

    return ran


ASK = ("-e", "SHOW STREAMS; SELECT * FROM rows EMIT CHANGES LIMIT 2;")


def test_a_name_with_a_password_of_a_file_or_of_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = tmp_path / "word"
    word.write_text("correct horse\n")
    code, out, err = run("-u", "alice", "--password-file", word, *ASK)
    assert (code, err) == (0, "") and "row 1" in out
    monkeypatch.setenv("KSQLPY_USER", "alice")
    monkeypatch.setenv("KSQLPY_PASSWORD", "correct horse")
    assert run(*ASK)[0] == 0
    monkeypatch.setenv("KSQLPY_PASSWORD", "wrong horse")
    code, out, err = run(*ASK)
    assert code == 1 and "error[no-access]: the server does not let you in" in err and "wrong horse" not in out + err


def test_a_token_of_a_file_or_of_the_environment(
    run: Run, tokens: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = create_token(tokens, "ci", frozenset(), 0)
    file = tmp_path / "token"
    file.write_text(f"{token}\n")
    assert run("--token-file", file, *ASK)[0] == 0
    monkeypatch.setenv("KSQLPY_TOKEN", token)
    assert run(*ASK)[0] == 0
    monkeypatch.setenv("KSQLPY_PASSWORD", "wrong horse")
    assert run("-u", "alice", *ASK)[0] == 1  # an option wins over the environment
    code, _, err = run("-u", "alice", "--token-file", file, *ASK)
    assert code == 1 and "error[two-logins]" in err and token not in err


def test_nobody_says_who_he_is(run: Run) -> None:
    code, _, err = run(*ASK)
    assert code == 1 and "error[no-access]: the server wants to know who you are" in err and "--token-file" in err


@pytest.mark.parametrize("command", [["plan"], ["apply", "--yes"], ["shell"], ["run"]])
def test_every_command_that_talks_to_a_server_logs_in(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("KSQLPY_USER", "alice")
    monkeypatch.setenv("KSQLPY_PASSWORD", "wrong horse")
    monkeypatch.setattr("sys.stdin", __import__("io").StringIO("SHOW STREAMS;"))
    file = tmp_path / "definitions.sql"
    file.write_text("CREATE STREAM a (b INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON', PARTITIONS=1);\n")
    code, _, err = run(*command, *([] if command == ["shell"] else [file]))
    assert code == 1 and "no-access" in err


def test_a_client_without_a_certificate(url: str, authority: Authority, own: Path) -> None:
    login = {"user": "alice", "password": "correct horse", "cafile": authority.file}
    with Client(Connection(url, **login, certificate=own)) as client:
        assert client.info()
    with contextlib.closing(Client(Connection(url, **login))) as client, pytest.raises(EnvironmentProblem):
        client.info()
    with Client(Connection(url, "alice", "correct horse", insecure=True, certificate=own)) as client:
        assert client.info()


def test_certificates_that_are_none(url: str, authority: Authority, tmp_path: Path) -> None:
    certificate, _ = authority.certify("client", client=True)
    for wrong in (certificate, authority.file, tmp_path / "none"):
        with pytest.raises(ConfigProblem) as e:
            Client(Connection(url, cafile=authority.file, certificate=wrong))
        assert e.value.code == "bad-cert"


@pytest.mark.parametrize(
    ("times", "said", "means"),
    [
        ({"ends": -timedelta(minutes=2)}, "certificate has expired", "clocks of both machines"),
        ({"begins": timedelta(minutes=2)}, "certificate is not yet valid", "clocks of both machines"),
        (None, "self-signed certificate in certificate chain|unable to get local issuer", "--cacert FILE"),
    ],
)
def test_a_server_whose_certificate_is_not_trusted(
    authority: Authority, tmp_path: Path, times: dict[str, timedelta] | None, said: str, means: str
) -> None:
    by = authority if times is not None else Authority(tmp_path, "foreign")
    certificate, key = by.certify("wrong", **(times or {}))
    listener = listen("127.0.0.1", 0)
    with ServerThread(FakeEngine(), listeners=Listeners([(listener, True)], Certificates(certificate, key))) as server:
        with Client(Connection(server.url, cafile=authority.file)) as client, pytest.raises(EnvironmentProblem) as e:
            client.info()
        assert e.value.code == "bad-certificate" and re.search(said, e.value.message) and means in e.value.summary()
        with Client(Connection(server.url, insecure=True)) as client:
            assert client.info()


def test_who_logs_in_too_often_is_told_so(url: str, authority: Authority, own: Path) -> None:
    with Client(Connection(url, "bob", "x" * 8, authority.file, certificate=own)) as client:
        for _ in range(12):
            with pytest.raises(KsqlError) as e:
                client.info()
        assert e.value.code == "login-limited" and "try again in" in e.value.message


def test_a_token_is_not_shown(url: str) -> None:
    assert "kpy_secret" not in repr(Connection(url, token="kpy_secret"))
