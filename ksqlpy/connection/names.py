"""Names of settings of Kafka's clients: which may be set, for which clients, and which are fixed.

A setting is written with its Java name behind a prefix: ``kafka.`` (all clients), ``kafka.consumer.``,
``kafka.producer.``, ``kafka.admin.``, or as ksqlDB has it ``ksql.streams.``, ``ksql.streams.consumer.`` and so on.
Settings of security stand without a prefix as well. Sources: the Kafka documentation (Java's clients),
CONFIGURATION.md of librdkafka (the clients in Python).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ksqlpy.errors import ConfigProblem, shown, similar_names

__all__ = ["FIXED", "KINDS", "PYTHON_NAMES", "SECURITY", "Fixed", "Setting", "is_secret", "setting_of", "variables"]

KINDS = ("consumer", "producer", "admin")
"""The kinds of clients."""

_BOTH = {
    "client.dns.lookup": "client.dns.lookup",
    "connections.max.idle.ms": "connections.max.idle.ms",
    "metadata.max.age.ms": "metadata.max.age.ms",
    "metadata.recovery.strategy": "metadata.recovery.strategy",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "reconnect.backoff.max.ms": "reconnect.backoff.max.ms",
    "reconnect.backoff.ms": "reconnect.backoff.ms",
    "request.timeout.ms": "socket.timeout.ms",
    "retry.backoff.max.ms": "retry.backoff.max.ms",
    "retry.backoff.ms": "retry.backoff.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "socket.connection.setup.timeout.max.ms": None,
    "socket.connection.setup.timeout.ms": "socket.connection.setup.timeout.ms",
}
_CONSUMER = {
    "check.crcs": "check.crcs",
    "client.rack": "client.rack",
    "default.api.timeout.ms": None,
    "fetch.max.bytes": None,  # librdkafka wants it to be no less than message.max.bytes
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "fetch.min.bytes": "fetch.min.bytes",
    "max.partition.fetch.bytes": "max.partition.fetch.bytes",
    "max.poll.records": None,
}
_PRODUCER = {
    "batch.size": "batch.size",
    "buffer.memory": None,
    "compression.gzip.level": None,
    "compression.lz4.level": None,
    "compression.type": "compression.type",
    "compression.zstd.level": None,
    "linger.ms": "linger.ms",
    "max.block.ms": None,
    "max.request.size": "message.max.bytes",
    "metadata.max.idle.ms": None,
    "partitioner.adaptive.partitioning.enable": None,
    "partitioner.availability.timeout.ms": None,
}
_ADMIN: Mapping[str, str | None] = {"default.api.timeout.ms": None}

PYTHON_NAMES: Mapping[str, Mapping[str, str | None]] = {
    "consumer": {**_BOTH, **_CONSUMER},
    "producer": {**_BOTH, **_PRODUCER},
    "admin": {**_BOTH, **_ADMIN},
}
"""Settings that may be set, by kind and Java name: librdkafka's name, None where it has no such setting."""

SECURITY = frozenset(
    """
    security.protocol ssl.truststore.location ssl.truststore.type ssl.truststore.password ssl.truststore.certificates
    ssl.keystore.location ssl.keystore.type ssl.keystore.password ssl.keystore.key ssl.keystore.certificate.chain
    ssl.key.password ssl.endpoint.identification.algorithm ssl.ca.location ssl.ca.pem ssl.certificate.location
    ssl.certificate.pem ssl.key.location ssl.key.pem sasl.mechanism sasl.mechanisms sasl.jaas.config sasl.username
    sasl.password sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.method sasl.oauthbearer.client.id
    sasl.oauthbearer.client.secret sasl.oauthbearer.client.credentials.client.id
    sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.scope sasl.oauthbearer.extensions
    sasl.login.callback.handler.class
    """.split()  # noqa: SIM905
)
"""Settings of security, with the names of Java's clients and of librdkafka; they hold for all clients."""

_OF_SECURITY = re.compile(r"(?:security|ssl|sasl|https)\.|enable\.(?:ssl|sasl)\.")
_SECRET = re.compile(r"password|secret|jaas|keystore\.key|key\.pem")

_GROUPS = "the service and Spark assign partitions by themselves"
_LOSSLESS = "no result may be lost, written twice or passed by a later one"
_BYTES = "records are read and written as bytes"
_OWN_CLASSES = "it counts records, or gives results the coordinates by which a restart knows them"
_SOURCES = "the position of a query lies in its checkpoint"


@dataclass(frozen=True)
class Fixed:
    """A setting that is not to be changed: why, and the values that it has anyway."""

    why: str
    values: tuple[str, ...] = ()


FIXED: Mapping[str, Fixed] = {
    "acks": Fixed(_LOSSLESS, ("all", "-1")),
    "allow.auto.create.topics": Fixed("a topic is made by a statement only, not by who reads it", ("false",)),
    "auto.offset.reset": Fixed("the property auto.offset.reset says where new queries start"),
    "bootstrap.servers": Fixed("the property bootstrap.servers names the brokers of all clients"),
    "client.id": Fixed("it is the id of the query, by which its results are marked"),
    "delivery.timeout.ms": Fixed(_LOSSLESS, (str(2**31 - 1),)),
    "enable.auto.commit": Fixed(_SOURCES, ("false",)),
    "enable.idempotence": Fixed(_LOSSLESS, ("true",)),
    "group.id": Fixed(_GROUPS),
    "group.instance.id": Fixed(_GROUPS),
    "group.protocol": Fixed(_GROUPS),
    "group.remote.assignor": Fixed(_GROUPS),
    "interceptor.classes": Fixed(_OWN_CLASSES),
    "isolation.level": Fixed("the property isolation.level says which records of transactions are read"),
    "key.deserializer": Fixed(_BYTES),
    "key.serializer": Fixed(_BYTES),
    "max.in.flight.requests.per.connection": Fixed(_LOSSLESS, ("1",)),
    "metric.reporters": Fixed(_OWN_CLASSES),
    "partition.assignment.strategy": Fixed(_GROUPS),
    "partitioner.class": Fixed("records of a key must lie in the partition that all of Kafka's clients choose"),
    "partitioner.ignore.keys": Fixed(
        "records of a key must lie in the partition that all of Kafka's clients choose", ("false",)
    ),
    "retries": Fixed(_LOSSLESS, (str(2**31 - 1),)),
    "transaction.timeout.ms": Fixed("results are written without transactions"),
    "transactional.id": Fixed("results are written without transactions"),
    "value.deserializer": Fixed(_BYTES),
    "value.serializer": Fixed(_BYTES),
}
"""Settings that are not to be changed, by Java's names."""

_WORDS = {"client.dns.lookup", "client.rack", "compression.type", "metadata.recovery.strategy"}
_FLAGS = {"check.crcs", "partitioner.adaptive.partitioning.enable"}

_PREFIXES = tuple((f"{prefix}{kind}.", kind) for prefix in ("kafka.", "ksql.streams.", "") for kind in KINDS)


@dataclass(frozen=True)
class Setting:
    """A setting of Kafka's clients as somebody may write it.

    ``kind``: of the clients that it is for, None for all. ``name``: what Java's clients call it, or of security also
    what librdkafka calls it. ``own``: whether it is written in a way that only ksqlpy has, with ``kafka.``.
    """

    kind: str | None
    name: str
    own: bool = False

    @property
    def canonical(self) -> str:
        """The name under which it is kept and shown."""
        if self.name in SECURITY:
            return self.name
        return f"kafka.{self.name}" if self.kind is None else f"kafka.{self.kind}.{self.name}"

    @property
    def secures(self) -> bool:
        """Whether it is one of security."""
        return _OF_SECURITY.match(self.name) is not None

    @property
    def known(self) -> bool:
        """Whether some client of ours takes it."""
        if self.secures:
            return self.name in SECURITY
        return any(self.name in PYTHON_NAMES[k] for k in ([self.kind] if self.kind else KINDS))

    @property
    def fixed(self) -> bool:
        """Whether it must stay as it is."""
        return self.name in FIXED

    def checked(self, value: str, written: str) -> str:
        """The value to use, ``written``: how the setting's name was written.

        Raises ConfigProblem ``reserved-setting``, ``security-setting``, ``unknown-property`` or ``invalid-property``;
        none of them holds a secret.
        """
        value = value.strip() if self.name not in SECURITY else value
        if self.secures:
            return self._secured(value, written)
        if (fixed := FIXED.get(self.name)) is not None:
            if value.lower() not in fixed.values:
                kept = f"; it is always {fixed.values[0]}" if fixed.values else ""
                raise ConfigProblem(
                    "reserved-setting", f"{written} cannot be set: {fixed.why}{kept}", hint="leave it out"
                )
            return value
        if not self.known:
            raise ConfigProblem(
                "unknown-property",
                f"{f'{self.kind}s' if self.kind else 'clients'} of Kafka have no setting {shown(self.name)} to be set",
                similar=similar_names(self.name, _names(self.kind)),
                hint="see docs/configuration.md for those that can",
            )
        if self.name in _FLAGS and value.lower() not in ("true", "false"):
            raise ConfigProblem("invalid-property", f"property {written}: {shown(value)} must be one of true, false")
        if self.name not in _WORDS | _FLAGS and not re.fullmatch(r"-?[0-9]{1,19}", value):
            raise ConfigProblem("invalid-property", f"property {written}: {shown(value)} must be a whole number")
        return value

    def _secured(self, value: str, written: str) -> str:
        if self.name not in SECURITY:
            raise ConfigProblem(
                "security-setting",
                f"{written} cannot be set: Java's clients and librdkafka do not both have it, or not alike",
                similar=similar_names(self.name, SECURITY),
                hint="docs/security.md lists the settings of TLS and SASL",
            )
        if self.kind is not None:
            raise ConfigProblem(
                "security-setting",
                f"{written} cannot be set for some clients only: all of them reach the same brokers",
                hint=f"write {self.name}",
            )
        return value


def _names(kind: str | None) -> list[str]:
    return sorted({n for k in ([kind] if kind else KINDS) for n in PYTHON_NAMES[k]})


def is_secret(name: str) -> bool:
    """Whether a setting's value must not be shown."""
    return _SECRET.search(name) is not None


def setting_of(name: str) -> Setting | None:
    """The setting of Kafka's clients that is meant by a property's name; None if none is.

    A name with ``kafka.`` is always one, also if no client knows it. One that ksqlDB hands to its clients is one if a
    client of ours knows it, or if it must stay as it is.
    """
    name = name.strip()
    for prefix, kind in _PREFIXES:
        if name.startswith(prefix):
            found = Setting(kind, name.removeprefix(prefix), prefix.startswith("kafka."))
            return found if found.own or found.known or found.fixed or found.secures else None
    if name.startswith("kafka."):
        return Setting(None, name.removeprefix("kafka."), own=True)
    found = Setting(None, name.removeprefix("ksql.streams."))
    return found if found.secures or found.name in _BOTH else None


def variables() -> dict[str, str]:
    """The variables of the environment that set them, with the property of each: ``KSQLPY_SASL_PASSWORD``, …"""
    names = [*SECURITY, *(Setting(None, n).canonical for n in _BOTH)]
    names += [Setting(kind, n).canonical for kind in KINDS for n in PYTHON_NAMES[kind]]
    return {"KSQLPY_" + n.replace(".", "_").upper(): n for n in names}
