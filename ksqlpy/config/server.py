"""The server: where it is reached, what it keeps, how much it takes."""

from __future__ import annotations

from ksqlpy.config.checks import hosts, integer, one_of, origins, prefix
from ksqlpy.config.property import Property

__all__ = ["SERVER"]

SERVER = (
    Property("bootstrap.servers", "", "Kafka to use; empty: a broker is started and stopped with the server."),
    Property("ksql.service.id", "default_", "Name of the service; prefix of its internal topics.", prefix),
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
    Property("ksqlpy.port", "8088", "Port that the server listens on; 0 picks a free one.", integer(0, 65535)),
    Property(
        "ksqlpy.readers",
        "0",
        "Processes beside the server that answer lookups on the same port, each from copies of its own.",
        integer(0, 64),
    ),
    Property(
        "ksqlpy.metrics.ksqldb.names",
        "false",
        "Whether GET /metrics also has ksqlDB's metrics, by the names of Prometheus' exporter of JMX.",
        one_of("true", "false"),
    ),
    Property(
        "ksqlpy.project.folders",
        "",
        "Folders of this machine, with commas between them, below which POST /plan may read projects; empty: none.",
    ),
    Property(
        "ksql.server.command.response.timeout.ms",
        "5000",
        "How long a request waits for the command of its commandSequenceNumber; then it fails with 50301.",
        integer(0, 3_600_000),
    ),
    Property(
        "ksqlpy.insecure",
        "false",
        "Whether the server may listen on an address that other machines reach, though it asks nobody for a login.",
        one_of("true", "false"),
    ),
    Property(
        "ksqlpy.allowed.hosts",
        "",
        "More names that the server goes by in the header Host, with commas between them. It knows localhost, "
        "ksqlpy.host, this machine's name and the addresses that it listens on.",
        hosts,
    ),
    Property(
        "access.control.allow.origin",
        "",
        "Origins, such as https://console.example, whose pages may use the server from a browser, with commas between "
        "them; empty: none.",
        origins,
    ),
    Property(
        "ksqlpy.standby",
        "false",
        "Whether the server waits while another one runs the service, and takes over when that one is gone. Both need "
        "the same ksqlpy.checkpoint.dir, and a ksqlpy.data.dir each.",
        one_of("true", "false"),
    ),
    Property(
        "ksqlpy.kafka.port",
        "0",
        "Port of the embedded broker; 0: the one that it had with this data folder, at first any free one.",
        integer(0, 65535),
    ),
    Property(
        "ksqlpy.connections.max",
        "5000",
        "How many connections the server keeps, and at most half as many as it may have open files; where there are"
        " more, those that have rested longest are closed. A quarter as many may be in their TLS handshake besides.",
        integer(1, 1_000_000),
    ),
    Property(
        "ksqlpy.statements.max.bytes",
        "1048576",
        "How many bytes of statements one request may have; more are refused.",
        integer(1_000, 16 * 2**20),
    ),
)
