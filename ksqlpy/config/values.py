"""The values of properties: where they are read, how they are checked, which are in force."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ksqlpy.config.access import ACCESS
from ksqlpy.config.audit import AUDIT
from ksqlpy.config.functions import FUNCTIONS
from ksqlpy.config.logs import LOGS
from ksqlpy.config.property import Property
from ksqlpy.config.queries import QUERIES
from ksqlpy.config.reads import READS
from ksqlpy.config.schema_registry import SCHEMA_REGISTRY
from ksqlpy.config.server import SERVER
from ksqlpy.config.spark import SPARK
from ksqlpy.config.statements import STATEMENTS
from ksqlpy.config.traces import TRACES
from ksqlpy.connection import KafkaConnection
from ksqlpy.connection.names import setting_of, variables
from ksqlpy.connection.tls import TLS
from ksqlpy.errors import ConfigProblem, file_reason, shown, similar_names
from ksqlpy.registry import SchemaRegistry
from ksqlpy.streamsproperties import IDLE_TIMEOUT, is_without_meaning

__all__ = ["PROPERTIES", "Config", "warnings_of"]

log = logging.getLogger(__name__)

SPARK_CONF = "ksqlpy.spark.conf."
"""Begins the names of properties that are settings of Spark."""

PROPERTIES: Mapping[str, Property] = {
    p.name: p
    for family in (SERVER, ACCESS, AUDIT, SPARK, QUERIES, STATEMENTS, FUNCTIONS, READS, LOGS, TRACES, SCHEMA_REGISTRY)
    for p in family
}
"""All properties by name."""


@dataclass(frozen=True)
class Config:
    """Properties that are set; the rest have their defaults.

    ``clients``: settings of Kafka's clients by their canonical names; ``spark``: settings of Spark
    (``ksqlpy.spark.conf.*``). Both may hold secrets, and are not shown.
    """

    values: Mapping[str, str] = field(repr=False)
    clients: Mapping[str, str] = field(default_factory=dict, repr=False)
    spark: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, values: Mapping[str, object] | None = None) -> Config:
        """Checks and keeps the given properties.

        Those of Kafka Streams that have no meaning here are left out, with a warning in the log. Raises ConfigProblem
        ``unknown-property``, ``invalid-property``, and of Kafka's clients ``reserved-setting`` and
        ``security-setting``. Which settings of Spark are reserved is seen when Spark is started.
        """
        own: dict[str, object] = {}
        clients: dict[str, str] = {}
        spark: dict[str, str] = {}
        for name, value in (values or {}).items():
            if name.strip().startswith(SPARK_CONF):
                spark[name.strip().removeprefix(SPARK_CONF)] = str(value)
                continue
            setting = None if _known(name) is not None else setting_of(name)
            if setting is None:
                own[name] = value
            else:
                clients[setting.canonical] = setting.checked(str(value), name.strip())
        for warning in warnings_of(own):
            log.warning("%s", warning)
        made = cls({p.name: text for p, text in _checked(own.items())}, clients, spark)
        if made.values.get("isolation.level") == "read_uncommitted" and made.committed:
            log.warning("property isolation.level changes nothing: exactly_once reads what is committed")
        return made

    @property
    def all_given(self) -> dict[str, str]:
        """All properties as :meth:`of` takes them, secrets too."""
        return {**self.values, **self.clients, **{f"{SPARK_CONF}{n}": v for n, v in self.spark.items()}}

    def connection(self) -> KafkaConnection:
        """How the brokers are reached; reads the files that the settings of TLS name.

        Raises ConfigProblem ``security-setting`` and ``invalid-property``, neither of which holds a secret.
        """
        return KafkaConnection.of(self.get("bootstrap.servers"), self.clients)

    def registry(self) -> SchemaRegistry | None:
        """The schema registry, None where there is none; reads the files that the settings of TLS name.

        Raises ConfigProblem ``invalid-property`` and ``security-setting``, neither of which holds a secret.
        """
        prefix = "ksql.schema.registry"
        return SchemaRegistry.of(
            self.get(f"{prefix}.url"),
            self.get(f"{prefix}.basic.auth.credentials.source"),
            self.get(f"{prefix}.basic.auth.user.info"),
            self.get(f"{prefix}.bearer.auth.token"),
            {n: value for n in TLS if (value := self.values.get(f"{prefix}.{n}")) is not None},
        )

    @classmethod
    def from_file(cls, file: Path) -> dict[str, str]:
        """The ``key=value`` lines of a properties file; ``#`` starts a comment line. Raises ConfigProblem.

        A line that ends with a backslash goes on in the next one, as in Java's files of properties.
        """
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as e:
            raise ConfigProblem(
                "config-unreadable", f"the configuration file {file} cannot be read: {file_reason(e)}"
            ) from e
        found = {}
        for number, line in _joined(lines):
            if line.strip() and not line.lstrip().startswith("#"):
                key, equals, value = line.partition("=")
                if not equals:
                    raise ConfigProblem("config-unreadable", f"line {number} of {file} is not key=value")
                found[key.strip()] = value.strip()
        return found

    @classmethod
    def from_environment(cls) -> dict[str, str]:
        """Properties from variables such as ``KSQLPY_BOOTSTRAP_SERVERS``, ``KSQLPY_PORT``, ``KSQLPY_SASL_PASSWORD``."""
        found = {name: os.environ[variable] for variable, name in variables().items() if variable in os.environ}
        for p in PROPERTIES.values():
            variable = "KSQLPY_" + p.name.removeprefix("ksqlpy.").replace(".", "_").upper()
            if variable in os.environ:
                found[p.name] = os.environ[variable]
        return found

    def get(self, name: str) -> str:
        """The value in force."""
        return self.values.get(name, PROPERTIES[name].default)

    def is_set(self, name: str) -> bool:
        """Whether somebody set it, so that its default does not apply."""
        return name in self.values

    @property
    def committed(self) -> bool:
        """Whether source topics are read up to their last stable offset, without records of aborted transactions.

        As in Kafka Streams: always with exactly_once, else as the consumers' property isolation.level says.
        """
        return self.get("processing.guarantee") == "exactly_once" or self.get("isolation.level") == "read_committed"

    def number(self, name: str) -> int:
        """The value of a numeric property."""
        return int(self.get(name))

    def for_statement(self, overrides: Mapping[str, object]) -> Config:
        """With the overrides of a request; raises ConfigProblem where one is unknown, invalid or not for statements."""
        checked = _checked(overrides.items())
        for p, _ in checked:
            if not p.session:
                raise ConfigProblem(
                    "fixed-property", f"{p.name} is set when the server starts and cannot be changed by a statement"
                )
        return Config({**self.values, **{p.name: text for p, text in checked}}, self.clients, self.spark)


def _joined(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines with the numbers at which they begin, those that go on in the next one together with it."""
    whole, begun = "", 0
    for number, line in enumerate(lines, 1):
        whole, begun = (whole + line.lstrip(), begun) if begun else (line, number)
        comment = whole.lstrip().startswith("#")
        if not comment and (len(whole) - len(whole.rstrip("\\"))) % 2:
            whole = whole[:-1]
            continue
        yield begun, whole
        begun = 0
    if begun:
        yield begun, whole


def warnings_of(names: Iterable[str]) -> list[str]:
    """What to tell who sets these properties in a statement: which of them change nothing."""
    found = []
    for name in names:
        if _known(name) is not None or not is_without_meaning(name.strip()):
            continue
        if setting_of(name) is not None:
            found.append(f"property {name} is taken when the server starts; a statement changes nothing by it")
        else:
            whose = "ksqlDB" if name.strip() == IDLE_TIMEOUT else "Kafka Streams"
            found.append(f"property {name} of {whose} has no meaning here and changes nothing")
    return found


def _known(name: str) -> Property | None:
    plain = name.strip().removeprefix("ksql.streams.").removeprefix("consumer.")
    return PROPERTIES.get(plain) or PROPERTIES.get(name.strip())


def _checked(items: Iterable[tuple[str, object]]) -> list[tuple[Property, str]]:
    result = []
    for name, value in items:
        p = _known(name)
        if p is None and is_without_meaning(name.strip()):
            continue
        if p is None and (setting_of(name) is not None or name.strip().startswith(SPARK_CONF)):
            raise ConfigProblem(
                "fixed-property",
                f"{name.strip()} is set when the server starts and cannot be changed by a statement",
            )
        if p is None:
            raise ConfigProblem(
                "unknown-property",
                f"there is no property {shown(name)}",
                similar=similar_names(name.strip().removeprefix("ksql.streams."), PROPERTIES),
                hint="SHOW PROPERTIES lists them all",
            )
        try:
            result.append((p, p.check(str(value))))
        except ValueError as e:
            raise ConfigProblem("invalid-property", f"property {p.name}: {shown(value)} {e}") from e
    return result
