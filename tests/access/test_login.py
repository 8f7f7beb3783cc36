"""From the file of users to the refusal: the roles of a login are those that are asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.config import Config
from ksqlpy.server.auth import users
from ksqlpy.server.run import ServerThread
from tests.access.engine import EARLIEST, AccessEngine


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "users"
    for name, role in (("ann", "payments"), ("root", "admin"), ("nobody", "unheard_of")):
        users.add_user(file, name, f"secret of {name}", frozenset({role}))
    engine = AccessEngine(reading=True)
    engine.brokers.config = Config.of({"ksqlpy.auth.users.file": str(file)})
    with ServerThread(engine) as server:
        yield server.url


def test_the_roles_of_the_login_decide(url: str) -> None:
    def status(name: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        answer = httpx.post(url + path, json=body, auth=(name, f"secret of {name}"), trust_env=False, timeout=30)
        return answer.status_code, answer.json()["error_code"] if answer.status_code != 200 else None

    hidden = {"sql": "SELECT * FROM hush_in EMIT CHANGES LIMIT 0;", "properties": EARLIEST}
    for name, path, body, wanted in (
        ("ann", "/ksql", {"ksql": "DESCRIBE pay_in; SHOW GRANTS FOR payments;"}, (200, None)),
        ("ann", "/ksql", {"ksql": "DESCRIBE hush_in;"}, (403, 40300)),
        ("ann", "/query-stream", hidden, (403, 40300)),
        ("root", "/query-stream", hidden, (200, None)),
        ("root", "/ksql", {"ksql": "DESCRIBE hush_in;"}, (200, None)),
        ("nobody", "/ksql", {"ksql": "DESCRIBE pay_in;"}, (403, 40300)),
        ("nobody", "/ksql", {"ksql": "SHOW STREAMS;"}, (200, None)),
        ("stranger", "/ksql", {"ksql": "SHOW STREAMS;"}, (401, 40100)),
        ("ann", "/ksql", {"ksql": "GRANT ALL ON ALL TO payments;"}, (403, 40300)),
        ("root", "/ksql", {"ksql": "GRANT SELECT ON hush_in TO payments;"}, (200, None)),
        ("ann", "/query-stream", hidden, (200, None)),
    ):
        assert status(name, path, body) == wanted, (name, body)
