"""TLS of the server's own ports: certificate, key and the authorities of clients, renewed while it runs."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem, KsqlError, file_reason
from ksqlpy.server.auth.files import state_of

__all__ = ["CERTIFICATE", "HANDSHAKE", "Certificates", "quiet"]

CERTIFICATE = "ksqlpy.tls.certificate"

_log = logging.getLogger("ksqlpy.server")

LOOK = 1.0
"""Seconds between two looks at the files."""
SOON = timedelta(days=14)
"""Ahead of the end of a certificate, from which on the log warns of it."""
DAY = 86_400.0
"""Seconds between two warnings."""
HANDSHAKE = 10.0
"""Seconds that a client has for the handshake."""
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2; those of 1.3 are all as good. HTTP/2 forbids the others (RFC 9113, appendix A)."""


class Certificates:
    """``context`` is that of the listeners. Connections that begin after the files have changed get the new ones."""

    def __init__(self, certificate: Path, key: Path, password: str = "", authorities: Path | None = None) -> None:
        """Reads the files; raises ConfigProblem ``tls-file``.

        ``authorities``: whose certificates clients must have; None: they need none.
        """
        self._certificate = certificate
        self._key = key
        self._password = password
        self._authorities = authorities
        self._files = [f for f in (certificate, key, authorities) if f is not None]
        self._states = [state_of(f) for f in self._files]
        self.context = self._newest = self._made()
        # A callback of each handshake, by which the connection changes to another context: not only the certificate
        # is new then, authorities that were taken out are gone.
        self.context.sni_callback = self._choose
        self._warn()

    @classmethod
    def of(cls, config: Config) -> Certificates:
        """By the properties of a server; raises ConfigProblem ``tls-incomplete`` and ``tls-file``."""
        certificate = config.get(CERTIFICATE)
        if not certificate:
            raise ConfigProblem("tls-incomplete", f"a listener is https, and {CERTIFICATE} is not set")
        key, authorities = config.get("ksqlpy.tls.key"), config.get("ksqlpy.tls.client.ca")
        return cls(
            Path(certificate),
            Path(key or certificate),
            config.get("ksqlpy.tls.key.password"),
            Path(authorities) if authorities else None,
        )

    @property
    def asks_clients(self) -> bool:
        """Whether clients need a certificate."""
        return self._authorities is not None

    def look(self) -> bool:
        """Reads the files if they have changed; gives whether what they say is in use now.

        Files that do not fit together, as in the midst of a renewal, change nothing until they do.
        """
        states = [state_of(f) for f in self._files]
        if states == self._states:
            return False
        self._states = states
        try:
            self._newest = self._made()
        except KsqlError as e:
            _log.warning("the certificate of before is kept: %s", e.message)
            return False
        _log.info("the certificate of %s is in use", self._certificate)
        self._warn()
        return True

    def _warn(self) -> None:
        """Says in the log that clients refuse the certificate, or will do so soon: nobody else tells who runs this."""
        from cryptography import x509  # here: it takes its time, and few servers speak TLS

        self._warned = time.monotonic()
        try:
            own = x509.load_pem_x509_certificate(self._certificate.read_bytes())  # the first one of the file
        except (OSError, ValueError):  # changed just now, or of a kind that OpenSSL reads: it is looked at again
            return
        begin, end, now = own.not_valid_before_utc, own.not_valid_after_utc, datetime.now(UTC)
        if end <= now:
            told = f"has expired ({_shown(end)}): clients refuse it"
        elif now < begin:
            told = f"is valid from {_shown(begin)} on: clients refuse it"
        elif end <= now + SOON:
            told = f"ends on {_shown(end)}"
        else:
            return
        _log.warning("the certificate of %s %s", self._certificate, told)

    async def watch(self) -> None:
        """Looks again and again."""
        while True:
            await asyncio.sleep(LOOK)
            if not self.look() and time.monotonic() - self._warned >= DAY:
                self._warn()

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._newest

    def _made(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(CIPHERS)
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        context.set_alpn_protocols(["h2", "http/1.1"])
        try:
            context.load_cert_chain(self._certificate, self._key, password=self._password)
        except ssl.SSLError as e:
            why = f"the key of {self._key} is not that of {self._certificate}, or its password is wrong"
            raise ConfigProblem("tls-file", f"{why} ({_reason(e)})") from e
        except OSError as e:
            files = f"{self._certificate} or {self._key}" if self._key != self._certificate else self._certificate
            raise ConfigProblem("tls-file", f"{files} cannot be read: {file_reason(e)}") from e
        if self._authorities is not None:
            self._ask_clients(context, self._authorities)
        return context

    def _ask_clients(self, context: ssl.SSLContext, authorities: Path) -> None:
        try:
            context.load_verify_locations(authorities)
        except ssl.SSLError as e:
            raise ConfigProblem("tls-file", f"{authorities} holds no certificates of authorities") from e
        except OSError as e:
            raise ConfigProblem("tls-file", f"{authorities} cannot be read: {file_reason(e)}") from e
        context.verify_mode = ssl.CERT_REQUIRED
        # A session that is taken up again would not look at the client's certificate.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0


def _shown(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def quiet(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An exception handler of the loop: handshakes that fail are the clients' matter, and would fill the log."""
    if not isinstance(context.get("exception"), ssl.SSLError | ConnectionError):
        loop.default_exception_handler(context)


def _reason(e: ssl.SSLError) -> str:
    return (e.reason or "damaged").replace("_", " ").lower()
