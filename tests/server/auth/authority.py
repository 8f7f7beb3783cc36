"""A certificate authority for tests: certificates of servers and of clients, as PEM files."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = timedelta(days=1)


class Authority:
    """``file``: its certificate."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = self._signed(self._name, self._key, DAY).add_extension(x509.BasicConstraints(True, None), critical=True)
        self._own = made.sign(self._key, hashes.SHA256())
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(self._own.public_bytes(serialization.Encoding.PEM))

    def _signed(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, ends: timedelta, begins: timedelta = -2 * DAY
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + begins)
            .not_valid_after(now + ends)
        )

    def certify(
        self,
        name: str,
        *,
        client: bool = False,
        begins: timedelta = -2 * DAY,
        ends: timedelta = DAY,
        password: str = "",
    ) -> tuple[Path, Path]:
        """Files of a certificate and of its key; of a server it is that of the loopback address.

        ``begins``, ``ends``: from now on.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._signed(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key, ends, begins)
        use = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([use]), critical=False)
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        made = builder.sign(self._key, hashes.SHA256())
        secret = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        files = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        for file, data in zip(files, (made.public_bytes(pem), key.private_bytes(pem, pkcs8, secret)), strict=True):
            new = file.with_name(f".{file.name}")
            new.write_bytes(data)
            new.replace(file)
        return files
