"""A real broker, an engine and its server, for the clients of others: without a login, and with one over TLS."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.server.auth.users import add_user
from tests.server.auth.authority import Authority
from tests.support.real_server import real_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Place:
    """Where a server is; ``ca``: file of the authority of its certificate, None where it has none and asks nobody."""

    url: str
    ca: Path | None = None
    user: str = ""
    password: str = ""

    @property
    def kind(self) -> str:
        """For names."""
        return "plain" if self.ca is None else "secured"

    @property
    def trust(self) -> ssl.SSLContext | bool:
        """For httpx."""
        return True if self.ca is None else ssl.create_default_context(cafile=self.ca)


@pytest.fixture(scope="module", params=["plain", "secured"])
def place(
    request: pytest.FixtureRequest, spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("data")
    if request.param == "plain":
        with real_server(broker, folder, "clients_plain_") as server:
            yield Place(server.url)
        return
    authority = Authority(tmp_path_factory.mktemp("authority"), "authority")
    certificate, key = authority.certify("server")
    user, password, users = "alice", "correct horse/battery", authority.folder / "users"
    add_user(users, user, password, frozenset({"developer", "operator"}))
    more = {
        "listeners": "https://127.0.0.1:0",
        "ksqlpy.tls.certificate": str(certificate),
        "ksqlpy.tls.key": str(key),
        "ksqlpy.auth.users.file": str(users),
    }
    with real_server(broker, folder, "clients_secured_", more) as server:
        yield Place(server.url, authority.file, user, password)
