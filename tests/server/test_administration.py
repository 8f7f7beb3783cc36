"""GET /logins and GET /audit: what administrators are told, and nobody else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.audit.last import LOOKED, last_entries
from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem
from ksqlpy.server.auth.tokens import create_token
from ksqlpy.server.auth.users import add_user
from ksqlpy.server.run import ServerThread
from tests.access.engine import AccessEngine
from tests.support.waiting import until

ADMIN, READER = ("root", "correct horse"), ("ann", "battery staple")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("administration")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ServerThread]:
    add_user(folder / "users", *ADMIN, frozenset({"admin"}))
    add_user(folder / "users", *READER, frozenset({"reader", "payments"}))
    create_token(folder / "tokens", "loader", frozenset({"writer"}), 0)
    engine: Any = AccessEngine()
    engine.brokers.config = Config.of(
        {
            "ksqlpy.port": "0",
            "ksqlpy.auth.users.file": str(folder / "users"),
            "ksqlpy.auth.tokens.file": str(folder / "tokens"),
            "ksqlpy.audit.file": str(folder / "audit.log"),
        }
    )
    with ServerThread(engine) as running:
        yield running


def get(server: ServerThread, path: str, auth: tuple[str, str] = ADMIN) -> httpx.Response:
    return httpx.get(server.url + path, auth=auth, trust_env=False, timeout=30)


def test_users_and_tokens_are_told_without_their_secrets(server: ServerThread, folder: Path) -> None:
    answer = get(server, "/logins")
    [token] = answer.json()["tokens"]
    assert answer.json()["users"] == [
        {"name": "root", "roles": ["admin"]},
        {"name": "ann", "roles": ["payments", "reader"]},
    ]
    assert {k: token[k] for k in ("name", "roles", "expires", "lastUsed")} == {
        "name": "loader",
        "roles": ["writer"],
        "expires": None,
        "lastUsed": None,
    }
    assert token["made"] > 1_700_000_000_000  # ms
    secrets = [line.split(":")[1] for file in ("users", "tokens") for line in (folder / file).read_text().splitlines()]
    assert len(secrets) == 3 and not [s for s in secrets if s in answer.text]


def test_a_file_that_is_damaged_is_said(server: ServerThread, folder: Path) -> None:
    tokens = folder / "tokens"
    before = tokens.read_text()
    tokens.write_text("no token\n")
    try:
        answer = get(server, "/logins")
        assert (answer.status_code, answer.json()["ksqlpy"]["code"]) == (400, "login-file")
    finally:
        tokens.write_text(before)


def test_the_last_decisions_are_told_newest_first(server: ServerThread) -> None:
    assert get(server, "/whoami", ("eve", "is nobody")).status_code == 401
    assert get(server, "/metrics", READER).status_code == 403

    def told() -> list[tuple[str, str, str | None]] | None:
        entries = get(server, "/audit?limit=2").json()["entries"]
        found = [(e["kind"], e["decision"], e.get("user") or e["principal"]) for e in entries]
        return found if found == [("REQUEST", "refused", "ann"), ("LOGIN", "refused", "eve")] else None

    assert until(told)
    assert get(server, "/audit").json()["place"] == "file"


@pytest.mark.parametrize("path", ["/logins", "/audit"])
def test_others_are_refused(server: ServerThread, path: str) -> None:
    answer = get(server, path, READER)
    assert (answer.status_code, answer.json()["ksqlpy"]["code"]) == (403, "missing-right")
    assert answer.json().keys() & {"users", "tokens", "entries"} == set()


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", ""])
def test_a_limit_is_a_number_of_lines(server: ServerThread, limit: str) -> None:
    answer = get(server, f"/audit?limit={limit}")
    assert (answer.status_code, answer.json()["ksqlpy"]["code"]) == (400, "bad-request")


def line(second: int, kind: str = "SHOW") -> str:
    return json.dumps({"time": f"2026-11-30T05:23:{second:02}.000Z", "kind": kind}) + "\n"


def config(folder: Path) -> Config:
    return Config.of({"ksqlpy.audit.file": str(folder / "audit.log")})


def test_lines_of_all_processes_are_in_order(tmp_path: Path) -> None:
    (tmp_path / "audit.log").write_text(line(1) + line(4))
    (tmp_path / "audit.log.reader-1").write_text(line(3, "PULL QUERY"))
    (tmp_path / "audit.log.reader-1.1").write_text(line(2, "PULL QUERY"))
    (tmp_path / "audit.log.reader-1.2").write_text(line(0))
    (tmp_path / "other.log").write_text(line(9))
    place, entries = last_entries(config(tmp_path), 3)
    assert place == "file"
    assert [(e["time"][17:19], e["kind"]) for e in entries] == [
        ("04", "SHOW"),
        ("03", "PULL QUERY"),
        ("02", "PULL QUERY"),
    ]


def test_parts_of_lines_are_left_out(tmp_path: Path) -> None:
    long = line(1, "x" * LOOKED)
    (tmp_path / "audit.log").write_text(long + "no JSON\n[]\n" + line(2) + line(3)[:20])
    assert [e["time"][17:19] for e in last_entries(config(tmp_path), 10)[1]] == ["02"]


def test_no_audit_log_is_said(tmp_path: Path) -> None:
    assert last_entries(Config.of({}), 10) == (None, [])
    with pytest.raises(ConfigProblem, match="cannot be read"):
        last_entries(config(tmp_path / "nowhere"), 10)
