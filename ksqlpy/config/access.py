"""Who may come in, and by which door: logins, listeners, TLS."""

from __future__ import annotations

import re

from ksqlpy.config.checks import file, integer
from ksqlpy.config.property import Property

__all__ = ["ACCESS"]


def _listeners(value: str) -> str:
    urls = [u.strip().removesuffix("/") for u in value.split(",") if u.strip()]
    if not all(re.fullmatch(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}", u) for u in urls):
        raise ValueError("must be addresses such as http://127.0.0.1:8088, with commas between them")
    if any(int(u.rpartition(":")[2]) > 65535 for u in urls):
        raise ValueError("names a port above 65535")
    return ",".join(urls)


def _paths(value: str) -> str:
    paths = [p.strip() for p in value.split(",") if p.strip()]
    if not all(re.fullmatch(r"/[!-+\--~]*", p) for p in paths):
        raise ValueError("must be paths such as /healthcheck or /v1/*, with commas between them")
    return ",".join(paths)


def _keys(value: str) -> str:
    if "://" not in value:
        return file(value)
    if not re.fullmatch(r"https://[^\s@]+|http://(localhost|127\.0\.0\.1|\[::1\])[:/][^\s@]*", value.strip()):
        raise ValueError("must be a file, or an address that begins with https://")
    return value.strip()


def _algorithms(value: str) -> str:
    names = [n.strip() for n in value.split(",") if n.strip()]
    known = [f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)] + ["EdDSA"]
    # Not "none", and not HS256: its key is a secret that the provider and the server would share.
    if not all(n in known for n in names):
        raise ValueError(f"must be of {', '.join(known)}, with commas between them")
    return ",".join(names)


def _list(value: str) -> str:
    return ",".join(filter(None, (part.strip() for part in value.split(","))))


ACCESS = (
    Property(
        "listeners",
        "",
        "Where the server listens, in place of ksqlpy.host and ksqlpy.port: addresses such as "
        "http://127.0.0.1:8088,https://0.0.0.0:8443, each with its protocol. Empty: there, with https where "
        "ksqlpy.tls.certificate is set.",
        _listeners,
    ),
    Property(
        "ksqlpy.tls.certificate",
        "",
        "File with the certificate of listeners that are https, and those above it, as PEM. A new one is used as soon "
        "as it is there.",
        file,
    ),
    Property("ksqlpy.tls.key", "", "File with its key, as PEM; empty: it is in the same file.", file),
    Property("ksqlpy.tls.key.password", "", "Password of the key; empty: it has none.", secret=True),
    Property(
        "ksqlpy.tls.client.ca",
        "",
        "File of the authorities, as PEM, of which clients must show a certificate; empty: they need none.",
        file,
    ),
    Property(
        "ksqlpy.auth.users.file",
        "",
        "File of the users who may log in by name and password (HTTP Basic); ksqlpy users writes it. Empty: none.",
        file,
    ),
    Property(
        "ksqlpy.auth.tokens.file",
        "",
        "File of the API tokens (Authorization: Bearer); ksqlpy tokens writes it. Empty: there are none.",
        file,
    ),
    Property(
        "ksqlpy.auth.jwt.jwks",
        "",
        "File or https address of the JSON Web Key Set of an identity provider, whose tokens then log in "
        "(Authorization: Bearer). Empty: there is none.",
        _keys,
    ),
    Property("ksqlpy.auth.jwt.issuer", "", "Issuer that tokens of the provider must name (claim iss)."),
    Property(
        "ksqlpy.auth.jwt.audience",
        "",
        "Audiences, with commas between them, of which tokens of the provider must name one (claim aud).",
        _list,
    ),
    Property(
        "ksqlpy.auth.jwt.algorithms",
        "",
        "Algorithms, with commas between them, by which tokens of the provider may be signed, such as RS256,ES256.",
        _algorithms,
    ),
    Property(
        "ksqlpy.auth.jwt.leeway.seconds",
        "60",
        "By how many seconds the clocks of the provider and of the server may differ.",
        integer(0, 600),
    ),
    Property("ksqlpy.auth.jwt.name.claim", "sub", "Claim of a token with the name of who uses it; a.b: b within a."),
    Property(
        "ksqlpy.auth.jwt.roles.claim",
        "roles",
        "Claim of a token with roles, as a list or a text with spaces between them; a.b: b within a.",
    ),
    Property(
        "authentication.skip.paths",
        "/live,/ready,/chc/live,/chc/ready",
        "Paths for which nobody is asked for a login, with commas between them; * stands for any part of one.",
        _paths,
    ),
)
