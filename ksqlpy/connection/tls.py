"""TLS of a service that is reached by HTTP: from the settings of Java's clients, for Python and for Java.

Files are read once, here: both get PEM, so that no other machine needs the files.
"""

from __future__ import annotations

import functools
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field

from ksqlpy.connection.names import is_secret
from ksqlpy.connection.stores import Form, certificates_in, key_in, pem_text, private_key, typed_store
from ksqlpy.errors import ConfigProblem, shown

__all__ = ["TLS", "Tls", "tls_of"]

TLS = (
    *(f"ssl.truststore.{name}" for name in ("location", "type", "password", "certificates")),
    *(f"ssl.keystore.{name}" for name in ("location", "type", "password", "key", "certificate.chain")),
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
)
"""The settings, by their names in Java."""

_NAMES = "ssl.endpoint.identification.algorithm"


@dataclass(frozen=True, repr=False)
class Tls:
    """What :func:`tls_of` makes of the settings. It is not shown, since it holds secrets.

    ``java``: settings of Kafka's clients. ``context``: of Python, None for the usual one.
    """

    java: Mapping[str, str] = field(default_factory=dict)
    context: ssl.SSLContext | None = None

    def scrubbed(self, text: str) -> str:
        """A text of a library without any of the secrets."""
        for secret in (v for n, v in self.java.items() if is_secret(n) and v):
            text = text.replace(secret, "[hidden]")
        return text


def tls_of(given: Mapping[str, str], prefix: str) -> Tls:
    """TLS by the settings ``given``, of the names :data:`TLS`; ``prefix``: ahead of their names, for errors.

    The same settings are read once a process. Raises ConfigProblem ``security-setting``, which holds no secret.
    """
    return _tls(tuple(sorted(given.items())), prefix) if given else Tls()


@functools.lru_cache(maxsize=8)
def _tls(given: tuple[tuple[str, str], ...], prefix: str) -> Tls:
    settings = dict(given)
    authorities = _authorities(settings, prefix)
    own = _own_certificate(settings, prefix)
    names = settings.get(_NAMES, "https").strip().lower()
    if names not in ("https", "", "none"):
        raise _refused(f"{prefix}{_NAMES}: {shown(names)} must be https, or empty for none")
    java = {_NAMES: "https" if names == "https" else ""}
    if authorities is not None:
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authorities}
    if own is not None:
        key, chain, password = own
        java |= {"ssl.keystore.type": "PEM", "ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain}
        if password is not None:
            java["ssl.key.password"] = password
    return Tls(java, _context(authorities, own, names == "https", prefix))


def _authorities(given: Mapping[str, str], prefix: str) -> str | None:
    """The certificates that are trusted; None for those of the machine."""
    place, text = "ssl.truststore.location", "ssl.truststore.certificates"
    _exclusive(given, prefix, (place,), (text,))
    if text in given:
        return pem_text(given[text], "CERTIFICATE", prefix + text)
    _needs(given, prefix, place, "ssl.truststore.type", "ssl.truststore.password")
    if place not in given:
        return None
    file, password = given[place], given.get("ssl.truststore.password")
    form, content = typed_store(file, prefix + place, given.get("ssl.truststore.type"), f"{prefix}ssl.truststore.type")
    if form is Form.PEM:
        return pem_text(content.decode(errors="replace"), "CERTIFICATE", prefix + place)
    return certificates_in(file, password, prefix + place)


def _own_certificate(given: Mapping[str, str], prefix: str) -> tuple[str, str, str | None] | None:
    """The key, its certificate with those above it, and the key's password; None without a key."""
    place, key, chain = "ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain"
    _exclusive(given, prefix, (place,), (key, chain))
    password = given.get("ssl.key.password")
    if key in given or chain in given:
        for name in (key, chain):
            if name not in given:
                raise _refused(f"{prefix}{name} is missing", hint="key and certificate.chain belong together")
        return private_key(given[key], prefix + key), pem_text(given[chain], "CERTIFICATE", prefix + chain), password
    _needs(given, prefix, place, "ssl.key.password", "ssl.keystore.password", "ssl.keystore.type")
    if place not in given:
        return None
    file, name = given[place], prefix + place
    form, content = typed_store(file, name, given.get("ssl.keystore.type"), f"{prefix}ssl.keystore.type")
    if form is Form.PEM:
        text = content.decode(errors="replace")
        return private_key(text, name), pem_text(text, "CERTIFICATE", name), password
    store = given.get("ssl.keystore.password")
    if store is None:
        raise _refused(f"{prefix}ssl.keystore.password of {file} is missing")
    return *key_in(file, store, password, name), None


def _context(
    authorities: str | None, own: tuple[str, str, str | None] | None, names: bool, prefix: str
) -> ssl.SSLContext:
    if authorities is None:
        import httpx  # slow to import

        context = httpx.create_ssl_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(cadata=authorities)
        except ssl.SSLError as e:
            raise _refused(f"the certificates of {prefix}ssl.truststore cannot be read: {_reason(e)}") from e
    context.check_hostname = names
    if own is not None:
        key, chain, password = own
        with tempfile.NamedTemporaryFile("w", prefix="ksqlpy-key-") as file:  # for this user only; ssl reads files
            file.write(key + chain)
            file.flush()
            try:
                context.load_cert_chain(file.name, password=password or "")
            except ssl.SSLError as e:
                why = f"its password is wrong, or it is not that of the certificate ({_reason(e)})"
                raise _refused(f"the key of {prefix}ssl.keystore cannot be used: {why}") from e
    return context


def _reason(e: ssl.SSLError) -> str:
    return (e.reason or "it is damaged").replace("_", " ").lower()


def _exclusive(given: Mapping[str, str], prefix: str, *groups: tuple[str, ...]) -> None:
    """Refuses settings of more than one group."""
    used = [found[0] for group in groups if (found := [n for n in group if n in given])]
    if len(used) > 1:
        raise _refused(f"{prefix}{used[0]} and {prefix}{used[1]} say the same in two ways", hint="keep one of them")


def _needs(given: Mapping[str, str], prefix: str, place: str, *names: str) -> None:
    """Refuses settings that are of a file, where none is named."""
    idle = next((n for n in names if n in given), None)
    if idle is not None and place not in given:
        raise _refused(f"{prefix}{idle} is set, but no file", hint=f"set {prefix}{place}")


def _refused(message: str, hint: str | None = None) -> ConfigProblem:
    return ConfigProblem("security-setting", message, hint=hint)
