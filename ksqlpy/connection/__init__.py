"""Connection settings: one immutable object from which all Kafka clients are configured.

Clients are of two families: librdkafka's in Python (command log, topics, ownership, INSERT VALUES), and Java's in
Spark's JVM (sources and sinks of queries, the tail of a sink, the end of earlier producers).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ksqlpy.connection.names import KINDS, PYTHON_NAMES, is_secret, setting_of
from ksqlpy.connection.security import Security, secured
from ksqlpy.errors import ConfigProblem

__all__ = ["HIDDEN", "KafkaConnection", "hidden"]

_NO_TOPICS = {"allow.auto.create.topics": "false"}
"""Who reads a topic, or asks for it, must not make it, also where brokers make topics on first use. Java's producers
have no such setting, its admin clients need none."""

_LIBRDKAFKA = logging.getLogger("librdkafka")
"""Says nothing unless a level is set for it: that brokers are away is told by those who need them."""
if _LIBRDKAFKA.level == logging.NOTSET:
    _LIBRDKAFKA.setLevel(logging.CRITICAL + 10)

HIDDEN = "[hidden]"
"""What stands in the place of a secret; Kafka's own clients show the same."""


def hidden(name: str, value: str) -> str:
    """The value of a setting as it may be shown."""
    return HIDDEN if is_secret(name) else value


@dataclass(frozen=True)
class KafkaConnection:
    """The brokers, and the settings of all clients. Made by :meth:`of`; it shows no secrets.

    ``key``: under which Spark's JVM knows it (``jvm/clients/Connections.java``). Plans and options name it, and hold
    nothing that is secret.
    """

    bootstrap: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """As they were set, by their canonical names (:attr:`~ksqlpy.connection.names.Setting.canonical`)."""

    key: str = field(default_factory=lambda: f"kafka-{uuid.uuid4().hex[:12]}", compare=False, repr=False)
    _security: Security = field(default_factory=Security, compare=False, repr=False)

    @classmethod
    def of(cls, bootstrap: str, settings: Mapping[str, str] | None = None) -> KafkaConnection:
        """The connection; ``settings``: of clients, by their names as properties of the server.

        Reads the files that they name. Raises ConfigProblem ``security-setting``, ``reserved-setting``,
        ``unknown-property`` and ``invalid-property``, none of which holds a secret.
        """
        kept: dict[str, str] = {}
        for name, value in (settings or {}).items():
            setting = setting_of(name)
            if setting is None:
                raise ConfigProblem("unknown-property", f"{name} is no setting of Kafka's clients")
            kept[setting.canonical] = setting.checked(value, name)
        security = secured({n: v for n, v in kept.items() if not n.startswith("kafka.")})
        return cls(bootstrap, kept, _security=security)

    def to(self, bootstrap: str) -> KafkaConnection:
        """The same settings for brokers elsewhere."""
        return KafkaConnection(bootstrap, self.settings, self.key, self._security)

    @property
    def secured(self) -> bool:
        """Whether it has TLS or a login."""
        return bool(self._security.java)

    # ------------------------------------------------------------ librdkafka

    def consumer(self, own: Mapping[str, object]) -> dict[str, Any]:
        """The settings of a consumer of librdkafka; ``own``: what it needs, which comes first."""
        return self._python("consumer", own)

    def producer(self, own: Mapping[str, object]) -> dict[str, Any]:
        """The settings of a producer of librdkafka; ``own``: what it needs, which comes first."""
        return self._python("producer", own)

    def admin(self, own: Mapping[str, object]) -> dict[str, Any]:
        """The settings of an admin client of librdkafka; ``own``: what it needs, which comes first."""
        return self._python("admin", own)

    def _python(self, kind: str, own: Mapping[str, object]) -> dict[str, Any]:
        # What an admin client logs would wait until it is asked for something: its calls say what is wrong.
        logged = {"log_level": 0} if kind == "admin" else {"log_level": 6, "logger": _LIBRDKAFKA}
        found: dict[str, Any] = {"bootstrap.servers": self.bootstrap, **logged, **_NO_TOPICS}
        for name, value in self._chosen(kind).items():
            its = PYTHON_NAMES[kind].get(name)
            if its is not None:
                # Java's -1 stands for the system's own size, and for connections that nobody closes.
                found[its] = "0" if value == "-1" else value
        return {**found, **self._security.python, **own}

    def _chosen(self, kind: str) -> dict[str, str]:
        """The settings besides security for a kind of clients: those for all, then its own."""
        of_all: dict[str, str] = {}
        own: dict[str, str] = {}
        for name, value in self.settings.items():
            setting = setting_of(name)
            # What must stay as it is may be set to that, and is not handed on.
            if setting is not None and setting.name in PYTHON_NAMES[kind] and setting.kind in (None, kind):
                (of_all if setting.kind is None else own)[setting.name] = value
        return {**of_all, **own}

    # ------------------------------------------------------------ Java

    def java(self, kind: str) -> dict[str, str]:
        """The settings of one of Java's clients, with the secrets: for :mod:`ksqlpy.spark.clients` alone."""
        fixed = _NO_TOPICS if kind == "consumer" else {}
        return {"bootstrap.servers": self.bootstrap, **self._chosen(kind), **fixed, **self._security.java}

    @property
    def kinds(self) -> dict[str, dict[str, str]]:
        """:meth:`java` of all kinds."""
        return {kind: self.java(kind) for kind in KINDS}

    @property
    def spark_source(self) -> dict[str, str]:
        """Options of Spark's Kafka source. Secrets are named by ``${ksqlpy:key:name}``, which the JVM looks up."""
        return self._spark("consumer")

    @property
    def spark_sink(self) -> dict[str, str]:
        """Options of Spark's Kafka sink, as :attr:`spark_source`."""
        return self._spark("producer")

    def _spark(self, kind: str) -> dict[str, str]:
        given = self.java(kind)
        named = {n: f"${{ksqlpy:{self.key}:{n}}}" if is_secret(n) else v for n, v in given.items()}
        if named != given:
            named |= {"config.providers": "ksqlpy", "config.providers.ksqlpy.class": "ksqlpy.clients.Connections"}
        return {f"kafka.{n}": v for n, v in named.items()}

    # ------------------------------------------------------------ what may be shown

    @property
    def shown(self) -> dict[str, str]:
        """The settings as they were set, without secrets."""
        return {n: hidden(n, v) for n, v in sorted(self.settings.items())}

    def scrubbed(self, text: str) -> str:
        """A text of a client or a library without any of the secrets."""
        families = (self.settings, self._security.java, self._security.python)
        secrets = {v for of in families for n, v in of.items() if is_secret(n) and v}
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text
