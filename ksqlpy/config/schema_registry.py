"""How the schema registry is reached."""

from __future__ import annotations

from ksqlpy.config.checks import one_of
from ksqlpy.config.property import Property
from ksqlpy.connection.names import is_secret

__all__ = ["SCHEMA_REGISTRY"]

SCHEMA_REGISTRY = (
    Property(
        "ksql.schema.registry.url",
        "",
        "Addresses of the schema registry, with commas between them; the first that answers is asked. Empty: there is "
        "none, and formats that need one are refused.",
    ),
    Property(
        "ksql.schema.registry.basic.auth.credentials.source",
        "USER_INFO",
        "Where the login to the schema registry stands: USER_INFO, in ksql.schema.registry.basic.auth.user.info; URL, "
        "in front of the host of the first address.",
        one_of("USER_INFO", "URL"),
    ),
    Property(
        "ksql.schema.registry.basic.auth.user.info",
        "",
        "User and password for the schema registry, with a colon between them; empty: no login.",
        secret=True,
    ),
    Property(
        "ksql.schema.registry.bearer.auth.token",
        "",
        "Token for the schema registry, in place of a login; empty: none.",
        secret=True,
    ),
    *(
        Property(f"ksql.schema.registry.{name}", default, meaning, secret=is_secret(name))
        for name, default, meaning in (
            (
                "ssl.truststore.location",
                "",
                "File of the authorities that certificates of the schema registry may be "
                "of, as PEM, PKCS12 or JKS; empty: those of the machine.",
            ),
            ("ssl.truststore.type", "", "What the file of authorities is: PEM, PKCS12 or JKS; empty: it is looked at."),
            ("ssl.truststore.password", "", "Password of the file of authorities; PEM needs none."),
            ("ssl.truststore.certificates", "", "The authorities themselves as PEM, in place of a file."),
            (
                "ssl.keystore.location",
                "",
                "File with a key and its certificate, for a schema registry that asks "
                "clients for one, as PEM, PKCS12 or JKS.",
            ),
            ("ssl.keystore.type", "", "What the file with the key is: PEM, PKCS12 or JKS; empty: it is looked at."),
            ("ssl.keystore.password", "", "Password of the file with the key; PEM needs none."),
            ("ssl.keystore.key", "", "The key itself as PEM (PKCS#8), in place of a file."),
            ("ssl.keystore.certificate.chain", "", "The certificate of ssl.keystore.key as PEM, and those above it."),
            ("ssl.key.password", "", "Password of the key; empty: it has none, or that of its file."),
            (
                "ssl.endpoint.identification.algorithm",
                "https",
                "https: the certificate of the schema registry must be of the name in its address; empty: of any.",
            ),
        )
    ),
)
