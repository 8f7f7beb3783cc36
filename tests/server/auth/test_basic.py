"""Login by name and password: who is let in, who is refused, and how often anybody may try."""

from __future__ import annotations

import asyncio
import base64
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from ksqlpy.access import EXEMPT, OPEN, Principal
from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem
from ksqlpy.server.auth import Auth, principal_of
from ksqlpy.server.auth.attempts import Attempts, place_of
from ksqlpy.server.auth.basic import WAITING, Basic
from ksqlpy.server.auth.login import Login
from ksqlpy.server.auth.session import Limited, Session
from ksqlpy.server.auth.users import NOBODY, add_user, hashed, remove_user, users_of
from ksqlpy.server.run import ServerThread
from tests.server.auth.conftest import SHOW, Serve
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

ALICE = ("alice", "correct horse")
PATHS = [
    "/ksql",
    "/query",
    "/query-stream",
    "/close-query",
    "/info",
    "/healthcheck",
    "/",
    "/is_valid_property/x",
    "/no",
]


def basic(name: str, password: str) -> str:
    return base64.b64encode(f"{name}:{password}".encode()).decode()


def test_who_is_known_is_let_in(web: httpx.Client, engine: FakeEngine) -> None:
    answer = web.post("/ksql", json=SHOW, auth=ALICE)
    assert (answer.status_code, answer.json()[0]["@type"]) == (200, "streams")
    assert len(engine.calls) == 1


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nobody_else_gets_anything(web: httpx.Client, engine: FakeEngine, method: str, path: str) -> None:
    nobody = web.request(method, path)
    wrong = web.request(method, path, headers={"Authorization": "Bearer kpy_" + "x" * 43})
    for answer in (nobody, wrong):
        assert (answer.status_code, answer.json()["error_code"]) == (401, 40100)
        assert answer.headers["www-authenticate"] == 'Basic realm="ksqlpy", charset="UTF-8"'
    assert engine.calls == []


def test_http2_and_a_connection_that_goes_on(guarded: ServerThread) -> None:
    with httpx.Client(base_url=guarded.url, http1=False, http2=True, trust_env=False, timeout=30) as client:
        assert client.post("/ksql", json=SHOW).status_code == 401
        assert client.post("/ksql", json=SHOW, auth=ALICE).status_code == 200


def test_wrong_user_and_wrong_password_are_the_same(serve: Serve, users: Path, checked: list[str]) -> None:
    server = serve({"ksqlpy.auth.users.file": str(users)})
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as client:
        answers = [client.get("/info", auth=login) for login in (("alice", "wrong horse"), ("bob", "correct horse"))]
    assert {(a.status_code, a.content, a.headers["www-authenticate"]) for a in answers} == {
        (401, answers[0].content, answers[0].headers["www-authenticate"])
    }
    assert b"name or password is wrong" in answers[0].content and b"alice" not in answers[0].content
    # One check each, of hashes that take the same time.
    assert len(checked) == 2 and checked[1] == NOBODY
    assert {h.rpartition("$")[0].rpartition("$")[0] for h in (*checked, hashed("any"))} == {NOBODY[:30]}


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"no colon").decode(),
        "Basic " + base64.b64encode(b"\xff\xfe:x").decode(),
        "Basic " + basic("", ""),
        "Basic " + basic("alice", ""),
        "Basic " + basic("alice", "correct horse") + "=",
        "Digest username=alice",
        "Negotiate abc",
        "",
        "Bearer",
        basic("alice", "correct horse"),
    ],
)
def test_headers_that_are_no_login(web: httpx.Client, header: str) -> None:
    answer = web.get("/info", headers={"Authorization": header})
    assert (answer.status_code, answer.json()["error_code"]) == (401, 40100)


def test_two_headers_are_one_too_many(web: httpx.Client) -> None:
    own = ("Authorization", "Basic " + basic(*ALICE))
    assert web.get("/info", headers=[own]).status_code == 200
    assert web.get("/info", headers=[own, own]).status_code == 401


def test_the_scheme_is_written_in_any_case(web: httpx.Client) -> None:
    assert web.get("/info", headers={"Authorization": "bAsIc  " + basic(*ALICE)}).status_code == 200


def test_a_login_is_checked_once(serve: Serve, users: Path, checked: list[str]) -> None:
    server = serve({"ksqlpy.auth.users.file": str(users)})
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as client:
        assert [client.get("/info", auth=ALICE).status_code for _ in range(5)] == [200] * 5
    assert len(checked) == 1


def test_a_user_who_is_removed_or_changed_is_gone_at_once(web: httpx.Client, users: Path) -> None:
    add_user(users, "bob", "battery staple", frozenset())
    assert [web.get("/info", auth=a).status_code for a in (ALICE, ("bob", "battery staple"))] == [200, 200]
    remove_user(users, "alice")
    assert web.get("/info", auth=ALICE).status_code == 401
    add_user(users, "bob", "another staple", frozenset())
    assert web.get("/info", auth=("bob", "battery staple")).status_code == 401
    assert web.get("/info", auth=("bob", "another staple")).status_code == 200


@pytest.mark.parametrize("text", ["alice", "alice:correct horse:", "::", "a:$argon2id$x:b c", None])
def test_a_file_that_says_nothing_lets_nobody_in(
    web: httpx.Client, users: Path, text: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    assert web.get("/info", auth=ALICE).status_code == 200
    good = users.read_text()
    users.unlink() if text is None else users.write_text(good + text)
    assert web.get("/info", auth=ALICE).status_code == 401
    assert f"nobody is let in by {users} until it is mended" in caplog.text and "correct horse" not in caplog.text
    users.write_text(good)
    assert web.get("/info", auth=ALICE).status_code == 200


def test_a_server_does_not_start_without_its_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblem, match="users cannot be read: no such file") as e:
        Login.of(Config.of({"ksqlpy.auth.users.file": str(tmp_path / "users")}))
    assert e.value.code == "login-file"


def test_paths_for_which_nobody_is_asked(serve: Serve, users: Path) -> None:
    skipped = {"authentication.skip.paths": "/healthcheck, /is_valid_property/*"}
    server = serve({"ksqlpy.auth.users.file": str(users), **skipped})
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as client:
        found = {path: client.get(path).status_code for path in ("/healthcheck", "/healthcheck/", "/info", "/chc/live")}
        assert found == {"/healthcheck": 200, "/healthcheck/": 401, "/info": 401, "/chc/live": 401}
        assert client.get("/is_valid_property/auto.offset.reset").status_code == 200
        assert client.post("/ksql?/healthcheck", json=SHOW).status_code == 401


def test_pages_that_may_use_the_server_can_learn_that_they_must_log_in(serve: Serve, users: Path) -> None:
    page = "https://console.example"
    server = serve({"ksqlpy.auth.users.file": str(users), "access.control.allow.origin": page})
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30, headers={"Origin": page}) as client:
        assert client.options("/ksql", headers=asks).status_code == 200  # browsers send no login with it
        refused = client.post("/ksql", json=SHOW)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, page)
        assert client.post("/ksql", json=SHOW, auth=ALICE).status_code == 200
        assert client.options("/ksql", headers={**asks, "Origin": "https://evil.example"}).status_code == 403
        assert client.options("/ksql").status_code == 401


def test_a_websocket_needs_a_login(guarded: ServerThread) -> None:
    upgrade = (
        b"GET /ws/query HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    )
    for more, status in (
        (b"", b"401"),
        (f"Authorization: Basic {basic('alice', 'wrong horse')}\r\n".encode(), b"401"),
        (f"Authorization: Basic {basic(*ALICE)}\r\n".encode(), b"101"),
    ):
        with socket.create_connection(("127.0.0.1", httpx.URL(guarded.url).port or 0), timeout=30) as connection:
            connection.sendall(upgrade + more + b"\r\n")
            answer = connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 " + status), answer


def test_probes_need_no_login_by_default(web: httpx.Client) -> None:
    assert [web.get(path).status_code for path in ("/live", "/ready", "/chc/live", "/chc/ready")] == [200] * 4
    assert web.get("/metrics").status_code == 401


@pytest.mark.parametrize("value", ["healthcheck", "/a b", "*", "/ä"])
def test_what_is_no_path(value: str) -> None:
    with pytest.raises(ConfigProblem, match=r"authentication\.skip\.paths"):
        Config.of({"authentication.skip.paths": value})


def test_secrets_are_not_in_the_log(web: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    web.get("/info", auth=("alice", "wrong horse"))
    assert re.search(r"login refused: user 'alice' from 127\.0\.0\.1: name or password is wrong", caplog.text)
    assert "wrong horse" not in caplog.text and basic("alice", "wrong horse") not in caplog.text


def test_a_body_is_not_read_for_who_is_not_known(web: httpx.Client, engine: FakeEngine) -> None:
    answer = web.post("/ksql", content=b"[" * 100_000)  # no JSON, and no complaint about it
    assert answer.json()["error_code"] == 40100
    with pytest.raises(httpx.TransportError):  # nobody takes 64 MiB; in whatever way the client learns it
        if web.post("/ksql", content=b"[" * 2**26).status_code == 401:
            raise httpx.WriteError("told in time")
    assert web.post("/ksql", json=SHOW, auth=ALICE).status_code == 200


def test_a_push_query_ends_with_the_user(web: httpx.Client, engine: FakeEngine, users: Path) -> None:
    with web.stream("POST", "/query-stream", json={"sql": "SELECT * FROM live EMIT CHANGES;"}, auth=ALICE) as answer:
        lines = answer.iter_lines()
        assert '"queryId"' in next(lines)
        [push] = engine.pushes.values()
        push.source.put([1, "one"])
        assert next(lines) == '[1,"one"]'
        remove_user(users, "alice")
        [last] = lines
    assert '"error_code":40100' in last and "the login does not hold any more" in last
    assert push.closed.wait(10)


# ------------------------------------------------------------ how often


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_attempts_by_address_and_by_name() -> None:
    clock = Clock()
    attempts = Attempts(clock)
    assert [attempts.begin("192.0.2.1", "alice") for _ in range(12)] == [0] * 10 + [5, 5]
    assert attempts.begin("192.0.2.2", "alice") == 5  # from everywhere
    assert [attempts.begin("192.0.2.1", f"user{n}") for n in range(21)] == [0] * 20 + [1]
    assert attempts.begin("192.0.2.3", "bob") == 0
    clock.now += 5
    assert attempts.begin("192.0.2.3", "alice") == 0
    attempts.succeeded("192.0.2.3", "alice")
    assert [attempts.begin("192.0.2.3", "alice") for _ in range(2)] == [0, 5]


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksqlpy.server.auth.attempts.MOST", 5)
    attempts = Attempts(Clock())
    for n in range(50):
        attempts.begin(f"192.0.2.{n}", "x" * 1000 + str(n))
    assert (len(attempts._addresses._left), len(attempts._names._left)) == (5, 1)


def test_a_network_of_ipv6_is_one_place() -> None:
    same = {place_of("2001:db8::1"), place_of("2001:db8::ffff:2"), place_of("2001:db8::3%eth0")}
    assert len(same) == 1 and place_of("2001:db8:0:1::1") not in same
    assert place_of("::ffff:192.0.2.1") == place_of("192.0.2.1") == "192.0.2.1"


def test_too_many_wrong_logins_are_429(web: httpx.Client, checked: list[str]) -> None:
    assert web.get("/info", auth=ALICE).status_code == 200
    tries = 1
    while (last := web.get("/info", auth=("bob", "x" * 8))).status_code == 401 and tries < 60:
        tries += 1  # on a slow machine some attempts are given back meanwhile
    assert tries > 10 and last.status_code == 429
    assert last.json()["error_code"] == 42900 and 1 <= int(last.headers["retry-after"]) <= 5
    assert web.get("/info", auth=ALICE).status_code == 200  # who is known goes on


def test_a_crowd_of_wrong_logins_waits_in_a_short_row(users: Path) -> None:
    """One check at a time, and no more than some that wait, whoever sends them."""

    going, begun, most = threading.Event(), threading.Semaphore(0), [0, 0]

    def verify(password: str, hash: str) -> bool:
        most[0] += 1
        most[1] = max(most)
        begun.release()
        going.wait(30)
        most[0] -= 1
        return False

    async def crowd() -> list[object]:
        basics = Basic(users, Attempts(), verify)
        tries = [
            asyncio.create_task(basics.enter(basic(f"user{n}", "x"), f"192.0.2.{n}")) for n in range(WAITING + 100)
        ]
        while sum(t.done() for t in tries) < 100:
            await asyncio.sleep(0.01)
        going.set()
        return await asyncio.gather(*tries, return_exceptions=True)

    results = asyncio.run(crowd())
    assert sum(isinstance(r, Limited) for r in results) == 100
    assert most[1] == 1


def test_a_client_with_many_connections_makes_one_attempt(users: Path) -> None:
    going, checks = threading.Event(), list[str]()

    def verify(password: str, hash: str) -> bool:
        checks.append(password)
        going.wait(30)
        return password == "correct horse"

    async def crowd(login: str) -> list[object]:
        basics = Basic(users, Attempts(), verify)
        first = asyncio.create_task(basics.enter(login, "192.0.2.1"))
        others = [asyncio.create_task(basics.enter(login, "192.0.2.1")) for _ in range(100)]
        while not checks:
            await asyncio.sleep(0.01)
        first.cancel()  # it leaves; the others wait for what it has begun
        going.set()
        return await asyncio.gather(*others, return_exceptions=True)

    found = asyncio.run(crowd(basic(*ALICE)))
    assert {r.principal.name if isinstance(r, Session) else repr(r) for r in found} == {"alice"}
    assert checks == ["correct horse"]
    going.clear()
    checks.clear()
    refused = asyncio.run(crowd(basic("alice", "wrong horse")))
    assert {getattr(r, "error_code", r) for r in refused} == {40100}
    assert checks == ["wrong horse"]


# ------------------------------------------------------------ the principal


def test_principals() -> None:
    assert Principal("", frozenset({"admin"}), "open") == OPEN and EXEMPT.roles == frozenset()


def test_requests_carry_who_sends_them(serve: Serve, users: Path) -> None:
    """As any part behind it can ask."""
    seen: list[Principal] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(principal_of(scope))

    async def ask(properties: dict[str, str], login: str | None) -> None:
        scope = {"type": "http", "path": "/ksql", "client": ("192.0.2.1", 1), "query_string": b""}
        headers = [(b"authorization", f"Basic {login}".encode())] if login else []
        await Auth(app, Login.of(Config.of(properties)))({**scope, "headers": headers}, _nothing, _nowhere)

    asyncio.run(ask({}, None))
    asyncio.run(ask({"ksqlpy.auth.users.file": str(users)}, basic(*ALICE)))
    asyncio.run(ask({"ksqlpy.auth.users.file": str(users), "authentication.skip.paths": "/ksql"}, None))
    assert seen == [OPEN, Principal("alice", frozenset({"developer"}), "basic"), EXEMPT]


async def _nothing() -> dict[str, object]:
    return {"type": "http.request"}


async def _nowhere(message: object) -> None:
    raise AssertionError(message)


def test_many_administrators_at_once(users: Path) -> None:
    names = [f"user{n}" for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: add_user(users, n, "battery staple", frozenset()), names))
    assert sorted(users_of(users)) == sorted(["alice", *names])
    assert until(lambda: not [f for f in users.parent.iterdir() if f.name.startswith(".users-")])
