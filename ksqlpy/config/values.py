"""The properties of the server and of statements: default, check and meaning of each.

Names follow ksqlDB's server configuration; what only ksqlpy has begins with ``ksqlpy.``. A property may be written with
the prefix ``ksql.streams.`` where ksqlDB allows it. It is longer than other files, since it is one table.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ksqlpy.connection import KafkaConnection
from ksqlpy.connection.names import is_secret, setting_of, variables
from ksqlpy.connection.tls import TLS
from ksqlpy.errors import ConfigProblem, file_reason, shown, similar_names
from ksqlpy.formats import FORMATS
from ksqlpy.registry import SchemaRegistry
from ksqlpy.streamsproperties import IDLE_TIMEOUT, is_without_meaning
from ksqlpy.topicnames import checked_topic_name

__all__ = ["PROPERTIES", "Config", "Property", "warnings_of"]

log = logging.getLogger(__name__)


def _text(value: str) -> str:
    return value


def _one_of(*allowed: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        for a in allowed:
            if value.lower() == a.lower():
                return a
        raise ValueError(f"must be one of {', '.join(allowed)}")

    return check


def _format(value: str) -> str:
    return _one_of(*FORMATS)(value)


def _integer(low: int, high: int) -> Callable[[str], str]:
    def check(value: str) -> str:
        number = int(value) if re.fullmatch(r"\s*[+-]?[0-9]{1,20}\s*", value) else None
        if number is None or not low <= number <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return str(number)

    return check


def _limit(value: str) -> str:
    return value and _integer(1, 2**31 - 1)(value)


def _idle(value: str) -> str:
    return value and _integer(1, 2**53)(value)


def _guarantee(value: str) -> str:
    # Kafka Streams' names, of which the newer ones stand for newer protocols.
    name = value.strip().lower()
    if name in ("exactly_once", "exactly_once_v2", "exactly_once_beta"):
        return "exactly_once"
    if name == "at_least_once":
        return name
    raise ValueError("must be one of exactly_once, at_least_once")


def _memory(value: str) -> str:
    if not (value[:-1].isascii() and value[:-1].isdigit() and value[-1:] in "mgMG"):
        raise ValueError("must be a size such as 1g or 800m")
    if int(value[:-1]) * (1024 if value[-1] in "gG" else 1) < 450:
        raise ValueError("must be 450m at least: Spark does not start with less")
    return value.lower()


def _prefix(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{0,100}", value):
        raise ValueError("may hold up to 100 letters (a to z), digits, '.', '_' and '-' only")
    return value


def _hosts(value: str) -> str:
    names = [n.strip().lower().strip("[]") for n in value.split(",") if n.strip()]
    if not all(re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*", n) for n in names):
        raise ValueError("must be names or addresses without ports, with commas between them")
    return ",".join(names)


def _origins(value: str) -> str:
    origins = [o.strip().lower().removesuffix("/") for o in value.split(",") if o.strip()]
    # Not "*" and not "null": either would let any page of any site run statements.
    if not all(re.fullmatch(r"[a-z][a-z0-9+.-]*://[a-z0-9._:\[\]-]+", o) for o in origins):
        raise ValueError("must be origins such as https://console.example:3000, with commas between them")
    usual = {"http": ":80", "https": ":443"}  # browsers leave it out
    return ",".join(o.removesuffix(usual.get(o.partition(":")[0], "/")) for o in origins)


def _name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,100}", value):
        raise ValueError("must be a name of letters (a to z), digits and '_'")
    return value.upper()


def _topic(value: str) -> str:
    try:
        return value and checked_topic_name(value)
    except ValueError as e:
        raise ValueError(f"must be {e}") from e


@dataclass(frozen=True)
class Property:
    """One property.

    ``check`` gives the canonical text or raises ValueError with what is wanted. ``session``: whether a statement's SET
    or ``streamsProperties`` may change it. ``secret``: its value is not shown.
    """

    name: str
    default: str
    help: str
    check: Callable[[str], str] = _text
    session: bool = False
    secret: bool = False


_DEFINED = (
    Property("bootstrap.servers", "", "Kafka to use; empty: a broker is started and stopped with the server."),
    Property("ksql.service.id", "default_", "Name of the service; prefix of its internal topics.", _prefix),
    Property(
        "ksqlpy.data.dir",
        "",
        "Folder for checkpoints, logs and the embedded broker; empty: a temporary one. Where it is not set, ksqlpy "
        "server and ksqlpy dev take one in ~/.local/share/ksqlpy ($XDG_DATA_HOME).",
    ),
    Property(
        "ksqlpy.checkpoint.dir",
        "",
        "Folder for checkpoints, a path or any URI that Hadoop knows; empty: inside ksqlpy.data.dir.",
    ),
    Property("ksqlpy.host", "127.0.0.1", "Address that the server listens on."),
    Property("ksqlpy.port", "8088", "Port that the server listens on; 0 picks a free one.", _integer(0, 65535)),
    Property(
        "ksqlpy.readers",
        "0",
        "Processes beside the server that answer lookups on the same port, each from copies of its own.",
        _integer(0, 64),
    ),
    Property(
        "ksql.server.command.response.timeout.ms",
        "5000",
        "How long a request waits for the command of its commandSequenceNumber; then it fails with 50301.",
        _integer(0, 3_600_000),
    ),
    Property(
        "ksqlpy.insecure",
        "false",
        "Whether the server may listen on an address that other machines reach, though it asks nobody for a login.",
        _one_of("true", "false"),
    ),
    Property(
        "ksqlpy.allowed.hosts",
        "",
        "More names that the server goes by in the header Host, with commas between them. It knows localhost, "
        "ksqlpy.host, this machine's name and the addresses that it listens on.",
        _hosts,
    ),
    Property(
        "access.control.allow.origin",
        "",
        "Origins, such as https://console.example, whose pages may use the server from a browser, with commas between "
        "them; empty: none.",
        _origins,
    ),
    Property(
        "ksqlpy.standby",
        "false",
        "Whether the server waits while another one runs the service, and takes over when that one is gone. Both need "
        "the same ksqlpy.checkpoint.dir, and a ksqlpy.data.dir each.",
        _one_of("true", "false"),
    ),
    Property(
        "ksqlpy.kafka.port",
        "0",
        "Port of the embedded broker; 0: the one that it had with this data folder, at first any free one.",
        _integer(0, 65535),
    ),
    Property("ksqlpy.spark.master", "local[512]", "Spark master; every task of a running query holds a slot of it."),
    Property(
        "ksqlpy.warm.up",
        "true",
        "Runs a small warm-up query at the server's start, and on executors that join later.",
        _one_of("true", "false"),
    ),
    Property(
        "ksqlpy.spark.spare.driver",
        "true",
        "Whether a server on a Spark cluster keeps a second, warm JVM for its driver, so that queries are back sooner "
        "when the driver has died. It needs the memory of one more driver.",
        _one_of("true", "false"),
    ),
    Property("ksqlpy.spark.java.options", "", "More options of Spark's driver JVM."),
    Property("ksqlpy.spark.memory", "700m", "Heap of Spark's driver JVM.", _memory),
    Property(
        "auto.offset.reset",
        "latest",
        "Where a new query starts to read: earliest or latest. Tables are read from the start unless it is set.",
        _one_of("earliest", "latest"),
        session=True,
    ),
    Property(
        "commit.interval.ms",
        "60000",
        "Time between the checkpoints of a query; it costs recovery time, never latency.",
        _integer(1000, 3_600_000),
        session=True,
    ),
    Property(
        "ksqlpy.query.mode",
        "auto",
        "How a query runs. real-time: row by row; micro-batch: what came since the last batch, every "
        "ksqlpy.batch.interval; auto: in real time if every step of it can.",
        _one_of("auto", "real-time", "micro-batch"),
        session=True,
    ),
    Property(
        "ksqlpy.batch.interval",
        "1000",
        "Milliseconds from the start of one micro-batch to the next, for queries that run in micro-batches.",
        _integer(10, 3_600_000),
        session=True,
    ),
    Property(
        "processing.guarantee",
        "exactly_once",
        "exactly_once: no result is lost or written twice, whatever ends; at_least_once: a restart may repeat results.",
        _guarantee,
        session=True,
    ),
    Property(
        "isolation.level",
        "read_uncommitted",
        "Which records of transactions are read from source topics with processing.guarantee = at_least_once. "
        "read_uncommitted: all, when they come; read_committed: those of committed transactions, when they are "
        "committed. With exactly_once it is always read_committed.",
        _one_of("read_uncommitted", "read_committed"),
        session=True,
    ),
    Property(
        "ksql.query.parallelism",
        "0",
        "Partitions of a new query's stateful steps, fixed with its state; 0: as many as its largest source topic has.",
        _integer(0, 1024),
        session=True,
    ),
    Property(
        "ksql.late.records.topic",
        "",
        "Topic for the records that come too late for a window of a new query, as they are, with their place and the "
        "reason in headers; made if it is not there. Empty: they are counted and dropped.",
        _topic,
        session=True,
    ),
    Property(
        "max.task.idle.ms",
        "0",
        "How many milliseconds a query with several source partitions waits for a record of a partition at its end "
        "before it goes on with the others, as in Kafka Streams: 0: only while the brokers have more of it; -1: never. "
        "On a Spark cluster -1 also has filters and GROUP BY without a window read each partition in a task of its "
        "own, without a common order.",
        _integer(-1, 2**53),
        session=True,
    ),
    Property(
        "ksql.emit.final.idle.ms",
        "",
        "Of a new query with EMIT FINAL: milliseconds without a record after which windows are closed by the clock, at "
        "the next checkpoint. Empty: only later records close windows.",
        _idle,
        session=True,
    ),
    Property(
        "ksqlpy.emit.final.forgetful",
        "false",
        "Whether a new query with EMIT FINAL loses the windows that ksqlDB loses: where stream time jumps by more than "
        "SIZE + GRACE PERIOD, Kafka Streams has dropped a window before it is closed.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksqlpy.internal.topics.read",
        "false",
        "Whether CREATE SOURCE may declare internal topics, such as the command log; nothing writes or deletes them.",
        _one_of("true", "false"),
    ),
    Property(
        "ksqlpy.dead.letters.stream.auto.create",
        "false",
        "Whether a start of the server declares a stream over the dead letters, which statements may then read.",
        _one_of("true", "false"),
    ),
    Property("ksqlpy.dead.letters.stream.name", "KSQLPY_DEAD_LETTERS", "Name of the stream of dead letters.", _name),
    Property(
        "ksql.logging.processing.topic.auto.create",
        "false",
        "Whether the server keeps the processing log, and makes its topic if it is not there.",
        _one_of("true", "false"),
    ),
    Property(
        "ksql.logging.processing.topic.name",
        "",
        "Topic of the processing log; empty: ksql.service.id with ksql_processing_log behind it.",
        _topic,
    ),
    Property(
        "ksql.logging.processing.stream.auto.create",
        "false",
        "Whether the server keeps the processing log in a topic that is there, and declares a stream over it.",
        _one_of("true", "false"),
    ),
    Property("ksql.logging.processing.stream.name", "KSQL_PROCESSING_LOG", "Name of that stream.", _name),
    Property(
        "ksql.logging.processing.rows.include",
        "false",
        "Whether entries of the processing log hold the records that they are about.",
        _one_of("true", "false"),
    ),
    Property(
        "ksql.query.retry.backoff.initial.ms",
        "1000",
        "How long a query that failed waits before it starts again; twice as long each time.",
        _integer(1, 3_600_000),
    ),
    Property(
        "ksql.query.retry.backoff.max.ms",
        "60000",
        "The longest time that a query that failed waits before it starts again.",
        _integer(1, 86_400_000),
    ),
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
        _one_of("USER_INFO", "URL"),
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
    Property(
        "ksql.persistence.default.format.key",
        "KAFKA",
        "Key format where a statement names none.",
        _format,
        session=True,
    ),
    Property(
        "ksql.persistence.default.format.value",
        "",
        "Value format where a statement names none; empty: it is inferred from the topic.",
        lambda value: value and _format(value),
        session=True,
    ),
    Property(
        "ksql.persistence.wrap.single.values",
        "",
        "Whether a single value column is written as a record if a statement does not say; empty: as its format does.",
        _one_of("", "true", "false"),
        session=True,
    ),
    Property(
        "ksql.functions.collect_list.limit",
        "",
        "How many values COLLECT_LIST keeps of a group; empty: all.",
        _limit,
        session=True,
    ),
    Property(
        "ksql.functions.collect_set.limit",
        "",
        "How many values COLLECT_SET keeps of a group; empty: all.",
        _limit,
        session=True,
    ),
    Property(
        "ksql.query.push.v2.continuation.tokens.enabled",
        "false",
        "Whether push queries of columns of one source give continuation tokens, with which they can go on.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksqlpy.connections.max",
        "5000",
        "How many connections the server keeps, and at most half as many as it may have open files; where there are"
        " more, those that have rested longest are closed.",
        _integer(1, 1_000_000),
    ),
    Property(
        "ksqlpy.windows.per.record",
        "20000",
        "In how many windows of a HOPPING window a record may be; a statement with more is refused.",
        _integer(1, 10_000_000),
    ),
    Property(
        "ksqlpy.record.max.bytes",
        "16777216",
        "How many bytes of key and value a record has at most, unpacked; queries make a dead letter of a larger one.",
        _integer(1_000, 2**31 - 1),
    ),
    Property(
        "ksqlpy.statements.max.bytes",
        "1048576",
        "How many bytes of statements one request may have; more are refused.",
        _integer(1_000, 16 * 2**20),
    ),
    Property(
        "ksql.max.push.queries",
        "1000",
        "How many push queries may be open at one time; more of them are refused (40003).",
        _integer(1, 100_000),
    ),
    Property(
        "ksql.pull.queries.enable",
        "true",
        "Whether the server answers pull queries.",
        _one_of("true", "false"),
    ),
    Property(
        "ksql.query.pull.table.scan.enabled",
        "true",
        "Whether a pull query may go through a whole table.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.query.pull.range.scan.enabled",
        "true",
        "Whether a pull query may go through a range of keys where it may not go through a whole table.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.query.pull.stream.enabled",
        "true",
        "Whether pull queries may read streams.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.query.pull.limit.clause.enabled",
        "true",
        "Whether pull queries may have LIMIT.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.query.pull.max.qps",
        "0",
        "How many pull queries are answered in a second at most; more of them are refused (42900); 0: any number.",
        _integer(0, 2**31 - 1),
    ),
    Property(
        "ksql.query.pull.max.concurrent.requests",
        "0",
        "How many pull queries may be answered at one time; more of them are refused (42900); 0: any number.",
        _integer(0, 2**31 - 1),
    ),
    Property(
        "ksqlpy.pull.wait.ms",
        "0",
        "For how many milliseconds a pull query waits at most until what it reads reflects all records that the inputs "
        "of its queries had when it was asked (read your writes); 0: it reads what is there.",
        _integer(0, 600_000),
        session=True,
    ),
    Property(
        "ksql.create.or.replace.enabled",
        "true",
        "Whether CREATE OR REPLACE may change what exists.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.new.query.planner.enabled",
        "false",
        "Whether a stream made of a stream has those of its key columns that are selected, in the order of SELECT; "
        "else all must be selected, and keep their order.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.variable.substitution.enable",
        "true",
        "Whether ${name} in a statement is replaced by the value of the session's variable.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.assert.topic.default.timeout.ms",
        "1000",
        "How long ASSERT TOPIC waits where it names no TIMEOUT.",
        _integer(0, 86_400_000),
        session=True,
    ),
    Property(
        "ksql.assert.schema.default.timeout.ms",
        "1000",
        "How long ASSERT SCHEMA waits where it names no TIMEOUT.",
        _integer(0, 86_400_000),
        session=True,
    ),
    Property(
        "ksql.timestamp.throw.on.invalid",
        "false",
        "Whether a record whose TIMESTAMP column gives no event time ends its queries with an error; else it is a dead "
        "letter.",
        _one_of("true", "false"),
        session=True,
    ),
    Property(
        "ksql.sink.partitions",
        "0",
        "How many partitions the topic of a query's result gets, where WITH does not say it; 0: as many as that of the "
        "left-most source.",
        _integer(0, 100_000),
        session=True,
    ),
    Property(
        "ksql.sink.replicas",
        "0",
        "How many replicas that topic gets, where WITH does not say it; 0: as many as the brokers say.",
        _integer(0, 1000),
        session=True,
    ),
    Property(
        "ksql.output.topic.name.prefix",
        "",
        "Put before the names of the topics that queries make.",
        _prefix,
        session=True,
    ),
)

SPARK_CONF = "ksqlpy.spark.conf."
"""Begins the names of properties that are settings of Spark."""

PROPERTIES: Mapping[str, Property] = {p.name: p for p in _DEFINED}
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
