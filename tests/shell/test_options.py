"""The options of the command line and what comes on standard input."""

from __future__ import annotations

import base64
import http.server
import io
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.__main__ import main
from ksqlpy.client import Client, Connection
from ksqlpy.errors import ConfigProblem, EnvironmentProblem
from tests.support.fake_engine import FakeEngine

Run = Callable[..., Any]
PEM = Path(__file__).with_name("loopback.pem")
"""A certificate for the loopback address, with its key, for tests only."""


def test_csv(ksqlpy: Run) -> None:
    done = ksqlpy("--output", "CSV", "-e", "SHOW STREAMS; SELECT * FROM rows EMIT CHANGES LIMIT 2;")
    assert done.out.splitlines() == [
        "Name,Topic,Key format,Value format,Windowed",
        "S,t,KAFKA,JSON,false",
        "ID,name",
        "0,row 0",
        "1,row 1",
    ]


def test_names_of_ksqldbs_client(ksqlpy: Run) -> None:
    assert ksqlpy("--output", "TABULAR", "-e", "SHOW STREAMS").out.startswith("Name ")
    assert ksqlpy("--output", "JSON", "-e", "SHOW STREAMS").out.startswith('{"@type": "streams"')


def test_url_alone(url: str, engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-e", "ECHO;", url]) == 0
    assert engine.calls == [("ECHO;", {})]


def test_file_with_variables_and_properties(ksqlpy: Run, engine: FakeEngine, tmp_path: Path) -> None:
    file, config = tmp_path / "some.sql", tmp_path / "some.properties"
    file.write_text("ECHO;\nUNDEFINE a;\nECHO;")
    config.write_text("# comment\nauto.offset.reset = earliest\ncommit.interval.ms=3000\n")
    given = ["-d", "a=1", "--define", "B=x=y", "--config-file", str(config), "-D", "commit.interval.ms=2000"]
    assert ksqlpy(*given, "-f", str(file)).code == 0
    assert engine.variables == [{"A": "1", "B": "x=y"}, {"A": "1", "B": "x=y"}, {"B": "x=y"}]
    assert engine.calls[0][1] == {"auto.offset.reset": "earliest", "commit.interval.ms": "2000"}
    assert ksqlpy("-e", "ECHO", "-f", str(file)).code == 2
    assert ksqlpy("-f", str(file), "jars").code == 2
    assert "error[config-unreadable]" in ksqlpy("--config-file", "nowhere", "-e", "ECHO").err


def test_row_limit_and_timeout(ksqlpy: Run, engine: FakeEngine) -> None:
    done = ksqlpy("--query-row-limit", "2", "-e", "SELECT * FROM rows EMIT CHANGES LIMIT 1000000; SHOW STREAMS;")
    assert [line.split()[0] for line in done.out.splitlines()[2:4]] == ["0", "1"] and "S     t" in done.out
    done = ksqlpy("--query-timeout", "100", "-e", "SELECT * FROM live EMIT CHANGES; SHOW STREAMS;")
    assert done.code == 0 and "S     t" in done.out
    assert ksqlpy("--query-row-limit", "0", "-e", "ECHO").code == 2


def feed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_statements_from_a_pipe(ksqlpy: Run, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, "output json\nSHOW -- ;\n  STREAMS;\n\noutput tabular\nCREATE STREAM ';';\nexit\nBAD thing;")
    done = ksqlpy("shell")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "output is JSON",
        done.out.splitlines()[1],
        "output is TABULAR",
        "Stream created",
    ]
    assert [c for c, _ in engine.calls] == ["SHOW -- ;\n  STREAMS;", "CREATE STREAM ';';"]


def test_interrupt_ends_a_pipe(url: str, engine: FakeEngine) -> None:
    command = [sys.executable, "-m", "ksqlpy", "shell", url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as p:
        assert p.stdin is not None and p.stdout is not None
        p.stdin.write("SELECT * FROM live EMIT CHANGES;\nSHOW STREAMS;\n")
        p.stdin.close()
        assert p.stdout.readline() and p.stdout.readline()
        p.send_signal(signal.SIGINT)
        assert p.wait(30) == 130
        assert "Windowed" not in p.stdout.read() and not engine.pushes


def test_first_failure_of_a_pipe_is_the_last(ksqlpy: Run, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, "ECHO;\nBAD thing;\nECHO;")
    done = ksqlpy()
    assert done.code == 1 and "error[bad-thing]" in done.err
    assert [c for c, _ in engine.calls] == ["ECHO;", "BAD thing;"]
    feed(monkeypatch, "SHOW STREAMS")  # without its end: the server refuses it
    ksqlpy()
    assert engine.calls[-1][0] == "SHOW STREAMS"


def test_commands_from_a_pipe(ksqlpy: Run, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "a b.sql"
    script.write_text("CREATE STREAM s;")
    feed(
        monkeypatch,
        f"""version
server
set cli wrap off
set cli COLUMN-WIDTH 7
request-pipelining
\\timing off
\\x on
SELECT * FROM rows EMIT CHANGES LIMIT 1;
\\x
run script '{script}'
\\i {script}
history
clear
output nonsense
""",
    )
    done = ksqlpy("shell")
    assert (done.code, done.err.splitlines()[0]) == (
        1,
        "error[bad-command]: output takes TABULAR or TABLE or JSON or CSV, not nonsense",
    )
    text = done.out.splitlines()
    assert text[0].startswith("ksqlpy ") and "Service       : default_" in text
    assert "WRAP is off" in text and "COLUMN-WIDTH is 7" in text and "request-pipelining is off" in text
    assert "ID   | 0" in text and "name | row 0" in text and "rows stand upright where they do not fit" in text
    assert [c for c, _ in engine.calls][-2:] == ["CREATE STREAM s;"] * 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\\nothing", "there is no command"),
        ("set cli wrap maybe", "takes ON or OFF"),
        ("set cli column-width wide", "is no whole number"),
        ("spool", "spool takes the name of a file"),
        ("spool /no/such/folder/file", "cannot be written"),
        ("\\i nowhere.sql", "cannot be read"),
        ("\\watch", "there is no statement yet"),
        ("\\f nothing", "there is no favourite"),
        ("\\fs name", "needs a name and a statement"),
        ("server nowhere", "is no URL"),
        ("help nothing", "there is no help about"),
    ],
)
def test_wrong_commands(ksqlpy: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, message: str) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    feed(monkeypatch, line)
    done = ksqlpy("shell")
    assert done.code == 1 and message in done.err and "Traceback" not in done.err


def test_shell_imports_nothing_heavy(url: str) -> None:
    code = f"""import sys
from ksqlpy.__main__ import main
assert main(["shell", {url!r}]) == 0
heavy = {{"pyspark", "fastapi", "hypercorn", "pydantic", "confluent_kafka", "ksqlpy.runtime"}} & set(sys.modules)
assert not heavy, heavy"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, input="help\nSHOW STREAMS;\n")
    assert (done.returncode, done.stderr) == (0, "") and "Windowed" in done.stdout


# ------------------------------------------------------------ logins and certificates


class Guarded(http.server.BaseHTTPRequestHandler):
    """Answers /info to who says that he is me with the password word."""

    def do_GET(self) -> None:
        known = self.headers.get("authorization") == "Basic " + base64.b64encode(b"me:word").decode()
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(b'{"KsqlServerInfo": {"version": "7"}}' if known else b"go away")

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(params=["http", "https"])
def guarded(request: pytest.FixtureRequest) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    if request.param == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(PEM)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"{request.param}://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_login(guarded: str) -> None:
    for connection in (
        Connection(guarded, "me", "word", PEM),
        Connection(guarded.replace("://", "://me:word@"), cafile=PEM),
        Connection(guarded, "me", "word", insecure=True),
    ):
        with Client(connection) as client:
            assert client.info() == {"version": "7"}
            assert "word" not in client.url and "'word'" not in repr(Connection(guarded, "me", "word"))
    for user, message in ((None, "wants to know who you are"), ("me", "does not let you in")):
        with Client(Connection(guarded, user, "wrong", PEM)) as client, pytest.raises(EnvironmentProblem) as e:
            client.info()
        assert message in e.value.message and e.value.code == "no-access"


def test_password_of_the_environment(guarded: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("KSQLPY_PASSWORD", "word")
    feed(monkeypatch, "version")
    assert main(["shell", guarded, "-u", "me", "--cacert", str(PEM)]) == 0
    feed(monkeypatch, "version")
    assert main(["-u", "me", "-p", "wrong", "--insecure", "shell", guarded]) == 1
    shown = capsys.readouterr()
    assert "ksqlDB 7" in shown.out and "error[no-access]" in shown.err and "wrong" not in shown.err


def test_certificate_that_nobody_trusts(guarded: str) -> None:
    if guarded.startswith("https"):
        with Client(Connection(guarded)) as client, pytest.raises(EnvironmentProblem) as e:
            client.info()
        assert e.value.code == "bad-certificate"
        with pytest.raises(ConfigProblem) as p:
            Client(Connection(guarded, cafile=Path(os.devnull)))
        assert p.value.code == "bad-cacert"
    else:
        assert Connection(guarded).trust() is False


def test_locale_without_the_characters(url: str) -> None:
    command = [sys.executable, "-m", "ksqlpy", "--server", url, "-e", "BAD thing; -- é"]
    variables = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*command[:-1], "é"], capture_output=True, text=True, timeout=60, env=variables)
    assert done.returncode == 1 and "unexpected character \\xe9" in done.stderr and "Traceback" not in done.stderr
