"""Records of transactions: which of them count is one property, and means the same on every path that reads a topic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from ksqlpy.__main__ import main
from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from ksqlpy.spark.query_status import State
from tests.support.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
LEAST = {"processing.guarantee": "at_least_once"}
LEVELS: Mapping[str, Mapping[str, str]] = {
    "DEFAULT": {},
    "EXACT": {"processing.guarantee": "exactly_once_v2", "isolation.level": "read_uncommitted"},
    "LEAST": LEAST,
    "STABLE": {**LEAST, "ksql.streams.consumer.isolation.level": "read_committed"},
}
COMMITTED = {"DEFAULT": True, "EXACT": True, "LEAST": False, "STABLE": True}
"""By the names of :data:`LEVELS`."""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = started(broker, tmp_path_factory.mktemp("transactions"))
    yield made
    made.stop()


def started(broker: EmbeddedKafka, folder: Path, **more: str) -> Engine:
    """An engine whose service has the name of its folder."""
    values = {
        "bootstrap.servers": broker.bootstrap,
        "ksql.service.id": f"{folder.name}_",
        "ksqlpy.data.dir": str(folder),
        "ksqlpy.warm.up": "false",
    }
    made = Engine(Config.of({**values, **more}))
    made.start()
    return made


class Writer:
    """Writes records with and without transactions; each open transaction has a producer of its own."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._plain = Producer({"bootstrap.servers": bootstrap})

    def plain(self, *values: int, partition: int = 0) -> None:
        self._write(self._plain, values, partition)

    def begin(self, *values: int, partition: int = 0) -> Producer:
        name = f"{self._topic}-{values}"
        made = Producer(
            {"bootstrap.servers": self._bootstrap, "transactional.id": name, "transaction.timeout.ms": 600000}
        )
        made.init_transactions(30)
        made.begin_transaction()
        self._write(made, values, partition)
        return made

    def commit(self, *values: int, partition: int = 0) -> None:
        self.begin(*values, partition=partition).commit_transaction(30)

    def abort(self, *values: int, partition: int = 0) -> None:
        self.begin(*values, partition=partition).abort_transaction(30)

    def _write(self, producer: Producer, values: tuple[int, ...], partition: int) -> None:
        for v in values:
            producer.produce(self._topic, key=b"k%d" % v, value=b'{"V":%d}' % v, partition=partition)
        producer.flush(30)


def values_of(engine: Engine, topic: str) -> list[int]:
    """The column V of all records of a sink, sorted."""
    partitions = engine.kafka.partitions([topic])
    found = engine.kafka.last_records(topic, partitions[topic], 1000, 10, committed=False) if partitions else []
    return sorted(json.loads(value)["V"] for _, value in found if value is not None)


def rows(engine: Engine, sql: str, properties: Mapping[str, str], count: int | None = None) -> list[Any]:
    """The rows of a query; ``count``: so many of one that does not end, and those that come within a second more."""
    query, found, idle = engine.query(sql, {**EARLIEST, **properties}), list[Any](), 0
    try:
        for row in query.rows():
            idle = idle + 1 if row is None else 0
            if row is not None:
                found.append(row)
            if count is not None and (idle > 80 or (len(found) >= count and idle > 1)):
                break
    finally:
        query.close()
    return found


# ------------------------------------------------------------ every path

PATHS: Mapping[str, Callable[[Engine, Mapping[str, str], int], list[int]]] = {
    "plain push": lambda e, p, n: [v for (v,) in rows(e, "SELECT v FROM tx EMIT CHANGES;", p, n)],
    "push": lambda e, p, n: [v // 10 for (v,) in rows(e, "SELECT v * 10 AS v FROM tx EMIT CHANGES;", p, n)],
    "push, table": lambda e, p, n: [v for (v,) in rows(e, "SELECT v FROM tt EMIT CHANGES;", p, n)],
    "pull, stream": lambda e, p, n: [v for (v,) in rows(e, "SELECT v FROM tx;", p)],
    "pull, stream by Spark": lambda e, p, n: [v // 10 for (v,) in rows(e, "SELECT v * 10 AS v FROM tx;", p)],
    "pull, history": lambda e, p, n: [v for _, v in rows(e, "SELECT k, MAX(v) AS v FROM tx GROUP BY k;", p)],
    "pull, table": lambda e, p, n: [v for (v,) in rows(e, "SELECT v FROM tt;", p)],
    "lookup": lambda e, p, n: looked_up(e, p),
    "print": lambda e, p, n: [
        int(line.partition('{"V":')[2].partition("}")[0])
        for (line) in rows(e, "PRINT 'tx' FROM BEGINNING;", p, n + 2)
        if line.startswith("rowtime")
    ],
    "sample": lambda e, p, n: sampled(e, p),
}
"""How each path reads the values of topic tx."""


def looked_up(engine: Engine, properties: Mapping[str, str]) -> list[int]:
    found = []
    for v in range(1, 9):
        sql = f"SELECT v FROM tt WHERE k = 'k{v}';"
        asked = rows(engine, sql, properties)
        at_once = engine.look_up(sql, {**EARLIEST, **properties})
        assert at_once is not None
        assert at_once[1] == asked
        found += [row[0] for row in asked]
    return found


def sampled(engine: Engine, properties: Mapping[str, str]) -> list[int]:
    """As many numbers as the sample has records, since a sample shows nothing else."""
    text = ";".join(f"SET '{n}'='{v}'" for n, v in properties.items())
    [entity] = engine.execute(
        f"{text};CREATE OR REPLACE STREAM sampled (k STRING KEY) WITH (kafka_topic='tx');".lstrip(";")
    )
    return list(range(int(str(entity["commandStatus"]["message"]).partition("Inferred from ")[2].split()[0])))


FURTHER = pytest.mark.extended("further pairs of guarantee and isolation level, and readers of other processes")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("DEFAULT", "LEAST"), id="levels of the guarantees"),
        pytest.param(("EXACT", "STABLE"), id="levels that are set", marks=FURTHER),
    ],
)
def test_every_path(engine: Engine, names: Sequence[str]) -> None:
    levels = {name: LEVELS[name] for name in names}
    engine.execute(
        "CREATE STREAM tx (k STRING KEY, v INT) WITH (kafka_topic='tx', value_format='JSON', partitions=2);"
        "CREATE TABLE tt (k STRING PRIMARY KEY, v INT) WITH (kafka_topic='tx', value_format='JSON');"
    )
    writer = Writer(engine.bootstrap, "tx")
    writer.commit(1)
    writer.abort(2)
    writer.plain(3)
    to_commit, to_abort = writer.begin(4), writer.begin(5)
    writer.plain(6)
    writer.plain(7, partition=1)
    writer.abort(8, partition=1)  # the last offsets of the partition are none that a consumer sees
    for name, properties in levels.items():
        engine.execute(
            f"CREATE STREAM s_{name} WITH (query_id='S_{name}') AS SELECT k, v FROM tx;"
            f"CREATE TABLE t_{name} WITH (query_id='T_{name}') AS SELECT k, MAX(v) AS v FROM tx GROUP BY k;",
            {**EARLIEST, **properties},
        )
    every, stable, later = [*range(1, 9)], [1, 3, 7], [1, 3, 4, 6, 7]
    for name, properties in levels.items():
        wanted = stable if COMMITTED[name] else every
        for path, read in PATHS.items():
            found = sorted(read(engine, properties, len(wanted)))
            assert found == (wanted if path != "sample" else [*range(len(wanted))]), (name, path)
        for sink in (f"S_{name}", f"T_{name}"):
            assert until(lambda: values_of(engine, sink) == wanted), (sink, values_of(engine, sink))  # noqa: B023

    to_commit.commit_transaction(30)
    to_abort.abort_transaction(30)
    for name, properties in levels.items():
        wanted = later if COMMITTED[name] else every
        for sink in (f"S_{name}", f"T_{name}"):
            assert until(lambda: values_of(engine, sink) == wanted), (sink, values_of(engine, sink))  # noqa: B023
        for path, read in PATHS.items():
            if path == "lookup":  # it waits for nothing: the copy follows by itself
                assert until(lambda: looked_up(engine, properties) == wanted), name  # noqa: B023
            found = sorted(read(engine, properties, len(wanted)))
            assert found == (wanted if path != "sample" else [*range(len(wanted))]), (name, path)
    engine.execute("".join(f"DROP STREAM s_{n} DELETE TOPIC; DROP TABLE t_{n} DELETE TOPIC;" for n in names))
    engine.execute("DROP STREAM sampled; DROP TABLE tt; DROP STREAM tx DELETE TOPIC;")


@FURTHER
def test_a_question_without_a_server(engine: Engine, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    declared = "CREATE STREAM q (k STRING KEY, v INT) WITH (kafka_topic='q', value_format='JSON', partitions=1);"
    engine.execute(declared)
    writer = Writer(engine.bootstrap, "q")
    writer.commit(1)
    writer.abort(2)
    open_ = writer.begin(3)
    writer.plain(4)
    given = tmp_path / "server.properties"
    given.write_text("processing.guarantee=at_least_once\n")
    where = ["--bootstrap-servers", engine.bootstrap, "--output", "json"]
    asked = {
        (): [1],
        ("-D", "processing.guarantee=at_least_once"): [1, 2, 3, 4],
        ("-D", "processing.guarantee=at_least_once", "-D", "isolation.level=read_committed"): [1],
        ("--config", str(given)): [1, 2, 3, 4],
    }
    for options, wanted in asked.items():
        for select in ("SELECT v FROM q;", "SELECT k, MAX(v) AS v FROM q GROUP BY k;"):
            capfd.readouterr()
            assert main(["query", f"{declared} {select}", *where, *options]) == 0
            lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
            assert sorted(x["V"] for x in lines if "V" in x) == wanted, (options, select, lines)
    open_.abort_transaction(30)


# ------------------------------------------------------------ nothing waits for ever


def test_latest_is_the_last_stable_offset(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM late (k STRING KEY, v INT) WITH (kafka_topic='late', value_format='JSON', partitions=1);"
    )
    writer = Writer(engine.bootstrap, "late")
    writer.plain(1)
    open_ = writer.begin(2)
    queries = {name: engine.query("SELECT v FROM late EMIT CHANGES;", dict(p)) for name, p in LEVELS.items()}
    writer.plain(3)
    open_.commit_transaction(30)
    for name, query in queries.items():
        found = list[int]()
        for row in query.rows():
            found += [] if row is None else [row[0]]
            if found[-1:] == [3]:
                break
        assert found == ([2, 3] if COMMITTED[name] else [3]), name
        query.close()


@pytest.mark.parametrize("names", [("DEFAULT",), pytest.param(("STABLE",), marks=FURTHER)], ids=lambda names: names[0])
def test_a_restart_beside_an_open_transaction(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path, names: Sequence[str]
) -> None:
    """Of both guarantees, with and without state: what is stable is there once, and the rest when it is committed."""
    engine = started(broker, tmp_path / f"restart_{names[0]}")
    source = f"r_{names[0]}"
    try:
        engine.execute(
            f"CREATE STREAM r (k STRING KEY, v INT) WITH (kafka_topic='{source}', value_format='JSON', partitions=2);"
        )
        for name in names:
            engine.execute(
                f"CREATE STREAM a_{name} WITH (query_id='A_{name}') AS SELECT k, v FROM r;"
                f"CREATE TABLE b_{name} WITH (query_id='B_{name}') AS SELECT k, SUM(v) AS v FROM r GROUP BY k;",
                {**EARLIEST, **LEVELS[name], "commit.interval.ms": "1000"},
            )
        sinks = [f"{s}_{n}" for s in "AB" for n in names]
        writer = Writer(engine.bootstrap, source)
        writer.plain(1)
        writer.plain(2, partition=1)
        assert all(until(lambda: values_of(engine, s) == [1, 2]) for s in sinks)  # noqa: B023
        open_ = writer.begin(3)
        writer.plain(4)
        writer.commit(5, partition=1)
        writer.abort(6, partition=1)
        assert all(until(lambda: values_of(engine, s) == [1, 2, 5]) for s in sinks)  # noqa: B023
        # A transaction of somebody else in a sink hides results from whoever reads what is committed only.
        others = [Writer(engine.bootstrap, s).begin(90) for s in sinks if "DEFAULT" in s]
        writer.plain(7, partition=1)
        wanted = {s: [1, 2, 5, 7, *([90] if "DEFAULT" in s else [])] for s in sinks}
        for s in sinks:
            assert until(lambda: values_of(engine, s) == wanted[s]), (s, values_of(engine, s))  # noqa: B023
        for name in names:
            for query in (f"A_{name}", f"B_{name}"):
                engine.execute(f"PAUSE {query}; RESUME {query};")
        for s in sinks:
            assert until(lambda: running(engine, s)), s  # noqa: B023
        writer.plain(8, partition=1)
        for s in sinks:
            assert until(lambda: set(values_of(engine, s)) == {*wanted[s], 8}), s  # noqa: B023
            if "DEFAULT" in s:
                assert values_of(engine, s) == sorted([*wanted[s], 8]), s
        open_.commit_transaction(30)
        for s in sinks:
            assert until(lambda: set(values_of(engine, s)) == {*wanted[s], 3, 4, 8}), s  # noqa: B023
            if "DEFAULT" in s:
                assert values_of(engine, s) == sorted([*wanted[s], 3, 4, 8]), s
        for other in others:
            other.abort_transaction(30)
    finally:
        engine.stop()


def running(engine: Engine, query: str) -> bool:
    return engine.queries.status(query).state is State.RUNNING


def test_a_pull_query_that_waits_for_its_inputs(engine: Engine) -> None:
    engine.execute(
        "CREATE STREAM w (k STRING KEY, v INT) WITH (kafka_topic='w', value_format='JSON', partitions=1);"
        "CREATE TABLE wt WITH (query_id='WT') AS SELECT k, MAX(v) AS v FROM w GROUP BY k;",
        EARLIEST,
    )
    writer = Writer(engine.bootstrap, "w")
    wait = {"ksqlpy.pull.wait.ms": "60000"}
    writer.plain(1)
    assert rows(engine, "SELECT v FROM wt;", wait) == [[1]]
    writer.commit(2)
    assert sorted(rows(engine, "SELECT v FROM wt;", wait)) == [[1], [2]]
    writer.abort(3)
    assert sorted(rows(engine, "SELECT v FROM wt;", wait)) == [[1], [2]]
    open_ = writer.begin(4)
    writer.plain(5)
    assert sorted(rows(engine, "SELECT v FROM wt;", wait)) == [[1], [2]]
    open_.commit_transaction(30)
    assert sorted(rows(engine, "SELECT v FROM wt;", wait)) == [[1], [2], [4], [5]]
    engine.execute("TERMINATE WT;")


@FURTHER
def test_what_was_read_uncommitted_before_is_not_read_twice(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path
) -> None:
    """A server that is restarted with exactly_once, while a transaction is open that it has read from."""
    engine = started(broker, tmp_path / "upgrade", **LEAST)
    try:
        engine.execute(
            "CREATE STREAM u (k STRING KEY, v INT) WITH (kafka_topic='u', value_format='JSON', partitions=2);"
            "CREATE TABLE ut WITH (query_id='UT') AS SELECT 'all' AS k, SUM(v) AS v FROM u GROUP BY 'all';",
            {**EARLIEST, "commit.interval.ms": "1000"},
        )
        writer = Writer(engine.bootstrap, "u")
        open_ = writer.begin(1)
        writer.plain(2)
        assert until(lambda: 3 in values_of(engine, "UT"))
        query = engine.queries.get("UT")
        assert query is not None
        assert until(lambda: committed(engine, "UT").get("0") == 2)
        # The same as a new start of the server with the other guarantee.
        engine.brokers.config = engine.config.for_statement({"processing.guarantee": "exactly_once"})
        engine.execute("PAUSE UT; RESUME UT;")
        told = "waits for the end of a transaction of which it has read records: partition 0 of topic u"
        assert until(lambda: any(told in f.message for f in failures(engine, "UT")))
        writer.plain(10, partition=1)
        open_.commit_transaction(30)
        assert until(lambda: running(engine, "UT"))
        assert until(lambda: values_of(engine, "UT")[-1:] == [13]), values_of(engine, "UT")
    finally:
        engine.stop()


def committed(engine: Engine, query_id: str) -> dict[str, int]:
    query = engine.queries.get(query_id)
    assert query is not None
    last = query.checkpoint.last_commit
    return {} if last is None else dict(query.checkpoint.offsets(last)["u"])


def failures(engine: Engine, query_id: str) -> list[Any]:
    query = engine.queries.get(query_id)
    return [] if query is None else list(query.failures)


# ------------------------------------------------------------ what may be set


@pytest.mark.parametrize("name", ["kafka.isolation.level", "kafka.consumer.isolation.level"])
def test_the_setting_of_clients_is_the_property(name: str) -> None:
    with pytest.raises(KsqlError, match=r"the property isolation\.level says"):
        Config.of({name: "read_committed"})


def test_other_levels_are_refused() -> None:
    with pytest.raises(KsqlError, match="must be one of read_uncommitted, read_committed"):
        Config.of({"isolation.level": "serializable"})
    written = ("isolation.level", "consumer.isolation.level", "ksql.streams.isolation.level")
    for name in (*written, "ksql.streams.consumer.isolation.level"):
        assert Config.of({name: "READ_COMMITTED", **LEAST}).committed
        assert Config.of({}).for_statement({name: "read_committed", **LEAST}).committed
        assert not Config.of({name: "read_uncommitted", **LEAST}).committed
