"""API tokens: made and revoked by the command, taken by the server from the header only."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.__main__ import main
from ksqlpy.access import Principal
from ksqlpy.server.auth.attempts import Attempts
from ksqlpy.server.auth.tokens import Tokens, create_token, last_uses, revoke_token, tokens_of
from tests.server.auth.conftest import SHOW, Serve
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "tokens"
    found.touch()
    return found


@pytest.fixture
def web(serve: Serve, file: Path, users: Path) -> Iterator[httpx.Client]:
    server = serve({"ksqlpy.auth.users.file": str(users), "ksqlpy.auth.tokens.file": str(file)})
    with httpx.Client(base_url=server.url, timeout=30, trust_env=False) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def made(file: Path, capsys: Any, *more: str) -> str:
    """A token of the command."""
    assert main(["tokens", "create", "ci", "--tokens-file", str(file), *more]) == 0
    shown = capsys.readouterr()
    assert "is not shown again" in shown.err
    token: str = shown.out.rstrip("\n")
    return token


def test_made_used_listed_and_revoked(web: httpx.Client, file: Path, capsys: Any) -> None:
    token = made(file, capsys, "--roles", "writer,reader", "--expires", "12h")
    assert token.startswith("kpy_") and len(token) == 47 and token not in file.read_text()
    assert web.post("/ksql", json=SHOW, headers=bearer(token)).status_code == 200
    [kept] = tokens_of(file)
    assert (kept.name, kept.roles, kept.expires - kept.made) == ("ci", {"writer", "reader"}, 12 * 3600)
    assert until(lambda: kept.id in last_uses(file))
    assert main(["tokens", "list", "--output", "json", "--tokens-file", str(file)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["id"], shown["roles"], shown["name"]) == (kept.id, ["reader", "writer"], "ci")
    assert abs(last_uses(file)[kept.id] - time.time()) < 300 and shown["last_use"].endswith("Z")
    assert main(["tokens", "revoke", kept.id, "--tokens-file", str(file)]) == 0
    assert capsys.readouterr().out == f"token {kept.id} of ci is revoked\n"
    refused = web.post("/ksql", json=SHOW, headers=bearer(token))
    assert (refused.status_code, refused.json()["error_code"]) == (401, 40100)
    assert [c.split()[0] for c in refused.headers.get_list("www-authenticate")] == ["Basic", "Bearer"]


def test_a_token_that_never_expires(web: httpx.Client, file: Path, capsys: Any) -> None:
    token = made(file, capsys, "--expires", "never")
    assert tokens_of(file)[0].expires == 0
    assert web.get("/info", headers=bearer(token)).status_code == 200


def test_expired(web: httpx.Client, file: Path, caplog: pytest.LogCaptureFixture) -> None:
    token = create_token(file, "ci", frozenset(), int(time.time()) - 1)
    answer = web.get("/info", headers=bearer(token))
    assert (answer.status_code, answer.json()["ksqlpy"]["message"]) == (401, "the token has expired")
    assert token not in caplog.text and tokens_of(file)[0].id in caplog.text


@pytest.mark.parametrize(
    "token", ["kpy_", "kpy_" + "x" * 43, "kpy_" + "x" * 10_000, "kpy_ä", "x", "kpy_x y", "KPY_" + "x" * 43]
)
def test_tokens_that_are_none(web: httpx.Client, token: str) -> None:
    answer = web.get("/info", headers={"Authorization": f"Bearer {token}".encode("latin-1")})
    assert answer.status_code == 401


def test_both_kinds_of_login_side_by_side(web: httpx.Client, file: Path) -> None:
    token = create_token(file, "ci", frozenset(), 0)
    assert web.get("/info", auth=("alice", "correct horse")).status_code == 200
    assert web.get("/info", headers=bearer(token)).status_code == 200
    assert web.get("/info", auth=("ci", token)).status_code == 401  # a token is no password


@pytest.mark.parametrize(
    "path",
    [
        "/info?access_token={}",
        "/info?token={}",
        "/info?x=1&Access_Token=abc",
        "/info?authorization=Bearer%20{}",
        "/info?x={}",
        "/info?x=%6bpy_%61{}",
        "/{}",
        "/ksql/{}/x",
        "/info?api_key=1",
        "/info?password=secret",
    ],
)
def test_tokens_in_urls_are_refused(web: httpx.Client, file: Path, engine: FakeEngine, path: str) -> None:
    token = create_token(file, "ci", frozenset(), 0)
    for headers in ({}, bearer(token)):
        answer = web.get(path.format(token), headers=headers)
        assert (answer.status_code, answer.json()["error_code"]) == (400, 40000)
        assert answer.json()["ksqlpy"]["code"] == "token-in-url" and token not in answer.text
    assert web.get("/info?tokens=1&x=kpy_", headers=bearer(token)).status_code == 200


def test_a_push_query_ends_when_its_token_is_revoked(web: httpx.Client, file: Path, engine: FakeEngine) -> None:
    token = create_token(file, "ci", frozenset(), 0)
    asked = {"ksql": "SELECT * FROM live EMIT CHANGES;"}
    with web.stream("POST", "/query", json=asked, headers=bearer(token)) as answer:
        chunks = answer.iter_text()
        assert "header" in next(chunks)
        [push] = engine.pushes.values()
        revoke_token(file, tokens_of(file)[0].id)
        assert any('"error_code":40100' in chunk for chunk in chunks)
    assert push.closed.wait(10)


def test_last_uses_are_noted_now_and_then(file: Path) -> None:
    now = [1_000_000.0]
    tokens = Tokens(file, Attempts(), lambda: now[0])
    texts = [create_token(file, name, frozenset(), 0) for name in ("a", "b")]
    ids = [t.id for t in tokens_of(file)]

    def use(which: int) -> Principal:
        return asyncio.run(tokens.enter(texts[which], "192.0.2.1")).principal

    assert use(0) == Principal("a", frozenset(), "token") and tokens.unnoted
    tokens.note()
    assert last_uses(file) == {ids[0]: 1_000_000}
    now[0] += 30
    use(1)
    assert not tokens.unnoted
    now[0] += 30
    assert tokens.unnoted
    # Another process has noted a later use of the first one, and the second is revoked.
    other = Tokens(file, Attempts(), lambda: now[0] + 5)
    asyncio.run(other.enter(texts[0], "192.0.2.1"))
    other.note()
    tokens.note()
    assert last_uses(file) == {ids[0]: 1_000_065, ids[1]: 1_000_030}
    revoke_token(file, ids[1])
    now[0] += 60
    use(0)
    tokens.note()
    assert last_uses(file) == {ids[0]: 1_000_120}


def test_a_folder_that_cannot_be_written_hinders_nobody(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(file, Attempts())
    token = create_token(file, "ci", frozenset(), 0)
    used = file.with_name("tokens.used")
    used.mkdir()  # as a file system that is full or read-only: root may write everywhere
    for _ in range(2):
        assert asyncio.run(tokens.enter(token, "192.0.2.1")).principal.name == "ci"
        tokens.note() if tokens.unnoted else None
    assert caplog.text.count("last uses of tokens are not noted") == 1


def test_wrong_tokens_are_counted(web: httpx.Client) -> None:
    answers = [web.get("/info", headers=bearer("kpy_" + "x" * 43)) for _ in range(40)]
    assert {a.status_code for a in answers} == {401, 429}
    assert int(answers[-1].headers["retry-after"]) >= 1
