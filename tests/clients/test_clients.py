"""Clients that were written for ksqlDB, as their registries have them, do the task of ``task.json`` on a real server.

They do it without a login, and with one over TLS, whose certificate is of an authority that only the test knows. A
client logs in and trusts by its own means, or by those of its platform where it has none.

Each has a small program in a folder of its name: it makes a stream and a table, asks for rows as they come, inserts
some, ends that query, asks for one result with LIMIT, and for rows by their keys; the latter twice, since the second
time the server knows how. Those that can insert a stream of rows; the one for Go asks for the status of a command. The
packages are fetched once, into ``build/clients``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.embedded.cache import digest, locked
from tests.clients.conftest import Place

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.extended("clients of other languages, fetched and built"),
]

HERE = Path(__file__).parent
FETCHED = HERE.parents[1] / "build" / "clients"
TASK = (HERE / "task.json").read_text(encoding="utf-8")
_UNREACHED = (
    "Could not find a version", "Failed to establish a new connection", "Max retries exceeded", "Read timed out",
    "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN",
    "dial tcp", "no such host", "i/o timeout", "TLS handshake timeout", "module lookup disabled",
    "Could not resolve host", "Couldn't resolve host", "failed to query replaced source",
)  # fmt: skip


def fetched(registry: str, inputs: Sequence[Path], command: Callable[[Path], Sequence[str | Path]]) -> Path:
    """A folder with what the command, which gets that folder, makes of the inputs: copied, if they are not here yet."""
    tool, *rest = command(FETCHED)
    program = shutil.which(tool)
    if program is None:
        pytest.skip(f"{tool} is not here, which fetches clients from {registry}")
    FETCHED.mkdir(parents=True, exist_ok=True)
    found = FETCHED / f"{inputs[0].parent.name}-{digest(program, *(i.read_bytes() for i in inputs))}"
    with locked(FETCHED / f"{inputs[0].parent.name}.lock"):
        if found.exists():
            return found
        made = Path(tempfile.mkdtemp(dir=FETCHED))
        try:
            for file in inputs:
                shutil.copy(file, made)
            rest = [str(part) for part in command(made)[1:]]
            done = subprocess.run([program, *rest], cwd=made, capture_output=True, text=True, timeout=580)
            if done.returncode and any(reason in done.stderr for reason in _UNREACHED):
                pytest.skip(f"{registry} does not give its clients")
            assert done.returncode == 0, done.stderr[-3000:]
            made.rename(found)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return found


Started = tuple[list[str | Path], dict[str, str]]
"""A command and its environment."""


def of_pypi(name: str, place: Place) -> Started:
    def pip(folder: Path) -> list[str | Path]:
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
        return [sys.executable, "-m", "pip", "install", *options, "--target", folder, "-r", "requirements.txt"]

    folder = fetched("PyPI", [HERE / name / "requirements.txt"], pip)
    trusts = dict.fromkeys(("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), str(place.ca)) if place.ca else {}
    return [sys.executable, HERE / name / "program.py"], {"PYTHONPATH": str(folder), **trusts}


def of_npm(name: str, place: Place) -> Started:
    if shutil.which("node") is None:
        pytest.skip("node is not here, which runs the clients of npm")
    inputs = [HERE / "npm" / "package.json", HERE / "npm" / "package-lock.json"]
    options = ["--ignore-scripts", "--no-audit", "--no-fund"]
    folder = fetched("npm", inputs, lambda _: ["npm", "ci", *options])
    more: list[str | Path] = []
    environment = {"NODE_PATH": str(folder / "node_modules")}
    if place.ca is not None and name in HELPED:
        more = ["--require", HERE / "npm" / "secure.js"]
        login = f"{place.user}:{place.password}"
        environment |= {"NODE_EXTRA_CA_CERTS": str(place.ca), "KSQLDB_LOGIN": login}
    return ["node", *more, HERE / name / "program.js"], environment


HELPED = ("ksqldb-client", "ksqldb-rx-client")
"""Of npm: the login of the first one sends a password with a blank behind it, if at all; the second one has no TLS."""


def of_go(name: str, place: Place) -> Started:
    inputs = [HERE / name / file for file in ("main.go", "go.mod", "go.sum")]
    program = fetched("Go's proxy", inputs, lambda _: ["go", "build", "-o", "program", "."]) / "program"
    return [program], {"SSL_CERT_FILE": str(place.ca)} if place.ca else {}


def of_cargo(name: str, place: Place) -> Started:
    inputs = [HERE / name / file for file in ("main.rs", "Cargo.toml", "Cargo.lock")]
    folder = fetched("crates.io", inputs, lambda _: ["cargo", "build", "--quiet", "--locked"])
    return [folder / "target" / "debug" / "program"], {}


CLIENTS = {
    "ksqldb": of_pypi,
    "ksqldb-client": of_npm,
    "ksqldb-js": of_npm,
    "ksqldb-rx-client": of_npm,
    "ksqldb-go": of_go,
    "ksqldb-rust": of_cargo,
}


INSERTS = {"ksqldb": (0, 1, 2), "ksqldb-client": (0, 0, 0), "ksqldb-js": (0, 1, 2)}
"""Clients that insert streams of rows, with the numbers of the rows: one of them sends each in a request of its own."""


def test_nobody_comes_in_without_the_login(place: Place) -> None:
    with httpx.Client(timeout=60, trust_env=False, verify=place.trust) as http:
        for login in (None, (place.user, f"{place.password} ")):
            answer = http.post(f"{place.url}/ksql", json={"ksql": "SHOW STREAMS;"}, auth=login)
            assert answer.status_code == (200 if place.ca is None else 401)


def asked(question: dict[str, Any]) -> dict[str, Any]:
    """A question without its answer, but with the number of its rows."""
    return {"sql": question["sql"], "count": len(question.get("rows", ()))}


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_works_unchanged(place: Place, name: str) -> None:
    command, environment = CLIENTS[name](name, place)
    ending = f"_{name.replace('-', '_')}_{place.kind}"
    task = json.loads(TASK.replace("{n}", ending))
    given = {
        "url": place.url,
        **({"ca": str(place.ca), "user": place.user, "password": place.password} if place.ca else {}),
        "statements": task["statements"],
        "inserts": task["inserts"],
        "pulls": [asked(question) for question in task["pulls"]],
        **{kind: asked(task[kind]) for kind in ("live", "limited", "refused")},
        "stream": {key: task["stream"][key] for key in ("target", "rows", "bad")},
        "status": f"stream/`RIDES{ending.upper()}`/create",
    }
    direct = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        command,
        input=json.dumps(given),
        env={**os.environ, **direct, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    answers = json.loads(done.stdout)
    assert f"RIDES{ending.upper()}" in answers["streams"]
    assert answers["live"] == task["live"]["rows"]
    assert answers["limited"] == task["limited"]["rows"]
    for twice, question in zip(answers["pulls"], task["pulls"], strict=True):
        assert [in_order(rows) for rows in twice] == [in_order(question["rows"])] * 2, question["sql"]
    assert answers["refused"] == task["refused"]["message"]
    if name in INSERTS:
        assert answers["inserted"] == [{"status": "ok", "seq": n} for n in INSERTS[name]]
        assert (answers["bad"]["status"], answers["bad"]["error_code"]) == ("error", 40000)
        assert "'three' is no number" in answers["bad"]["message"]
        form = {"Accept": "application/json"}
        sql = task["stream"]["sql"]
        login = (place.user, place.password) if place.ca else None
        with httpx.Client(headers=form, timeout=60, trust_env=False, verify=place.trust, auth=login) as http:
            header, *rows = http.post(f"{place.url}/query-stream", json={"sql": sql}).json()
        assert [dict(zip(header["columnNames"], row, strict=True)) for row in rows] == task["stream"]["found"]
    if name == "ksqldb-go":
        assert answers["status"] == "SUCCESS"
        assert answers["stores"] == [f"CTAS_TOTALS{ending.upper()}"]
