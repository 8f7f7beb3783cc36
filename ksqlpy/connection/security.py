"""TLS and SASL, once for Java's clients and once for librdkafka, whichever of the two names the settings have.

| what | Java | librdkafka |
|---|---|---|
| authorities | ``ssl.truststore.…`` | ``ssl.ca.location``, ``ssl.ca.pem`` |
| own certificate and key | ``ssl.keystore.…`` | ``ssl.certificate.…``, ``ssl.key.…``; PKCS#12: ``ssl.keystore.…`` |
| name and password | ``sasl.jaas.config`` | ``sasl.username``, ``sasl.password`` |
| OAuth 2 client credentials | options in ``sasl.jaas.config`` | ``sasl.oauthbearer.client.id`` and so on |

What one side cannot do is refused with the reason, ahead of any connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ksqlpy.connection.jaas import Login, jaas_text, read_jaas
from ksqlpy.connection.stores import Form, certificates_in, pem_text, private_key, read_store, typed_store
from ksqlpy.errors import ConfigProblem, shown

__all__ = ["Security", "secured"]

_KAFKA = "org.apache.kafka.common.security."
_MODULES = {
    "PLAIN": f"{_KAFKA}plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_KAFKA}scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_KAFKA}scram.ScramLoginModule",
    "OAUTHBEARER": f"{_KAFKA}oauthbearer.OAuthBearerLoginModule",
}
_HANDLER = f"{_KAFKA}oauthbearer.OAuthBearerLoginCallbackHandler"
_HANDLERS = (_HANDLER, f"{_KAFKA}oauthbearer.secured.OAuthBearerLoginCallbackHandler")
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_EXTENSION = "extension_"


@dataclass(frozen=True, repr=False)
class Security:
    """The settings of security for the two families of clients; not shown, since they hold secrets."""

    java: Mapping[str, str] = field(default_factory=dict)
    python: Mapping[str, str] = field(default_factory=dict)


def secured(given: Mapping[str, str]) -> Security:
    """The settings for both; ``given``: as they were set. Reads the files that they name.

    Raises ConfigProblem ``security-setting`` or ``invalid-property``, without any secret.
    """
    given = {name: value for name, value in given.items() if value or name == "ssl.endpoint.identification.algorithm"}
    if not given:
        return Security()
    return _Reader(given).read()


class _Reader:
    """Reads the settings one after the other into those of the two families."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._java: dict[str, str] = {}
        self._python: dict[str, str] = {}

    def read(self) -> Security:
        protocol = (self._one("security.protocol") or "PLAINTEXT").upper()
        if protocol not in _PROTOCOLS:
            raise _invalid("security.protocol", protocol, f"must be one of {', '.join(_PROTOCOLS)}")
        self._both("security.protocol", protocol)
        self._only_with(protocol.endswith("SSL"), "ssl.", protocol, "TLS", "SSL or SASL_SSL")
        self._only_with(protocol.startswith("SASL"), "sasl.", protocol, "login", "SASL_SSL")
        if protocol.endswith("SSL"):
            self._authorities()
            self._own_certificate()
            self._host_names()
        if protocol.startswith("SASL"):
            self._login()
        return Security(self._java, self._python)

    # ------------------------------------------------------------ reading

    def _one(self, *names: str) -> str | None:
        """The value of the one setting that is set; raises ConfigProblem where several say the same thing."""
        found = [n for n in names if n in self._given]
        if len({self._given[n] for n in found}) > 1:
            raise ConfigProblem("security-setting", f"{' and '.join(found)} say the same in two ways", hint="keep one")
        return self._given[found[0]] if found else None

    def _both(self, name: str, value: str) -> None:
        self._java[name] = self._python[name] = value

    def _only_with(self, wanted: bool, prefix: str, protocol: str, what: str, instead: str) -> None:
        idle = sorted(n for n in self._given if n.startswith(prefix))
        if idle and not wanted:
            raise ConfigProblem(
                "security-setting",
                f"{idle[0]} is set, but security.protocol is {protocol}: there would be no {what}",
                hint=f"set security.protocol to {instead}",
            )

    def _set(self, *names: str) -> list[str]:
        return [n for n in names if n in self._given]

    def _exclusive(self, *groups: Iterable[str]) -> None:
        """Raises ConfigProblem where settings of more than one group are set."""
        used = [found for found in (self._set(*group) for group in groups) if found]
        if len(used) > 1:
            raise ConfigProblem(
                "security-setting",
                f"{used[0][0]} and {used[1][0]} say the same in two ways",
                hint="keep one of them",
            )

    # ------------------------------------------------------------ TLS

    def _authorities(self) -> None:
        """Whom the clients trust; without any setting the authorities of the machine and of Java."""
        self._exclusive(
            ("ssl.truststore.location",), ("ssl.truststore.certificates",), ("ssl.ca.location",), ("ssl.ca.pem",)
        )
        name = next(iter(self._set("ssl.truststore.location", "ssl.ca.location")), None)
        text = self._one("ssl.truststore.certificates", "ssl.ca.pem")
        if text is not None:
            pem = pem_text(text, "CERTIFICATE", "ssl.truststore.certificates")
            self._java |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem}
            self._python["ssl.ca.pem"] = pem
        elif name is not None:
            self._authorities_of(self._given[name], name)

    def _authorities_of(self, file: str, name: str) -> None:
        form, content = self._file(file, name, "ssl.truststore.type")
        self._java |= {"ssl.truststore.type": form.value, "ssl.truststore.location": file}
        if form is Form.PEM:
            pem_text(content.decode(errors="replace"), "CERTIFICATE", name)
            self._python["ssl.ca.location"] = file
            return
        if name == "ssl.ca.location":
            raise ConfigProblem(
                "security-setting",
                f"the file {file} of {name} is {form.value}",
                hint="use ssl.truststore.location",
            )
        password = self._given.get("ssl.truststore.password")
        if password is not None:
            self._java["ssl.truststore.password"] = password
        self._python["ssl.ca.pem"] = certificates_in(file, password, name)  # librdkafka reads PEM only

    def _file(self, file: str, name: str, type_name: str) -> tuple[Form, bytes]:
        return typed_store(file, name, self._given.get(type_name), type_name)

    def _own_certificate(self) -> None:
        """What the clients show of themselves, if the brokers ask for it."""
        store = ("ssl.keystore.location",)
        java = ("ssl.keystore.key", "ssl.keystore.certificate.chain")
        python = ("ssl.key.location", "ssl.key.pem", "ssl.certificate.location", "ssl.certificate.pem")
        self._exclusive(store, java, python)
        password = self._given.get("ssl.key.password")
        if self._set(*store):
            self._keystore(self._given[store[0]], password)
        elif self._set(*java, *python):
            key = private_key(*self._text("a key", "ssl.keystore.key", "ssl.key.pem", "ssl.key.location"))
            text, name = self._text(
                "a certificate", "ssl.keystore.certificate.chain", "ssl.certificate.pem", "ssl.certificate.location"
            )
            chain = pem_text(text, "CERTIFICATE", name)
            self._java |= {"ssl.keystore.type": "PEM", "ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain}
            self._python |= {"ssl.key.pem": key, "ssl.certificate.pem": chain}
            if password is not None:
                self._both("ssl.key.password", password)
        elif found := self._set("ssl.key.password", "ssl.keystore.password", "ssl.keystore.type"):
            raise ConfigProblem("security-setting", f"{found[0]} is set, but no key", hint="set ssl.keystore.location")

    def _text(self, what: str, *names: str) -> tuple[str, str]:
        """The PEM text, and the setting that holds it or names its file; raises ConfigProblem if none is set."""
        self._exclusive(*((n,) for n in names))
        found = self._set(*names)
        if not found:
            raise ConfigProblem("security-setting", f"{what} is missing", hint=f"set {' or '.join(names)}")
        value = self._given[found[0]]
        if found[0].endswith(".location"):
            return read_store(value, found[0]).decode(errors="replace"), found[0]
        return value, found[0]

    def _keystore(self, file: str, password: str | None) -> None:
        name = "ssl.keystore.location"
        form, content = self._file(file, name, "ssl.keystore.type")
        self._java |= {"ssl.keystore.type": form.value, name: file}
        if form is Form.JKS:
            raise ConfigProblem(
                "security-setting",
                f"the key in {file} of {name} is in a JKS file, which librdkafka does not read",
                hint=f"keytool -importkeystore -srckeystore {file} -destkeystore keystore.p12 -deststoretype PKCS12",
            )
        if form is Form.PEM:
            text = content.decode(errors="replace")
            private_key(text, name)
            pem_text(text, "CERTIFICATE", name)
            self._python |= {"ssl.key.location": file, "ssl.certificate.location": file}
            if password is not None:
                self._both("ssl.key.password", password)
            return
        store = self._given.get("ssl.keystore.password")
        if store is None:
            raise ConfigProblem("security-setting", f"ssl.keystore.password of {file} is missing")
        if password not in (None, store):
            raise ConfigProblem(
                "security-setting",
                "ssl.key.password is another than ssl.keystore.password: a PKCS#12 file has one password",
            )
        self._python[name] = file
        self._both("ssl.keystore.password", store)
        self._java["ssl.key.password"] = store

    def _host_names(self) -> None:
        """Whether a broker's certificate must be of its name: yes, unless it is said otherwise."""
        given = self._given.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
        if given not in ("https", "", "none"):
            raise _invalid("ssl.endpoint.identification.algorithm", given, "must be https, or empty for none")
        self._java["ssl.endpoint.identification.algorithm"] = "https" if given == "https" else ""
        self._python["ssl.endpoint.identification.algorithm"] = "https" if given == "https" else "none"

    # ------------------------------------------------------------ SASL

    def _login(self) -> None:
        mechanism = (self._one("sasl.mechanism", "sasl.mechanisms") or "GSSAPI").strip().upper()
        if mechanism not in _MODULES:
            raise _invalid("sasl.mechanism", mechanism, f"must be one of {', '.join(_MODULES)}")
        self._both("sasl.mechanism", mechanism)
        jaas = self._given.get("sasl.jaas.config")
        login = None if jaas is None else read_jaas(jaas)
        if login is not None and login.module != _MODULES[mechanism]:
            raise ConfigProblem(
                "security-setting",
                f"sasl.jaas.config names another login module than that of {mechanism}",
                hint=f"it is {_MODULES[mechanism]}",
            )
        if mechanism == "OAUTHBEARER":
            self._token(login)
        else:
            self._password(mechanism, login)

    def _password(self, mechanism: str, login: Login | None) -> None:
        self._exclusive(("sasl.jaas.config",), ("sasl.username", "sasl.password"))
        if found := [n for n in self._given if n.startswith(("sasl.oauthbearer.", "sasl.login."))]:
            raise ConfigProblem("security-setting", f"{found[0]} is for OAUTHBEARER, and sasl.mechanism is {mechanism}")
        options = dict(login.options) if login is not None else {}
        user = options.pop("username", self._given.get("sasl.username"))
        password = options.pop("password", self._given.get("sasl.password"))
        self._no_more(options)
        if user is None or password is None:
            missing = "name" if user is None else "password"
            raise ConfigProblem(
                "security-setting",
                f"the {missing} for {mechanism} is missing",
                hint="set sasl.username and sasl.password, or sasl.jaas.config",
            )
        options = {"username": user, "password": password}
        self._java["sasl.jaas.config"] = jaas_text(_MODULES[mechanism], options)
        self._python |= {"sasl.username": user, "sasl.password": password}

    def _no_more(self, options: Mapping[str, str]) -> None:
        if options:
            raise ConfigProblem(
                "security-setting",
                f"librdkafka has nothing like the option {min(options)} in sasl.jaas.config",
            )

    def _token(self, login: Login | None) -> None:
        """Client credentials, for which an endpoint gives tokens."""
        if (method := self._given.get("sasl.oauthbearer.method", "oidc")).strip().lower() != "oidc":
            raise _invalid("sasl.oauthbearer.method", method, "must be oidc")
        if (handler := self._given.get("sasl.login.callback.handler.class", _HANDLER)).strip() not in _HANDLERS:
            raise _invalid("sasl.login.callback.handler.class", handler, f"must be {_HANDLER}")
        if found := self._set("sasl.username", "sasl.password"):
            raise ConfigProblem("security-setting", f"{found[0]} is not for OAUTHBEARER", hint="see docs/security.md")
        options = dict(login.options) if login is not None else {}
        credentials = "sasl.oauthbearer.client.credentials.client"
        wanted = {
            "clientId": self._one("sasl.oauthbearer.client.id", f"{credentials}.id") or "",
            "clientSecret": self._one("sasl.oauthbearer.client.secret", f"{credentials}.secret") or "",
            "scope": self._given.get("sasl.oauthbearer.scope", ""),
        }
        client = {name: options.pop(name, value) or value for name, value in wanted.items()}
        for name, value in wanted.items():
            if value and client[name] != value:
                raise ConfigProblem("security-setting", f"sasl.jaas.config has another {name} than its own setting")
        extensions = self._extensions(options)
        self._no_more(options)
        endpoint = self._given.get("sasl.oauthbearer.token.endpoint.url", "")
        if not endpoint.startswith(("https://", "http://")):
            raise ConfigProblem(
                "security-setting",
                "sasl.oauthbearer.token.endpoint.url must be the http or https URL that gives tokens",
                hint="tokens from files, or signed by clients, are not supported",
            )
        if not client["clientId"] or not client["clientSecret"]:
            raise ConfigProblem(
                "security-setting",
                "the client's id or secret for OAUTHBEARER is missing",
                hint="set sasl.oauthbearer.client.id and sasl.oauthbearer.client.secret",
            )
        client = {name: value for name, value in client.items() if value}
        self._both("sasl.oauthbearer.token.endpoint.url", endpoint)
        self._java |= {
            "sasl.login.callback.handler.class": _HANDLER,
            "sasl.jaas.config": jaas_text(
                _MODULES["OAUTHBEARER"], {**client, **{_EXTENSION + n: v for n, v in extensions.items()}}
            ),
        }
        self._python |= {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": client["clientId"],
            "sasl.oauthbearer.client.secret": client["clientSecret"],
        }
        if "scope" in client:
            self._python["sasl.oauthbearer.scope"] = client["scope"]
        if extensions:
            self._python["sasl.oauthbearer.extensions"] = ",".join(f"{n}={v}" for n, v in extensions.items())

    def _extensions(self, options: dict[str, str]) -> dict[str, str]:
        """What goes to the brokers with the token; takes them off the options of the login module."""
        found = {n.removeprefix(_EXTENSION): options.pop(n) for n in [n for n in options if n.startswith(_EXTENSION)]}
        given = self._given.get("sasl.oauthbearer.extensions")
        for pair in given.split(",") if given else ():
            name, equals, value = pair.strip().partition("=")
            if not equals:
                raise ConfigProblem(
                    "invalid-property", "sasl.oauthbearer.extensions must be name=value, with commas between them"
                )
            found[name] = value
        return found


def _invalid(name: str, value: str, wanted: str) -> ConfigProblem:
    return ConfigProblem("security-setting", f"{name}: {shown(value)} {wanted}")
