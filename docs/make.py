"""Writes the pages that are generated from code and data: ``make docs`` writes each page of ``PAGES``.

With an argument, a folder, it writes there instead.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ksqlpy.config import PROPERTIES
from ksqlpy.connection.names import FIXED, KINDS, PYTHON_NAMES, SECURITY
from ksqlpy.figures import ENGINE_METRICS, FIGURES, KSQLDB_METRICS, SERVER_METRICS, Figure, Metric, query_metrics
from ksqlpy.formats import FORMATS, Format
from ksqlpy.formats.contract import DECLARED
from ksqlpy.shell.help import Topic, topics
from ksqlpy.shell.syntax import syntax

DOCS = Path(__file__).resolve().parent
ERRORS = DOCS.parent / "grammar" / "errors.toml"

_SECTIONS = {
    "syntax": ("Syntax", "The text is not a statement of the language. Nothing is done."),
    "analysis": ("Statements", "The statement is not valid for these sources, types and properties. Nothing is done."),
    "configuration": ("Configuration and commands", "A property, an option, a file or a request has no valid value."),
    "environment": ("Environment", "The machine or the network lacks something."),
    "runtime": ("Runtime", "Something failed while it ran."),
}

_METRICS_HEAD = """\
# Figures and metrics

Written by `make docs` from `ksqlpy/figures/`; not to be edited.

## Figures of queries

`EXPLAIN query;` shows the figures of a query, `DESCRIBE source EXTENDED;` those of all queries of a source, and
`SHOW QUERIES EXTENDED;` those of all queries. Answers of the REST API have them under their names in `figures` and
`queryFigures`; null stands for what is not known. On a [cluster](cluster.md) the figures of a query are those of all
executors together. Counts begin at 0 when Spark's JVM starts, those of dead letters when their topic was made.

| name | title | unit | meaning | over executors |
|---|---|---|---|---|
"""

_PROMETHEUS = """
## Prometheus

`GET /metrics` answers in the text format of Prometheus. Spark's JVM is asked once for all queries; what it has told is
kept for two seconds. A scrape waits for the answer: for 50 ms where less than 30 seconds ago something was told, else
until it is there. Then it tells what was told before; the answer that comes later is told by the next scrape. So a
scrape is quick where queries use all processors, and exact to the moment where they do not. While the JVM does not
answer, its figures of before are told for a minute. `ksqlpy_figures_age_seconds` is the age of the figures at the time
of the scrape: with a JVM that has died or hangs it grows, and `KsqlpyNoFigures` of the alert rules fires. Rates,
`ksqlpy_query_stalled_seconds` and `ksqlpy_query_lag_seconds` are those at the time of the figures. While the server
starts or stops only its own metrics are told. A metric that is not known has no sample. Metrics of queries are those of
persistent ones and have the label `query`.

    scrape_configs:
      - job_name: ksqlpy
        static_configs:
          - targets: ["127.0.0.1:8088"]

A name under which Prometheus reaches the server stands in `ksqlpy.allowed.hosts`, unless it is an address.
[examples/monitoring](../examples/monitoring) has alert rules and a dashboard for Grafana. The metrics of the process
(`process_cpu_seconds_total`, `process_resident_memory_bytes`, …) are those of the server's own process, without
Spark's JVM, which has `ksqlpy_jvm_cpu_seconds_total` and others.

How many rows a query keeps in its state is not told: RocksDB counts a row again each time that it is written, until it
compacts its files, and a true count would cost a read for each write. `ksqlpy_query_state_bytes` is the size.

The same is true of the rows of copies of tables. What is told of a copy is what it has itself seen a moment ago: a
scrape waits neither for brokers nor for pull queries.

The label `reason` of dead letters is `unreadable` (a record), `unwritable` (a result), `too_large` or `skipped` (by
SKIP). The texts of the reasons stand in the [letters](concepts.md).

`GET /live` answers 200 as long as the server can go on, and 503 once only another process can, since another server
has the service. `GET /ready` answers 200 while statements are taken.

"""

_KSQLDB = """\
With the server property `ksqlpy.metrics.ksqldb.names` = `true` there are also ksqlDB's metrics, by the names that
Confluent's rules for Prometheus' JMX exporter give them, so that dashboards and alerts made for ksqlDB go on. There are
none of bytes, of single clients and topics, of RocksDB and of pull queries; a rate is that since the server looked
before: at a scrape, each ten seconds, and each second while somebody reads `GET /figures`.

"""

_FAMILIES = """\
| name | type | labels | meaning |
|---|---|---|---|
"""

_ERRORS_HEAD = """\
# Error codes

Every error has a code, one sentence, the place in the SQL where there is one, and a hint. The code stands in
`error[code]: …` at the prompt and in logs. REST answers give the sentence in `message` and ksqlDB's number in
`error_code`. Written by `make docs` from `grammar/errors.toml`; not to be edited.
"""

_CONFIGURATION_HEAD = """\
# Configuration

A property is set in the server's configuration file (`ksqlpy server --config FILE`), in the environment
(`KSQLPY_BOOTSTRAP_SERVERS`) or as an option of the command. Those with "yes" under "per statement" may also be set with
`SET 'name' = 'value';` and in `streamsProperties` of a request. The prefix `ksql.streams.` is accepted where ksqlDB
accepts it. `SHOW PROPERTIES;` lists the values in force. Written by
`make docs` from `ksqlpy/config/` and `ksqlpy/connection/names.py`; not to be edited.

| property | default | per statement | meaning |
|---|---|---|---|
"""

_CLIENTS_HEAD = """
## Settings of Spark

Settings of Spark have its names, with the prefix `ksqlpy.spark.conf.`, as in
`ksqlpy.spark.conf.spark.hadoop.fs.s3a.endpoint=…`. Those that results depend on are refused (`reserved-setting`), with
the reason.

## Settings of Kafka's clients

Settings of Kafka's clients have Java's names, with a prefix: `kafka.` is for all clients, `kafka.consumer.`,
`kafka.producer.` and `kafka.admin.` for one kind. ksqlDB's prefixes mean the same: `ksql.streams.`,
`ksql.streams.consumer.`, `ksql.streams.producer.`, `ksql.streams.admin.`. They are set when the server starts, in the
file, in the environment (`KSQLPY_KAFKA_PRODUCER_LINGER_MS`) or with `-D`. `SHOW PROPERTIES;` lists those that are set;
secrets are `[hidden]`. The clients in Python, which are of librdkafka, get the settings that librdkafka has. Where the
server's own clients need a value, they keep it. Values that a client does not accept end the start.

| setting | clients | in Python |
|---|---|---|
"""

_SECURITY_HEAD = """
Settings of TLS and SASL stand without a prefix and hold for all clients; there are
[examples](security.md#connect-to-a-secured-kafka). Java's names and those of librdkafka are accepted:

"""

_FIXED_HEAD = """
These settings must stay as they are. The start is refused where one is set to another value:

| setting | value | reason |
|---|---|---|
"""

_STATEMENTS_HEAD = """\
# Statements

Words in capitals are keywords. `[…]` may be left out, `{a | b}` is one of several, `…` repeats; names in lower case are
parts, whose syntax is indented below. Queries, types and time are in the [SQL reference](sql-reference.md). `help NAME`
shows the same in the shell. Written by `make docs` from `ksqlpy/shell/help.toml` and `grammar/ksql.lark`; not to be
edited.

"""

_FORMATS_HEAD = """\
# Formats

Each may be the format of keys (KEY_FORMAT) and of values (VALUE_FORMAT), or of both (FORMAT). A key holds no MAP, and
the keys of a MAP are STRING. Written by `make docs` from `ksqlpy/formats`; not to be edited.

| format | records | types | columns | WRAP_SINGLE_VALUE | delimiter | values in JOIN, GROUP BY | columns of CREATE |
|---|---|---|---|---|---|---|---|
"""


_INFERRED = """\
## CREATE without formats or columns

    ksqlpy> CREATE STREAM orders WITH (KAFKA_TOPIC = 'orders');
    Stream created. Inferred from 200 records of topic orders: key KAFKA, `ROWKEY` INTEGER. Inferred from 200 records of
    topic orders: value JSON, `ID` BIGINT, `PRICE` DOUBLE, `SHIP_TO` STRUCT<`CITY` STRING>

What a statement says counts, and what ksqlDB takes from it. What is missing then is inferred, first from the subjects
`TOPIC-key` and `TOPIC-value` of the schema registry, else from a sample: the last 500 records of the topic, at most 5
seconds of reading. The answer shows what was inferred. It stands in the command log: a restart reads no sample, and
later records change nothing. `ksqlpy check` and other commands without a server refuse such statements (`no-format`,
`no-columns`).

**Formats.** They are guessed as by [PRINT](sql-reference.md#print). Texts that are no JSON objects are STRING of KAFKA;
with other columns listed they are DELIMITED. Records of several formats are refused (`not-inferred`), with the number
of each. Where all formats are named, or a value format and columns, none is guessed: the key format is KAFKA then, and
a key that is not listed is no column, unless a table needs it.

**Columns.** Of JSON values a column is each field that one of the records has, in upper case: BIGINT for whole
numbers, DOUBLE for others, BOOLEAN, STRING, ARRAY, STRUCT for objects; STRING where kinds differ or there are nulls
only. A key is one column, `ROWKEY`, as is a value of KAFKA or with `WRAP_SINGLE_VALUE = false`, `ROWVAL`. The fields of
DELIMITED have no names: list them. A stream over records without keys has no key column; a table is refused then.
"""

_DEBEZIUM = """\
## Change events of Debezium

    CREATE TABLE customers WITH (KAFKA_TOPIC = 'shop.public.customers', VALUE_ENVELOPE = 'DEBEZIUM');
    CREATE TABLE customers (id INT PRIMARY KEY, name STRING)
      WITH (KAFKA_TOPIC = 'shop.public.customers', VALUE_FORMAT = 'JSON', VALUE_ENVELOPE = 'DEBEZIUM');

The table is the one that the events describe. Its columns are those of `after`; key columns come from the record's key,
which is a record (`{"id":1}`), or a single value in KAFKA or DELIMITED. The key format is that of the values unless
KEY_FORMAT names another. JSON is read with and without schemas (`{"schema": …, "payload": …}`), AVRO, JSON_SR and
PROTOBUF by the schema registry.

| `op` | effect |
|---|---|
| c, u, r | The row is `after`. |
| d, and a record without a value | The row is deleted. |
| t (TRUNCATE) | It names no key: a dead letter. The rows stay, since no event tells which there were. |
| others, none | A dead letter with the reason. |

Columns that are not listed come from the schema in the records, else from the values of a sample, else from the schema
registry. In JSON, `io.debezium.time.Date`, `Time` and `Timestamp` and those of Kafka Connect are DATE, TIME and
TIMESTAMP. Times in microseconds or nanoseconds are BIGINT, and decimals in base64 BYTES: set Debezium's
`time.precision.mode = connect` and `decimal.handling.mode = string` or `double`. The table is read-only: INSERT VALUES
and DELETE are refused. VALUE_ENVELOPE is for tables; a stream over the topic has the columns `BEFORE`, `AFTER` and
`OP`. CREATE that infers the columns of events without the property says so.
"""

_REGISTRY = """\
## AVRO, JSON_SR, PROTOBUF and the schema registry

`ksqlpy dev --schema-registry` starts a registry (Apicurio) beside broker and server. Else `ksql.schema.registry.url`
names it, `ksql.schema.registry.basic.auth.user.info` a login. A record is a zero byte, the id of its schema in four
bytes, and the value, as Confluent's serializers write it; in PROTOBUF the place of the message in the schema stands
between. PROTOBUF_NOSR is the message alone.

**Reading.** Each record is read by the schema that wrote it, whose id it has; the registry is asked once for each id.
While the registry does not answer, records wait: none of them becomes a dead letter. Dead letters are records with
another first byte or an id that the registry has not, records that end too early, and values that do not fit their
column. Fields are found by name as in JSON; a field that is missing is null. INT is read as BIGINT, float as DOUBLE,
numbers, booleans and enums as STRING; timestamps and times in microseconds are cut to milliseconds. The id of JSON_SR
is that of a JSON Schema; the value is read by the rules of the format JSON.

**Protobuf.** A number, text or BOOLEAN that is not in a message is 0, empty or false, unless the schema says
`optional`; an ARRAY or MAP is empty, and what is a message is null. The wrappers of google.protobuf are read as
scalars. A `oneof` named `choice` is a STRUCT named `CHOICE_0`, with its number at the end. DATE, TIME, TIMESTAMP and
DECIMAL are google.type.Date, google.type.TimeOfDay, google.protobuf.Timestamp and confluent.type.Decimal. A null is
not written. So it comes back as 0 or empty, unless `VALUE_PROTOBUF_NULLABLE_REPRESENTATION` is OPTIONAL or WRAPPER.
There is no ARRAY or MAP within another one. Keys are messages, also of one column: a record without a key stays without
one, and a key whose fields are all 0 or empty is a key. `confluent.field_meta` has precision and scale of a DECIMAL.
The messages of Google and Confluent named here need not be imported.

**Columns.** CREATE without columns takes those of the latest schema of `TOPIC-value`, and of `TOPIC-key` if the key
has such a format, with names in upper case. A key of AVRO or JSON_SR is one column, `ROWKEY`; a message is several.
With `WRAP_SINGLE_VALUE = false` the value is one column, `ROWVAL`. `VALUE_SCHEMA_ID` takes another schema than the
latest; its names keep their case. `VALUE_SCHEMA_FULL_NAME` names the message, where a schema has several; without it,
the message is taken that no other one holds, and a schema with several such messages is refused. A request
is checked as a whole before its first statement is done: what that registers, a later request sees. The columns, the
ids and the schemas of ids stand in the command log; a restart asks the registry for nothing but schemas of records.

**Writing.** CREATE … AS registers the schemas of its columns under `TOPIC-key` and `TOPIC-value`; if the registry
refuses one, the statement fails with the registry's reason. CREATE with columns registers them where the topic has no
schema yet; else the first statement that writes does. Records are named as ksqlDB names them (`KsqlDataSourceSchema`,
`ConnectDefault1`), or as `VALUE_SCHEMA_FULL_NAME` says. All fields may be null. In AVRO a MAP is an array of entries.
JSON Schemas are those of Kafka Connect (`connect.type`, `connect.index`), and a MAP is an object. With
`VALUE_SCHEMA_ID` records are written by that schema: its first fields are the columns, by name, type and order, and the
fields behind them have defaults. Another schema is refused.

Not read: values of a union of several types in AVRO, which are dead letters; where no column takes such a field, it
is skipped. Schemas may refer to others.
"""


def error_codes() -> str:
    """The codes as Markdown, a table a section."""
    data = tomllib.loads(ERRORS.read_text(encoding="utf-8"))
    blocks = [_ERRORS_HEAD]
    for section, (title, what) in _SECTIONS.items():
        rows = [f"| `{code}` | {_cell(means)} | {_cell(do)} |" for code, (means, do) in sorted(data[section].items())]
        blocks.append(
            "\n".join([f"## {title}", "", what, "", "| code | meaning | what to do |", "|---|---|---|", *rows, ""])
        )
    return "\n".join(blocks)


def configuration() -> str:
    """The properties as a Markdown table, by name."""
    rows = [
        f"| `{p.name}` | {f'`{_cell(p.default)}`' if p.default else '(empty)'} | {'yes' if p.session else 'no'} |"
        f" {_cell(p.help)} |"
        for p in sorted(PROPERTIES.values(), key=lambda p: p.name)
    ]
    return _CONFIGURATION_HEAD + "\n".join(rows) + "\n" + _clients()


def _clients() -> str:
    """The settings of Kafka's clients: those that are passed through, those of security, those that are fixed."""
    passed = []
    for name in sorted({n for kind in KINDS for n in PYTHON_NAMES[kind]}):
        kinds = [kind for kind in KINDS if name in PYTHON_NAMES[kind]]
        python = PYTHON_NAMES[kinds[0]][name]
        passed.append(f"| `{name}` | {'all' if len(kinds) == len(KINDS) else ', '.join(kinds)} | {_named(python)} |")
    fixed = [f"| `{n}` | {f'`{f.values[0]}`' if f.values else ''} | {f.why} |" for n, f in sorted(FIXED.items())]
    security = ", ".join(f"`{name}`" for name in sorted(SECURITY))
    return "".join(
        [_CLIENTS_HEAD, "\n".join(passed), "\n", _SECURITY_HEAD, security, ".\n", _FIXED_HEAD, "\n".join(fixed), "\n"]
    )


def _named(name: str | None) -> str:
    return "no" if name is None else f"`{name}`"


def statements() -> str:
    """Every statement: what it does, its syntax, an example."""
    return _STATEMENTS_HEAD + "\n".join(_statement(topic) for topic in topics().values())


def _statement(topic: Topic) -> str:
    parts = [f"{part.replace('_', ' ')}: {form}" for part in topic.parts for form in syntax(part)]
    code = "\n".join([*topic.syntax(), *(f"    {part}" for part in parts)])
    return f"## {topic.name}\n\n{topic.about}\n\n```\n{code}\n```\n\n```sql\n{topic.example}\n```\n"


def formats() -> str:
    """The formats and their limits as Markdown tables."""
    rows = [_format(f) for f in FORMATS.values()]
    return _FORMATS_HEAD + "\n".join([*rows, "", _INFERRED, _DEBEZIUM, _REGISTRY])


def _format(f: Format) -> str:
    limits = f.limits
    scalars = "all scalars" if limits.types is None else ", ".join(sorted(map(str, limits.types)))
    nested = " and ARRAY, MAP, STRUCT" if limits.nested else ""
    cells = (
        f.name,
        f.about,
        "none" if f.empty else "all" if limits.types is None and limits.nested else scalars + nested,
        "any number" if limits.most is None else str(limits.most),
        ", ".join(str(w).lower() for w in sorted(limits.wraps, reverse=True)) or "none",
        "yes" if limits.delimited else "no",
        "" if f.empty else "yes" if limits.regrouped else "no",
        _columns(f),
    )
    return f"| {' | '.join(map(_cell, cells))} |"


def _columns(f: Format) -> str:
    """Where the columns of CREATE come from."""
    if f.schemas is not DECLARED:
        return "listed, or of the schema registry"
    return "listed" if type(f).sampled is Format.sampled else "listed, or by a sample"


def metrics() -> str:
    """The figures of queries and the families of metrics as Markdown tables."""
    parts = [_METRICS_HEAD, *(_figure(f) for f in FIGURES), _PROMETHEUS]
    families: list[tuple[str, Iterable[Metric[Any]]]] = [
        ("Of a query", query_metrics()),
        ("Of the engine", ENGINE_METRICS),
        ("Of the server", SERVER_METRICS),
        ("ksqlDB's names", KSQLDB_METRICS),
    ]
    for title, of in families:
        own = ("query",) if title == "Of a query" else ()
        parts += [
            f"### {title}\n\n",
            _KSQLDB if of is KSQLDB_METRICS else "",
            _FAMILIES,
            *(_family(m, (*own, *m.labels)) for m in of),
            "\n",
        ]
    return "".join(parts).rstrip("\n") + "\n"


def _family(metric: Metric[Any], labels: Sequence[str]) -> str:
    named = ", ".join(f"`{label}`" for label in labels)
    return f"| `{metric.full_name}` | {metric.kind} | {named} | {_cell(metric.help)} |\n"


def _figure(f: Figure) -> str:
    merge = f.merge
    cells = (f"`{f.name}`", f.title, f.unit, f.meaning, "" if merge is None else merge.text)
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


PAGES = {
    "error-codes.md": error_codes,
    "configuration.md": configuration,
    "sql-statements.md": statements,
    "formats.md": formats,
    "metrics.md": metrics,
}


def main(folder: Path = DOCS) -> None:
    """Writes the pages into the folder."""
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
