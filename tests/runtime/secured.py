"""A broker with SASL_SSL that wants certificates of clients, too, and what clients need to reach it."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time
from typing import Any

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from ksqlpy.embedded.java import find_java
from ksqlpy.embedded.kafka import EmbeddedKafka

PASSWORD = 'pa"ss\\word ${x} = 7d2f'
"""Of the user; with all that needs care in JAAS. Files of properties take it as it is."""

STORE, CLIENT_SECRET = "store-9c41", "client-e5a8"
SECRETS = (PASSWORD, STORE, CLIENT_SECRET)
_JAAS = "org.apache.kafka.common.security"


def quoted(text: str) -> str:
    """As a value of sasl.jaas.config."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _openssl(*arguments: str, given: bytes | None = None) -> bytes:
    return subprocess.run(["openssl", *arguments], input=given, capture_output=True, check=True).stdout


def _keytool(*arguments: str) -> None:
    command = [
        str(find_java().executable),
        "-XX:TieredStopAtLevel=1",
        "-m",
        "java.base/sun.security.tools.keytool.Main",
    ]
    subprocess.run([*command, *arguments, "-storepass", STORE, "-noprompt"], check=True, capture_output=True)


class Certificates:
    """Of the broker and of a client: each is its own authority."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if shutil.which("openssl") is None:
            pytest.skip("openssl makes the certificates")
        for name in ("server", "client"):
            _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                     "-addext", "subjectAltName=IP:127.0.0.1",
                     "-keyout", self[f"{name}.key"], "-out", self[f"{name}.pem"])  # fmt: skip
            _openssl("pkcs12", "-export", "-in", self[f"{name}.pem"], "-inkey", self[f"{name}.key"], "-out",
                     self[f"{name}.p12"], "-passout", f"pass:{STORE}")  # fmt: skip
        for form in ("JKS", "PKCS12"):
            store = self[f"trust.{form.lower()}"]
            _keytool("-importcert", "-file", self["server.pem"], "-keystore", store, "-storetype", form)
        for key in (self["client.key"], self["client.pem"]):
            with Path(self["both.pem"]).open("a") as both:
                both.write(Path(key).read_text())

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)

    def text(self, name: str) -> str:
        """What is in a file."""
        return Path(self[name]).read_text()


class Tokens:
    """Gives tokens to who knows the client's secret, and its public key to the broker."""

    def __init__(self, certificates: Certificates) -> None:
        self._key = certificates["server.key"]
        modulus = _openssl("rsa", "-in", self._key, "-noout", "-modulus").strip().partition(b"=")[2]
        self._modulus = _encoded(bytes.fromhex(modulus.decode()))
        self.asked: list[str] = []
        """The user agents of clients that got a token."""

        tokens = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "e": "AQAB", "n": tokens._modulus}
                self._answer(200, {"keys": [key]})

            def do_POST(self) -> None:
                wanted = base64.b64encode(f"client:{CLIENT_SECRET}".encode()).decode()
                if self.headers.get("Authorization") != f"Basic {wanted}":
                    self._answer(401, {"error": "invalid_client"})
                    return
                tokens.asked.append(self.headers.get("User-Agent") or "")
                self._answer(200, {"access_token": tokens._token(), "token_type": "Bearer", "expires_in": 600})

            def _answer(self, status: int, body: Any) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def _token(self) -> str:
        now = int(time())
        claims = {"sub": "client", "aud": "kafka", "iat": now - 5, "exp": now + 600, "scope": "kafka"}
        signed = ".".join(_encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1"}, claims))
        signature = _openssl("dgst", "-sha256", "-sign", self._key, given=signed.encode())
        return f"{signed}.{_encoded(signature)}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@dataclass
class Secured:
    """The broker, and what reaches it."""

    broker: EmbeddedKafka
    files: Certificates
    tokens: Tokens
    tls: dict[str, str] = field(default_factory=dict)

    @property
    def scram(self) -> dict[str, str]:
        """Settings with a login by SCRAM, in the form that ksqlDB has."""
        login = f'{_JAAS}.scram.ScramLoginModule required username="alice" password={quoted(PASSWORD)};'
        return {**self.tls, "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": login}


@contextmanager
def secured_broker(folder: Path) -> Iterator[Secured]:
    """Starts it; clients that come without a certificate are refused."""
    files = Certificates(folder)
    tokens = Tokens(files)
    plain = f"{_JAAS}.plain.PlainLoginModule required user_alice={quoted(PASSWORD)};"
    listener = {
        "ssl.keystore.location": files["server.p12"],
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": STORE,
        "ssl.truststore.location": files["client.pem"],
        "ssl.truststore.type": "PEM",
        "ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "plain.sasl.jaas.config": plain.replace("\\", "\\\\"),
        "scram-sha-256.sasl.jaas.config": f"{_JAAS}.scram.ScramLoginModule required;",
        "scram-sha-512.sasl.jaas.config": f"{_JAAS}.scram.ScramLoginModule required;",
        "oauthbearer.sasl.jaas.config": f"{_JAAS}.oauthbearer.OAuthBearerLoginModule required;",
        "oauthbearer.sasl.server.callback.handler.class": f"{_JAAS}.oauthbearer.OAuthBearerValidatorCallbackHandler",
        "oauthbearer.sasl.oauthbearer.jwks.endpoint.url": tokens.url,
        "oauthbearer.sasl.oauthbearer.expected.audience": "kafka",
    }
    settings = {f"listener.name.clients.{n}": v for n, v in listener.items()}
    broker = EmbeddedKafka(
        protocol="SASL_SSL", settings={**settings, "group.initial.rebalance.delay.ms": "0", "log.retention.ms": "-1"}
    )
    with pytest.MonkeyPatch.context() as patch:
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.url}"
        patch.setenv("JAVA_TOOL_OPTIONS", allowed, prepend=" ")
        broker.start()
    try:
        admin = AdminClient({"bootstrap.servers": broker.inner})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user = UserScramCredentialUpsertion("alice", ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
            for done in admin.alter_user_scram_credentials([user]).values():
                done.result(timeout=20)
        tls = {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.location": files["trust.jks"],
            "ssl.truststore.password": STORE,
            "ssl.keystore.location": files["client.p12"],
            "ssl.keystore.password": STORE,
        }
        yield Secured(broker, files, tokens, tls)
    finally:
        broker.stop()
        tokens.close()
