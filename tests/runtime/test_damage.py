"""Each file of a checkpoint is damaged in turn while its query stands still: results are right, or the query says why.

`make test` damages some of them, `make test-damage` all, in each way.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.spark.query_status import State
from tests.support.waiting import until

CALLS = """
CREATE STREAM calls (line STRING KEY, held INT)
  WITH (KAFKA_TOPIC = 'calls', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE counts WITH (QUERY_ID = 'counts') AS SELECT line, COUNT(*) AS n FROM calls GROUP BY line;
"""

LINES = 5


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


WAYS: dict[str, Callable[[Path], object]] = {
    "flipped": lambda f: f.write_bytes(flipped(f.read_bytes())),
    "halved": lambda f: f.write_bytes(f.read_bytes()[: f.stat().st_size // 2]),
    "emptied": lambda f: f.write_bytes(b""),
    "deleted": lambda f: f.unlink(),
}

FILES = {
    "the newest offsets": "spark/offsets/[0-9]*",
    "the newest commit": "spark/commits/[0-9]*",
    "Spark's metadata": "spark/metadata",
    "the newest changelog": "spark/state/0/*/*.changelog",
    "the newest snapshot": "spark/state/0/*/*.zip",
    "the newest file of RocksDB": "spark/state/0/*/SSTs/*.sst",
    "the schema of the state": "spark/state/0/0/_metadata/schema",
    "the metadata of the operator": "spark/state/0/_metadata/metadata",
    "the plan": "plan.json",
    "the newest note of the sink": "sink/*/[0-9]*",
    "which notes count": "notes.json",
    "the mark": "made.json",
}

SHORT = [
    ("the newest offsets", "flipped"), ("the newest commit", "halved"), ("the newest note of the sink", "flipped"),
    ("which notes count", "flipped"),
    ("the newest changelog", "halved"), ("the newest snapshot", "flipped"), ("the plan", "flipped"),
]  # fmt: skip


@dataclass
class Counts:
    """The query, and how many calls were made on each line."""

    engine: Engine
    spark: SparkSession
    folder: Path
    calls: int = 0

    def ring(self, times: int) -> None:
        producer = Producer({"bootstrap.servers": self.engine.bootstrap, "linger.ms": 0})
        for i in range(self.calls, self.calls + times):
            producer.produce("calls", key=f"line {i % LINES}".encode(), value=b'{"HELD": 7}', partition=i % 2)
        assert producer.flush(20) == 0
        self.calls += times

    def results(self) -> list[tuple[bytes | None, int]]:
        ends = self.engine.kafka.offsets(self.engine.kafka.partitions(["COUNTS"]), latest=True)["COUNTS"]
        reader = self.engine.kafka.reader(ends=True)
        reader.assign([TopicPartition("COUNTS", int(p), 0) for p in ends])
        found: list[tuple[bytes | None, int]] = []
        at_end = 0
        while at_end < len(ends):
            message = reader.poll(10)
            assert message is not None
            if message.error() is not None:
                at_end += 1
            else:
                found.append((message.key(), json.loads(message.value() or b"{}")["N"]))
        reader.close()
        return found

    def right(self) -> bool:
        """Whether each count of each line is there."""
        return len(self.results()) >= self.calls

    def wait_for_commit(self, files: str) -> None:
        """Until a batch is committed, and there is a file such as is to be damaged: snapshots come later."""
        commits = "spark/commits/[0-9]*"
        before = newest(self.folder, commits)
        assert until(lambda: newest(self.folder, commits) != before and newest(self.folder, files) is not None)

    def pause(self) -> None:
        self.engine.execute("PAUSE counts;")
        jvm: Any = self.spark._jvm
        jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()  # else the state is still in memory

    def resume(self) -> None:
        self.engine.execute("RESUME counts;")

    def standing(self) -> tuple[State, str | None]:
        query = self.engine.queries.get("COUNTS")
        assert query is not None
        return query.state, query.error


@pytest.fixture(scope="module")
def counts(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counts]:
    folder: Path = tmp_path_factory.mktemp("damage")
    engine = Engine(
        Config.of(
            {
                "bootstrap.servers": broker.bootstrap,
                "ksqlpy.data.dir": str(folder),
                "ksqlpy.warm.up": "false",
                "commit.interval.ms": 1500,
                "ksql.query.retry.backoff.initial.ms": 300,
            }
        )
    )
    engine.start()
    engine.execute(CALLS, {"auto.offset.reset": "earliest"})
    found = Counts(engine, spark, Path(engine.queries.checkpoints.folder("COUNTS")))
    yield found
    engine.stop()


def newest(folder: Path, files: str) -> Path | None:
    """The newest of the files of a checkpoint that a pattern names; None if there is none."""
    found = [f for f in folder.glob(files) if f.is_file()]
    return max(found, key=lambda f: (f.stat().st_mtime_ns, f.name), default=None)


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.extended("each file of a checkpoint damaged")
def test_a_damaged_file_makes_no_wrong_result(counts: Counts, generated: Callable[[int], int], tmp_path: Path) -> None:
    """With ``--generated N``: N of all files and ways."""
    number = generated(0)
    cases = [(f, w) for f in FILES for w in WAYS][:number] if number else SHORT
    said: dict[str, str] = {}
    unnamed: list[str] = []
    for file, way in cases:
        name = f"{file} {way}"
        counts.ring(10)
        assert until(counts.right), name
        counts.wait_for_commit(FILES[file])
        counts.ring(10)  # results after the last commit
        assert until(counts.right), name
        counts.pause()
        shutil.copytree(counts.folder, tmp_path / name)
        damaged = newest(counts.folder, FILES[file])
        assert damaged is not None
        WAYS[way](damaged)
        counts.ring(10)
        counts.resume()

        def settled() -> bool:
            state, error = counts.standing()
            return counts.right() or (state is State.RETRYING and error is not None)

        assert until(settled, 180), name
        if not counts.right():
            error = counts.standing()[1] or ""
            said[name] = error
            if "checkpoint" not in error or "hint: " not in error:
                unnamed.append(name)
            counts.pause()
            shutil.rmtree(counts.folder)  # what the hint says: a copy is brought back
            shutil.copytree(tmp_path / name, counts.folder)
            counts.resume()
            assert until(counts.right, 180), name
        else:
            said[name] = "right"
        time.sleep(0.5)  # what came twice would be seen
        results = counts.results()
        wanted = sorted((f"line {i}".encode(), n) for i in range(LINES) for n in range(1, counts.calls // LINES + 1))
        assert sorted(results) == wanted, name
    print("\n".join(f"{name}: {what}" for name, what in said.items()))
    assert unnamed == []
