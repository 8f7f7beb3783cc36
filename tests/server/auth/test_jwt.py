"""Tokens of an identity provider: which are accepted, which are not, and how its keys are had."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.warnings import InsecureKeyLengthWarning

from ksqlpy.access import Principal
from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem, EngineProblem, KsqlError
from ksqlpy.server.auth.attempts import Attempts
from ksqlpy.server.auth.jwts import Jwts, Rules
from ksqlpy.server.auth.keys import UrlKeys, fetched, keys_in
from ksqlpy.server.auth.login import Login
from tests.server.auth.conftest import Serve
from tests.support.fake_engine import FakeEngine

ISSUER, AUDIENCE = "https://id.example/", "ksqlpy"

Make = Callable[..., str]


class Provider:
    """Has keys, publishes their public parts, and signs."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.keys: dict[str, tuple[str, Any]] = {
            "rsa": ("RS256", rsa.generate_private_key(65537, 2048)),
            "ec": ("ES256", ec.generate_private_key(ec.SECP256R1())),
            "ed": ("EdDSA", ed25519.Ed25519PrivateKey.generate()),
        }

    def jwk(self, kid: str, **more: object) -> dict[str, Any]:
        algorithm, key = self.keys[kid]
        made = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
        return {**made, "kid": kid, "use": "sig", **more}

    @property
    def jwks(self) -> dict[str, Any]:
        return {"keys": [self.jwk(kid) for kid in self.keys]}

    def publish(self) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.jwks))
        new.replace(self.file)

    def sign(self, kid: str = "ec", headers: Mapping[str, Any] | None = None, **claims: Any) -> str:
        algorithm, key = self.keys[kid]
        all_claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "carol", "exp": int(time.time()) + 300, **claims}
        kept = {name: value for name, value in all_claims.items() if value is not None}
        given = {name: value for name, value in {"kid": kid, **(headers or {})}.items() if value is not None}
        return jwt.encode(kept, key, algorithm, headers=given)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Any]]:
    return Provider(tmp_path_factory.mktemp("keys") / "jwks").keys


@pytest.fixture
def provider(tmp_path: Path, keys: dict[str, tuple[str, Any]]) -> Provider:
    made = Provider.__new__(Provider)
    made.file, made.keys = tmp_path / "jwks.json", dict(keys)
    made.publish()
    return made


def properties(provider: Provider) -> dict[str, str]:
    prefix = "ksqlpy.auth.jwt."
    return {
        f"{prefix}jwks": str(provider.file),
        f"{prefix}issuer": ISSUER,
        f"{prefix}audience": f"other, {AUDIENCE}",
        f"{prefix}algorithms": "RS256,ES256,EdDSA",
    }


@pytest.fixture
def web(serve: Serve, provider: Provider) -> Iterator[httpx.Client]:
    server = serve(properties(provider))
    with httpx.Client(base_url=server.url, timeout=30, trust_env=False) as client:
        yield client


def status(web: httpx.Client, token: str) -> tuple[int, str]:
    """Status, and the sentence of a refusal."""
    answer = web.get("/info", headers={"Authorization": f"Bearer {token}"})
    assert token not in answer.text
    return answer.status_code, "" if answer.is_success else answer.json()["ksqlpy"]["message"]


@pytest.mark.parametrize("kid", ["rsa", "ec", "ed"])
def test_a_token_of_each_algorithm(web: httpx.Client, provider: Provider, kid: str) -> None:
    assert status(web, provider.sign(kid)) == (200, "")
    assert status(web, provider.sign(kid, aud=["a", AUDIENCE])) == (200, "")


def forged(header: Mapping[str, object], claims: Mapping[str, object], signature: bytes = b"") -> str:
    parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(p).rstrip(b"=").decode() for p in parts)


CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "sub": "carol", "exp": 4_000_000_000}


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", None, 5])
def test_no_algorithm_is_none(web: httpx.Client, algorithm: object) -> None:
    for signature in (b"", b"x"):
        token = forged({"alg": algorithm, "kid": "ec"}, CLAIMS, signature)
        assert status(web, token)[0] == 401


@pytest.mark.parametrize("kid", ["rsa", "ec"])
@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_public_key_is_no_secret(web: httpx.Client, provider: Provider, kid: str, algorithm: str) -> None:
    """The known attack: HMAC with the public key, which everybody has."""
    public = provider.keys[kid][1].public_key()
    pem, spki = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    for secret in (public.public_bytes(pem, spki), json.dumps(provider.jwk(kid)).encode()):
        unsigned = forged({"alg": algorithm, "kid": kid, "typ": "JWT"}, CLAIMS).rstrip(".")
        digest = hmac.digest(secret, unsigned.encode(), getattr(hashlib, f"sha{algorithm[2:]}"))
        token = f"{unsigned}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"
        assert status(web, token) == (401, "the token is signed by an algorithm that is not allowed")


def test_wrong_claims(web: httpx.Client, provider: Provider) -> None:
    now = int(time.time())
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"iss": "https://evil.example/"}, "the token is of another issuer"),
        ({"iss": None}, "the token has no claim iss"),
        ({"aud": "another"}, "the token is for another audience"),
        ({"aud": ["another"]}, "the token is for another audience"),
        ({"aud": None}, "the token has no claim aud"),
        ({"exp": None}, "the token has no claim exp"),
        ({"exp": now - 120}, "the token has expired"),
        ({"exp": "soon"}, "the token is not valid"),
        ({"nbf": now + 120}, "the token is not valid yet"),
        ({"iat": now + 120}, "the token is not valid yet"),
        ({"sub": None}, "the token has no name in its claim sub"),
        ({"sub": "a b"}, "the token has no name in its claim sub"),
    ]
    for claims, said in wrong:
        number, message = status(web, provider.sign(**claims))
        assert (number, message[: len(said)]) == (401, said), claims


def test_a_clock_that_is_off(serve: Serve, provider: Provider) -> None:
    """By what the property says, and not by more."""
    server = serve({**properties(provider), "ksqlpy.auth.jwt.leeway.seconds": "300"})
    with httpx.Client(base_url=server.url, timeout=30, trust_env=False) as client:
        now = int(time.time())
        for good, bad in (({"exp": now - 240}, {"exp": now - 420}), ({"nbf": now + 240}, {"nbf": now + 420})):
            assert status(client, provider.sign(**good))[0] == 200
            assert status(client, provider.sign(**bad))[0] == 401


def test_signatures_of_others(web: httpx.Client, provider: Provider) -> None:
    token = provider.sign("ec")
    head, body, signature = token.split(".")
    other = Provider.__new__(Provider)
    other.keys = {"ec": ("ES256", ec.generate_private_key(ec.SECP256R1()))}
    assert status(web, other.sign("ec")) == (401, "the token is not valid")
    assert status(web, f"{head}.{forged({}, {**CLAIMS, 'sub': 'root'}).split('.')[1]}.{signature}")[0] == 401
    assert status(web, f"{head}.{body}.")[0] == 401
    # A key of its own in the token's head is not looked at, and no address there is asked.
    evil = other.sign("ec", {"jwk": {"kty": "EC"}, "jku": "https://evil.example/", "kid": "evil"})
    assert status(web, evil) == (401, "the token is signed by a key that is not known")
    # The key is for another algorithm than the token says.
    mixed = forged({"alg": "RS256", "kid": "ec"}, CLAIMS, b"x" * 256)
    assert status(web, mixed) == (401, "the token is signed by another algorithm than its key is for")
    for wrong in ("a.b.c", "....", "a.b", f"{token}x", f"{token}.x"):
        assert status(web, wrong)[0] == 401


def test_keys_that_are_rotated(web: httpx.Client, provider: Provider) -> None:
    old = provider.sign("ec")
    assert status(web, old) == (200, "")
    del provider.keys["ec"]
    provider.keys["new"] = ("ES256", ec.generate_private_key(ec.SECP256R1()))
    provider.publish()
    assert status(web, provider.sign("new")) == (200, "")
    assert status(web, old) == (401, "the token is signed by a key that is not known")


def test_a_token_without_the_id_of_its_key(web: httpx.Client, provider: Provider) -> None:
    token = provider.sign("ec", {"kid": None})
    assert status(web, token)[0] == 401  # one of three
    provider.keys = {"ec": provider.keys["ec"]}
    provider.publish()
    assert status(web, token) == (200, "")


def entered(provider: Provider, token: str, **rules: Any) -> Principal:
    made = Rules(ISSUER, (AUDIENCE,), ("ES256",), **rules)
    keys = UrlKeys("https://id.example/jwks", lambda url: json.dumps(provider.jwks).encode())
    return asyncio.run(Jwts(keys, made, Attempts()).enter(token, "192.0.2.1")).principal


def test_name_and_roles_of_claims(provider: Provider) -> None:
    assert entered(provider, provider.sign()) == Principal("carol", frozenset(), "jwt")
    listed = provider.sign(roles=["Reader", "writer", 5, "not a role", None])
    assert entered(provider, listed).roles == {"reader", "writer"}
    assert entered(provider, provider.sign(scope="reader ops"), roles="scope").roles == {"reader", "ops"}
    within = provider.sign(realm_access={"roles": ["admin"]}, email="c@example.org")
    assert entered(provider, within, roles="realm_access.roles", name="email") == Principal(
        "c@example.org", frozenset({"admin"}), "jwt"
    )
    dotted = provider.sign(**{"https://id.example/roles": ["admin"]})
    assert entered(provider, dotted, roles="https://id.example/roles").roles == {"admin"}
    assert entered(provider, provider.sign(roles={"a": 1})).roles == frozenset()


def test_a_push_query_ends_when_its_token_expires(serve: Serve, provider: Provider, engine: FakeEngine) -> None:
    server = serve({**properties(provider), "ksqlpy.auth.jwt.leeway.seconds": "0"})
    token = provider.sign(exp=int(time.time()) + 3)
    with (
        httpx.Client(base_url=server.url, timeout=30, trust_env=False) as client,
        client.stream(
            "POST",
            "/query-stream",
            json={"sql": "SELECT * FROM live EMIT CHANGES;"},
            headers={"Authorization": f"Bearer {token}"},
        ) as answer,
    ):
        *_, last = answer.iter_lines()
    assert '"error_code":40100' in last


@pytest.mark.parametrize("missing", ["issuer", "audience", "algorithms"])
def test_what_must_be_said(provider: Provider, missing: str) -> None:
    given = {name: value for name, value in properties(provider).items() if not name.endswith(missing)}
    with pytest.raises(ConfigProblem, match=rf"ksqlpy\.auth\.jwt\.{missing} is not") as e:
        Login.of(Config.of(given))
    assert e.value.code == "login-incomplete"


@pytest.mark.parametrize(
    ("name", "value"),
    [("algorithms", v) for v in ("none", "HS256", "RS256,HS512", "rs256", "RS256 ES256")]
    + [("jwks", v) for v in ("http://id.example/jwks", "ftp://id.example/jwks", "https://me:word@id.example/")]
    + [("leeway.seconds", v) for v in ("-1", "3600", "1m")],
)
def test_what_no_property_may_say(name: str, value: str) -> None:
    with pytest.raises(ConfigProblem, match=name):
        Config.of({f"ksqlpy.auth.jwt.{name}": value})


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"keys": []}', '{"keys": [5]}', '{"keys": {}}', "[" * 100_000]
    + [json.dumps({"keys": [k]}) for k in ({"kty": "oct", "k": "c2VjcmV0"}, {"kty": "RSA", "use": "enc"})]
    + ['{"keys": [{"kty": "EC", "d": "private"}]}'],
)
def test_files_that_hold_no_public_keys(text: str) -> None:
    with pytest.raises(ConfigProblem) as e:
        keys_in(text, "jwks.json")
    assert e.value.code == "login-file"


def test_weak_keys_are_refused(provider: Provider) -> None:
    provider.keys = {"rsa": ("RS256", rsa.generate_private_key(65537, 1024))}
    with pytest.warns(InsecureKeyLengthWarning):
        token = provider.sign("rsa")
    keys = UrlKeys("https://id.example/jwks", lambda url: json.dumps(provider.jwks).encode())
    with pytest.raises(KsqlError, match="the token is not valid"):
        asyncio.run(Jwts(keys, Rules(ISSUER, (AUDIENCE,), ("RS256",)), Attempts()).enter(token, "192.0.2.1"))


# ------------------------------------------------------------ keys of an address


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_keys_are_fetched_when_they_are_unknown_but_not_too_often(provider: Provider) -> None:
    clock = Clock()
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return json.dumps(provider.jwks).encode()

    async def course() -> None:
        keys = UrlKeys("https://id.example/jwks", fetch, clock)
        found = await asyncio.gather(*(keys.find(kid) for kid in ("ec", "rsa", "ec", "no")))
        assert [key is not None for key, _ in found] == [True, True, True, False]
        assert len(asked) == 1
        for _ in range(100):  # whoever sends tokens of keys that there are not
            await keys.find("no")
        assert len(asked) == 1
        provider.keys["new"] = provider.keys["ec"]
        assert (await keys.find("new"))[0] is None
        clock.now += 11
        assert (await keys.find("new"))[0] is not None
        assert len(asked) == 2
        # A key that is taken out is not trusted for long, though it is not unknown.
        del provider.keys["rsa"]
        clock.now += 301
        assert (await keys.find("rsa"))[0] is not None
        assert keys._fetching is not None
        await keys._fetching
        assert keys.known("ec") and not keys.known("rsa") and len(asked) == 3

    asyncio.run(course())


def test_a_provider_that_is_away(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    away = [True]

    def fetch(url: str) -> bytes:
        if away[0]:
            raise EngineProblem("keys-away", "nobody answers")
        return json.dumps(provider.jwks).encode()

    async def course() -> None:
        keys = UrlKeys("https://id.example/jwks", fetch, clock)
        assert (await keys.find("ec"))[0] is None and "nobody answers" in caplog.text
        away[0] = False
        clock.now += 11
        assert (await keys.find("ec"))[0] is not None
        away[0] = True
        clock.now += 1000
        assert (await keys.find("ec"))[0] is not None  # what it gave last

    asyncio.run(course())


class Site(http.server.BaseHTTPRequestHandler):
    """Answers as its path says."""

    def do_GET(self) -> None:
        where = self.path.strip("/")
        self.send_response({"ok": 200, "much": 200, "slow": 200, "moved": 302}.get(where, 404))
        self.send_header("Location", "/ok")
        self.end_headers()
        if where == "ok":
            self.wfile.write(b"{}")
        with contextlib.suppress(OSError):  # the other side has had enough
            if where == "much":
                self.wfile.write(b"x" * (2**20 + 1))
            elif where == "slow":
                for _ in range(100):
                    self.wfile.write(b" ")
                    time.sleep(0.02)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_answers_have_bounds(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fetched(f"{site}/ok") == b"{}"
    for path, said in (("much", "bytes"), ("moved", "302"), ("no", "404"), ("slow", "for more than|timed out")):
        if path == "slow":
            monkeypatch.setattr("ksqlpy.server.auth.keys.SECONDS", 0.2)
        with pytest.raises(EngineProblem, match=said) as e:
            fetched(f"{site}/{path}")
        assert e.value.code == "keys-away"
    with pytest.raises(EngineProblem):
        fetched("http://127.0.0.1:1/")
