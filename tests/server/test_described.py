"""Requests made of the OpenAPI text, with a login and without: all answers are as described, and nothing grows.

50,000 of them: ``pytest -s tests/server/test_described.py --generated 50000``, which prints what was found.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ksqlpy.server.auth.tokens import create_token
from ksqlpy.server.auth.users import add_user
from tests.server.described import ask, grown, watched

ROOT = Path(__file__).parents[2]
FEW = 300
"""Requests, where the command line does not say how many."""

STATEMENTS = [
    "SHOW STREAMS;",
    "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');",
    "BAD thing;",
    "SHOW STREAMS;\nBAD thing;",
    "SELECT * FROM rows EMIT CHANGES LIMIT 3;",
    "SELECT * FROM wide EMIT CHANGES LIMIT 20;",
    "SELECT * FROM rows;",
    "SELECT * FROM known LIMIT 3;",
    "PRINT rows LIMIT 2;",
    "ECHO;",
    "",
    ";",
]

Serve = Callable[..., tuple[str, int]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server without Kafka and Spark as a process, with properties; gives its URL and its process id."""
    processes: list[subprocess.Popen[str]] = []

    def started(properties: Mapping[str, object] = {}) -> tuple[str, int]:
        given = [f"{name}={value}" for name, value in properties.items()]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fake_engine", "0", "0", *given],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        processes.append(process)
        assert process.stdout is not None
        ready = next(line for line in process.stdout if line.startswith("ksqlpy server is ready at "))
        return ready.split()[-1], process.pid

    yield started
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("login", [False, True], ids=["no login", "login"])
def test_generated_requests(login: bool, serve: Serve, generated: Callable[[int], int], tmp_path: Path) -> None:
    count = max(1, generated(FEW) // 2)
    properties: dict[str, object] = {}
    logins: list[dict[str, str]] = [{}]
    if login:
        users, tokens = tmp_path / "users", tmp_path / "tokens"
        add_user(users, "alice", "correct horse", frozenset({"developer"}))
        token = create_token(tokens, "ci", frozenset({"admin"}), 0)
        properties = {"ksqlpy.auth.users.file": users, "ksqlpy.auth.tokens.file": tokens}
        logins = [
            {"Authorization": f"Bearer {token}"},
            {"Authorization": "Basic YWxpY2U6Y29ycmVjdCBob3JzZQ=="},
            {},
            {"Authorization": "Bearer kpy_nobody"},
            {"Authorization": "Basic !"},
        ]
    url, pid = serve(properties)
    samples, look = watched(pid, count)
    # Ending the service has a test of its own: nothing would be answered behind it; figures have no end.
    found = ask(
        url,
        count,
        statements=STATEMENTS,
        logins=logins,
        leave_out=["/ksql/terminate", "/figures"],
        meanwhile=look,
        number=count + login,
    )
    print(f"\n{found}")
    assert grown(samples, count) == []
    assert not found.wrong, str(found)
    assert found.asked.total() == count
    assert {200, 400} <= set(found.codes) and (not login or {401} <= set(found.codes))
