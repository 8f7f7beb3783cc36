"""``ksqlpy dev`` as a process; ``query`` and ``datagen`` on its broker; and its end."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from ksqlpy.client import Client
from ksqlpy.commands import dev as command
from ksqlpy.config import Config
from ksqlpy.demo import sample
from ksqlpy.demo.data import find_files, int_key, read_rides, read_statements
from ksqlpy.errors import KsqlError
from ksqlpy.server.run import ServerThread
from ksqlpy.testing.memory import MemoryEngine
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[..., Any]

FILES = find_files()
EVERYTHING = """
CREATE STREAM things (id STRING KEY, b BOOLEAN, i INT, g BIGINT, d DOUBLE, m DECIMAL(12, 4), s STRING, raw BYTES,
  day DATE, clock TIME, ts TIMESTAMP, tags ARRAY<STRING>, map_of MAP<STRING, INT>,
  home STRUCT<city STRING, pos STRUCT<lat DOUBLE>>, seen TIMESTAMP)
  WITH (kafka_topic = 'things', value_format = 'JSON', partitions = 2, timestamp = 'ts');
"""


@dataclass
class Dev:
    """The process, with what it said of itself."""

    process: subprocess.Popen[str]
    said: dict[str, str]
    temporary: Path

    @property
    def broker(self) -> str:
        return self.said["Kafka"]

    @property
    def server(self) -> str:
        return self.said["server"]

    def left_on_broker(self) -> tuple[set[str], set[str]]:
        """The topics and consumer groups of the broker."""
        admin = AdminClient({"bootstrap.servers": self.broker, "log_level": 0})
        groups = admin.list_consumer_groups().result(timeout=15)
        return set(admin.list_topics(timeout=15).topics), {g.group_id for g in groups.valid}


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Dev]:
    temporary = tmp_path_factory.mktemp("dev")
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "ksqlpy",
            "dev",
            "--temporary",
            "--no-shell",
            "--port",
            "0",
            "-D",
            "ksqlpy.warm.up=false",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary), "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1"},
    ) as process:
        assert process.stdout is not None
        said = {}
        for line in process.stdout:
            first, _, rest = line.strip().partition(" ")
            said[first] = rest.strip()
            if first == "Ctrl-C":
                break
        assert "Ctrl-C" in said, said
        yield Dev(process, said, temporary)
        process.kill()


def test_the_log_does_not_go_over_the_prompt(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    command._log_beside_the_shell(Config.of({}), tmp_path)
    with ServerThread(FakeEngine()) as server, Client(server.url) as client:
        with pytest.raises(KsqlError, match="nobody saw this coming"):
            client.statements("BROKEN;", {})
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as connection:
            connection.sendall(b"no HTTP\r\n\r\n")
            connection.recv(100)
    for handler in root.handlers:
        handler.close()
    file = tmp_path / "server.log"
    assert "Traceback" in file.read_text()
    assert capfd.readouterr() == (f"log     {file}\n", "")


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.extended("a server as a process")
class TestOnItsBroker:
    """In the order in which they stand: the last ends the process."""

    def test_it_says_what_there_is(self, dev: Dev) -> None:
        assert dev.said["data"] == "goes at the end"
        with Client(dev.server) as client:
            assert client.info()["serverStatus"] == "RUNNING"

    def test_rides_of_a_file(self, dev: Dev, ksqlpy: Run, spark: SparkSession) -> None:
        with Client(dev.server) as client:
            properties, sources, queries = read_statements(FILES.sql)
            for statement in (*sources, next(q for q in queries if "rides_per_vendor" in q)):
                client.statements(statement, properties)
        for name, file in (("zones", FILES.zones), ("rides", FILES.rides)):
            done = ksqlpy("datagen", name, "--server", dev.server, "--from", file)
            assert (done.code, f"written to topic taxi_{name}" in done.err) == (0, True)

    def test_query_a_topic(self, dev: Dev, ksqlpy: Run, spark: SparkSession) -> None:
        before = dev.left_on_broker()
        sql = "SELECT color, COUNT(*) AS n FROM rides WHERE total_amount >= 40 GROUP BY color"
        done = ksqlpy("query", "-f", FILES.sql, "--bootstrap-servers", dev.broker, "--output", "csv", sql)
        count = Counter(str(r.columns["COLOR"]) for r in read_rides(FILES.rides) if r.total >= 40)
        assert done.code == 0
        assert sorted(done.out.splitlines()) == sorted(["COLOR,N", *(f"{c},{n}" for c, n in count.items())])
        assert dev.left_on_broker() == before

    def test_query_a_topic_with_a_file(self, dev: Dev, ksqlpy: Run, spark: SparkSession, tmp_path: Path) -> None:
        (tmp_path / "zones.csv").write_text("locationid,borough\n4,Here\n239,Here\n")
        sql = "SELECT z.borough AS b, COUNT(*) AS n FROM rides r JOIN zones z ON r.pulocationid = z.locationid"
        done = ksqlpy("query", "-f", FILES.sql, "--bootstrap-servers", dev.broker, "--output", "json",
                      "--input", f"zones={tmp_path / 'zones.csv'}", f"{sql} GROUP BY z.borough")  # fmt: skip
        expected = sum(r.pickup_zone in (4, 239) for r in read_rides(FILES.rides))
        assert (done.code, done.out) == (0, f'{{"B": "Here", "N": {expected}}}\n')

    def test_query_what_another_query_made(self, dev: Dev, ksqlpy: Run, spark: SparkSession) -> None:
        wanted = Counter(r.vendor for r in read_rides(FILES.rides))
        sql = "SELECT vendorid, rides FROM rides_per_vendor"
        found: dict[int, int] = {}
        for _ in range(40):  # until the server's query has read all rides
            done = ksqlpy("query", "-f", FILES.sql, "--bootstrap-servers", dev.broker, "--output", "json", sql)
            assert done.code == 0
            found = {row["VENDORID"]: row["RIDES"] for row in map(json.loads, done.out.splitlines())}
            if found == wanted:
                break
        assert found == wanted

    def test_invented_records_are_read_as_they_were_made(
        self, dev: Dev, ksqlpy: Run, spark: SparkSession, tmp_path: Path
    ) -> None:
        (tmp_path / "things.sql").write_text(EVERYTHING)
        options = ("datagen", "things", "-f", tmp_path / "things.sql", "--count", 300, "--seed", 4, "--nulls", 0.1,
                   "--keys", 9)  # fmt: skip
        printed = ksqlpy(*options, "--print")
        written = ksqlpy(*options, "--bootstrap-servers", dev.broker)
        assert (printed.code, written.code) == (0, 0)
        assert "300 records written to topic things" in written.err
        done = ksqlpy("query", "-f", tmp_path / "things.sql", "--bootstrap-servers", dev.broker, "--output", "json",
                      "SELECT *, ROWTIME AS `ROWTIME` FROM things")  # fmt: skip
        assert done.code == 0
        made = [as_read(json.loads(line)) for line in printed.out.splitlines()]
        read = [json.loads(line) for line in done.out.splitlines()]
        assert sorted(read, key=lambda r: r["ROWTIME"]) == made
        assert len({r["ID"] for r in read}) == 9

    def test_a_file_goes_where_the_server_says(
        self, dev: Dev, ksqlpy: Run, spark: SparkSession, tmp_path: Path
    ) -> None:
        with Client(dev.server) as client:
            client.statements(
                "CREATE TYPE spot AS STRUCT<x INT, y INT>; CREATE STREAM spots (name STRING KEY, at_spot spot, n INT)"
                " WITH (kafka_topic='spots', key_format='JSON', value_format='JSON', partitions=1);"
                "ALTER STREAM spots ADD COLUMN more STRING;"
            )
        (tmp_path / "spots.jsonl").write_text(
            '{"name": "a", "at_spot": {"x": 1, "y": 2}, "more": "!"}\n{"name": "b"}\n'
        )
        done = ksqlpy("datagen", "spots", "--server", dev.server, "--from", tmp_path / "spots.jsonl", "--loop",
                      "--count", 5, "--rate", "100/s")  # fmt: skip
        assert (done.code, done.err) == (0, done.err)
        assert "5 records written to topic spots" in done.err
        with Client(dev.server) as client:
            sql = "SELECT name, at_spot->y AS y, more FROM spots EMIT CHANGES LIMIT 5;"
            _, *rows = client.push(sql, {"auto.offset.reset": "earliest"})
        assert rows == [["a", 2, "!"], ["b", None, None], ["a", 2, "!"], ["b", None, None], ["a", 2, "!"]]

    def test_what_datagen_refuses(self, dev: Dev, ksqlpy: Run) -> None:
        done = ksqlpy("datagen", "rides_per_vendor", "--server", dev.server, "--print")
        assert (done.code, "error[written-by-query]" in done.err) == (1, True)
        done = ksqlpy("datagen", "rides", "--server", dev.server, "--print", "--from", FILES.zones, "--count", 1)
        assert (done.code, "error[no-columns]" in done.err) == (1, True)

    def test_follow(self, dev: Dev, ksqlpy: Run, spark: SparkSession) -> None:
        producer = Producer({"bootstrap.servers": dev.broker, "log_level": 0})
        value = b'{"tpep_pickup_datetime": "2019-04-01 00:00:00", "total_amount": 1}'

        def write() -> None:
            for _ in range(5):
                producer.produce("taxi_rides", key=int_key(9), value=value)
            producer.flush(15)

        later = threading.Timer(3, write)
        later.start()
        done = ksqlpy("query", "-f", FILES.sql, "--bootstrap-servers", dev.broker, "--output", "csv", "--follow",
                      "--limit", 6505, "SELECT vendorid, COUNT(*) AS n FROM rides GROUP BY vendorid")  # fmt: skip
        later.join()
        assert done.code == 0
        assert done.out.splitlines()[-1] == "9,5"
        assert len(done.out.splitlines()) == 6506

    def test_interrupt_ends_a_query(self, dev: Dev, tmp_path: Path) -> None:
        sql = "SELECT vendorid, COUNT(*) AS n FROM rides GROUP BY vendorid"
        options = ["-f", str(FILES.sql), "--bootstrap-servers", dev.broker, "--follow", "--output", "json", sql]
        with subprocess.Popen(
            [sys.executable, "-m", "ksqlpy", "query", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path), "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1"},
            # A shell starts what it puts into the background with SIGINT ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        ) as process:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["N"] == 1
            below = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGINT)
            process.stdout.read()
            assert process.wait(60) == 130
        _, alive = psutil.wait_procs(below, timeout=15)
        assert below and alive == []
        assert list(tmp_path.glob("ksqlpy-*")) == []

    def test_timeout(self, dev: Dev, ksqlpy: Run, spark: SparkSession) -> None:
        done = ksqlpy("query", "-f", FILES.sql, "--bootstrap-servers", dev.broker, "--timeout", 0.001,
                      "SELECT COUNT(*) FROM rides GROUP BY color")  # fmt: skip
        assert (done.code, "error[timeout]" in done.err) == (1, True)

    def test_its_end_leaves_nothing(self, dev: Dev) -> None:
        below = psutil.Process(dev.process.pid).children(recursive=True)
        dev.process.send_signal(signal.SIGTERM)
        assert dev.process.wait(60) == 0
        _, alive = psutil.wait_procs(below, timeout=15)
        assert below and alive == []
        assert [p.name for p in dev.temporary.iterdir() if p.name.startswith("ksqlpy-")] == []


def as_read(row: dict[str, Any]) -> dict[str, Any]:
    """A printed row as a query shows it: days and times as numbers."""
    from datetime import date, datetime, time

    found = dict(row)
    if row["DAY"] is not None:
        found["DAY"] = (date.fromisoformat(row["DAY"]) - date(1970, 1, 1)).days
    if row["CLOCK"] is not None:
        clock = time.fromisoformat(row["CLOCK"])
        found["CLOCK"] = (clock.hour * 3600 + clock.minute * 60 + clock.second) * 1000
    for name in ("TS", "SEEN"):
        if row[name] is not None:
            found[name] = round(datetime.fromisoformat(row[name]).timestamp() * 1000)
    return found


# ---------------------------------------------------------------- without a broker


@pytest.mark.parametrize(("text", "printed"), [("SHOW STREAMS;\nECHO", "Stream"), ("ECHO;", "")])
def test_piped_statements(
    text: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = FakeEngine()
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    with ServerThread(engine) as server:
        assert command._talk(server.url, Namespace(no_shell=False, output="table"), lambda: None) == 0
    assert [sql for sql, _ in engine.calls] == [s.strip() if s.endswith(";") else f"{s};" for s in text.split("\n")]
    assert ("Name" in capsys.readouterr().out) == bool(printed)


class Rides:
    """What was written, in the place of brokers; ``there``: rides of an earlier time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, there: int = 0) -> None:
        self.there, self.times = {"taxi_rides": there, "taxi_zones": 0}, dict[str, int]()
        monkeypatch.setattr("ksqlpy.demo.topics.produce", self._produce)
        monkeypatch.setattr("ksqlpy.demo.topics.written", lambda connection, topics: self.there)

    def _produce(self, connection: object, topic: str, records: Any, *, time: int = 0) -> None:
        self.times[topic] = time
        for _ in records:
            self.there[topic] += 1


def taxi_at(pace: sample.Pace) -> sample.Taxi:
    """The sample without brokers."""
    return sample.Taxi("", lambda text: None, pace)  # type: ignore[arg-type]  # no broker is asked


def test_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Rides(monkeypatch)
    engine = MemoryEngine(None)  # type: ignore[arg-type]  # nothing is run
    with ServerThread(engine) as server, Client(server.url) as client, taxi_at(sample.Pace(4000, 1e6)) as taxi:
        said = "sample taxi: 263 zones, 6 queries, 4,000 rides at once, 2,500 at 1e+06 a second"
        assert taxi.make(client.statements) == said
        assert until(lambda: written.there["taxi_rides"] == 6500)
        assert taxi.make(client.statements) == "sample taxi: is there already"
    assert len(engine.catalog.queries) == 6
    zones = written.times["taxi_zones"]
    assert (written.there["taxi_zones"], zones < min(r.time for r in read_rides(FILES.rides))) == (263, True)
    assert written.times["taxi_rides"] == 0


def test_the_sample_goes_on_where_an_earlier_server_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Rides(monkeypatch, there=4600)
    engine = MemoryEngine(None)  # type: ignore[arg-type]  # nothing is run
    engine.execute("CREATE STREAM rides (v INT KEY) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON', PARTITIONS=1);")
    with taxi_at(sample.Pace(4500, 1e6)) as taxi:
        assert taxi.make(engine.execute) == "sample taxi: is there already, 1,900 at 1e+06 a second"
        assert until(lambda: written.there["taxi_rides"] == 6500)


def test_rides_end_with_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Rides(monkeypatch)
    engine = MemoryEngine(None)  # type: ignore[arg-type]  # nothing is run
    with taxi_at(sample.Pace(10, 0.01)) as taxi:
        taxi.make(engine.execute)
        assert until(lambda: written.there["taxi_rides"] == 11)  # the next one would come after 100 s


def test_a_port_in_use_is_told_at_once(ksqlpy: Run) -> None:
    with ServerThread(FakeEngine()) as server:
        done = ksqlpy("dev", "--no-shell", "--port", server.url.rpartition(":")[2])
    assert (done.code, done.out) == (1, "")
    assert "error[port-in-use]" in done.err


def test_a_rate_needs_a_sample(ksqlpy: Run) -> None:
    assert ksqlpy("dev", "--rate", "5/s").code == 2


@pytest.mark.parametrize(
    ("sample", "define", "begin"),
    [
        (None, [], "latest"),
        ("taxi", [], "earliest"),
        ("taxi", [("auto.offset.reset", "latest")], "latest"),
        ("taxi", [("ksql.streams.auto.offset.reset", "latest")], "latest"),
    ],
)
def test_queries_over_a_sample_begin_at_its_first_record(
    sample: str | None, define: list[tuple[str, str]], begin: str
) -> None:
    options = Namespace(
        port="0", kafka_port=None, data_dir=None, temporary=True, define=define, sample=sample, exposed=None
    )
    assert command._config(options).get("auto.offset.reset") == begin
