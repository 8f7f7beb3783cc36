"""Everything is lost but the topics of records: a service is restored, and each result is there once.

A backup is made while rows flow. Then data folder and command topic go, the backup is restored, and the service goes
on. In the meantime it had written results that the backup knows nothing of.
"""

from __future__ import annotations

import shutil
import struct
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.__main__ import main
from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from tests.docs.pages import commands, pieces
from tests.runtime.lifecycle import EARLIEST, all_live, configured, read_all, send
from tests.support.waiting import until

SOURCES = """
CREATE STREAM orders (id STRING KEY, item STRING, price DOUBLE, n INT)
  WITH (KAFKA_TOPIC = '{t}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE items (item STRING PRIMARY KEY, version INT)
  WITH (KAFKA_TOPIC = '{t}_items', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""
QUERIES = """
CREATE STREAM big WITH (KAFKA_TOPIC = '{t}_big') AS SELECT id, n FROM orders WHERE n >= 10;
CREATE TABLE per_item WITH (KAFKA_TOPIC = '{t}_per_item') AS
  SELECT item, COUNT(*) AS orders, SUM(n) AS total FROM orders GROUP BY item;
CREATE TABLE per_day WITH (KAFKA_TOPIC = '{t}_per_day') AS
  SELECT item, COUNT(*) AS orders FROM orders WINDOW TUMBLING (SIZE 1 DAY) GROUP BY item;
CREATE TABLE per_price WITH (KAFKA_TOPIC = '{t}_per_price') AS
  SELECT price, COUNT(*) AS orders FROM orders GROUP BY price;
CREATE STREAM priced WITH (KAFKA_TOPIC = '{t}_priced') AS
  SELECT orders.item AS item, n, version FROM orders JOIN items ON orders.item = items.item;
CREATE TABLE of_big WITH (KAFKA_TOPIC = '{t}_of_big') AS
  SELECT id, COUNT(*) AS c, MAX(n) AS last FROM big GROUP BY id;
"""


def orders(first: int, count: int) -> list[tuple[str, object, int]]:
    """Orders of three items at three prices, each item's rows in both partitions."""
    return [
        (f"o{n % 10}", {"ITEM": f"i{n % 3}", "PRICE": n % 3 / 8, "N": n}, n % 2) for n in range(first, first + count)
    ]


def runbook(config: Config, folder: Path) -> list[list[str]]:
    """The commands of the page, with the places of the test; the last one starts a server."""
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in config.values.items()))
    places = {"/backups/ksqlpy": str(folder / "backups"), "server.properties": str(file)}
    typed = [c for x in pieces("docs/operations.md") if x.kind == "commands" for c in commands(x.text)]
    return [[places.get(word, word) for word in c.split()[1:]] for c in typed]


def check(engine: Engine, t: str, total: int) -> None:
    """Each result of these orders is there once, and those of a key are in order."""
    names = ("big", "per_item", "per_day", "per_price", "priced", "of_big")
    counts = {f"{t}_{name}": total - (10 if "big" in name else 0) for name in names}
    found = dict(zip(names, read_all(engine, counts), strict=True))
    assert sorted(v["N"] for _, v in found["big"]) == list(range(10, total))
    assert sorted(v["N"] for _, v in found["priced"]) == list(range(total))
    for name in ("per_item", "per_day", "per_price"):
        assert len(found[name]) == total
        for key in {k for k, _ in found[name]}:
            counts = [v["ORDERS"] for k, v in found[name] if k == key]
            assert counts == list(range(1, len(counts) + 1)), name
    last = {k: v for k, v in found["per_item"]}
    assert {k: v["TOTAL"] for k, v in last.items()} == {b"i%d" % i: sum(range(i, total, 3)) for i in range(3)}
    assert {k for k, _ in found["per_price"]} == {struct.pack(">d", i / 8) for i in range(3)}
    ids = {k: (v["C"], v["LAST"]) for k, v in found["of_big"]}
    assert len(found["of_big"]) == total - 10
    assert {c for c, _ in ids.values()} == {total // 10 - 1} and max(n for _, n in ids.values()) == total - 1


class Flow:
    """Sends orders, some at a time, until it is told to stop."""

    def __init__(self, engine: Engine, topic: str) -> None:
        self._engine, self._topic = engine, topic
        self.sent = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            send(self._engine, self._topic, orders(self.sent, 10))
            self.sent += 10
            time.sleep(0.1)

    def stop(self) -> None:
        self._over.set()
        self._thread.join(60)


@pytest.mark.extended("a service restored while records come")
@pytest.mark.parametrize("lost", ["all", "folder"])
def test_each_result_is_there_once_behind_a_restore(
    lost: str, spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t, config = f"el{lost}", configured(broker, tmp_path / "data", f"lost_{lost}")
    backup, *restore, server = runbook(config, tmp_path)
    assert server[0] == "server" and backup[0] == "backup" and [words[0] for words in restore] == ["restore"] * 3
    first = Engine(config)
    first.start()
    try:
        first.execute(SOURCES.format(t=t))
        send(first, f"{t}_items", [(f"i{i}", {"VERSION": 1}, i % 2) for i in range(3)])
        first.execute(QUERIES.format(t=t), EARLIEST)
        assert until(lambda: all_live(first))
        flow = Flow(first, f"{t}_orders")
        try:
            assert until(lambda: flow.sent >= 300)
            assert until(lambda: all((q.checkpoint.last_commit or 0) > 1 for q in first.queries.all()))
            for _ in range(2):
                assert main(backup) == 0, capsys.readouterr().err
            backed_up = flow.sent
            # What is written from here on, the backup does not know.
            assert until(lambda: flow.sent >= backed_up + 200)
        finally:
            flow.stop()
        check(first, t, flow.sent)
        assert main(restore[-1]) == 1
        assert "the data folder" in (err := capsys.readouterr().err) and "is in use" in err
    finally:
        first.stop()
    shutil.rmtree(tmp_path / "data")
    if lost == "all":
        first.kafka.delete_topics([first.topics.command_log, first.topics.producers])
        assert until(lambda: first.kafka.topic_id(first.topics.command_log) is None)
    for words in restore:
        assert main(words) == 0, capsys.readouterr().err
    said = capsys.readouterr()
    assert "warning" not in said.err and ("was lost" if lost == "all" else "stands as it was") in said.out
    second = Engine(config)
    second.start()
    try:
        assert until(lambda: all_live(second))
        check(second, t, flow.sent)  # nothing has been written twice
        send(second, f"{t}_orders", orders(flow.sent, 100))
        check(second, t, flow.sent + 100)
        # It is a service as every other: it takes statements, and can be backed up again.
        second.execute(f"CREATE STREAM more WITH (KAFKA_TOPIC = '{t}_more') AS SELECT id, n FROM orders;", EARLIEST)
        assert main(backup) == 0, capsys.readouterr().err
    finally:
        second.stop()


def test_a_service_that_has_not_been_restored_does_not_begin_anew(
    spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path
) -> None:
    """A restore that was killed leaves a mark, on which no server starts."""
    config = configured(broker, tmp_path / "data", "unfinished")
    folder = tmp_path / "data" / "checkpoints" / config.get("ksql.service.id")
    folder.mkdir(parents=True)
    (folder / "belongs.json").write_text('{"cluster": "c", "service": "s", "command_log": "restoring"}')
    with pytest.raises(KsqlError) as e:
        Engine(config).start()
    assert e.value.code == "restore-unfinished"
