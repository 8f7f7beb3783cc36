"""``ksqlpy backup`` and ``ksqlpy restore`` are killed with SIGKILL while they write.

Nothing half-done is taken for a backup or for checkpoints, and the next run does all of it.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksqlpy.__main__ import main
from ksqlpy.backup import LocalPlace, Store, list_backups
from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from ksqlpy.runtime import Engine
from tests.backup.test_everything_lost import runbook
from tests.runtime.lifecycle import EARLIEST, all_live, configured, read, send
from tests.support.waiting import count as written
from tests.support.waiting import until

pytestmark = pytest.mark.extended("processes that are killed while they write")

STATEMENTS = """
CREATE STREAM orders (id STRING KEY, item STRING)
  WITH (KAFKA_TOPIC = 'killed_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE per_item WITH (KAFKA_TOPIC = 'killed_per_item') AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;
CREATE STREAM some WITH (KAFKA_TOPIC = 'killed_some') AS SELECT id, item FROM orders WHERE item <> 'i1';
"""
ROWS = 60
LONG = 300.0
"""Seconds for what takes one on a machine with nothing else to do."""
TRIES = 10
"""Runs that may end before they are killed."""
MIDWAY = 15
"""Files that are there when a run is killed: half of them, or less."""


@dataclass(frozen=True)
class Stopped:
    """A service that does not run, its data folder, and the commands of the page."""

    config: Config
    data: Path
    backup: list[str]
    restore: list[str]


@pytest.fixture(scope="module")
def service(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stopped]:
    folder = tmp_path_factory.mktemp("killed")
    config = configured(broker, folder / "data", "killed_at_work")
    backup, *restore, _ = runbook(config, folder)
    engine = Engine(config)
    engine.start()
    try:
        engine.execute(STATEMENTS, EARLIEST)
        assert until(lambda: all_live(engine), LONG)
        order(engine, 0)
        check(engine, ROWS)
        assert until(lambda: all((q.checkpoint.last_commit or 0) > 1 for q in engine.queries.all()), LONG)
    finally:
        engine.stop()
    yield Stopped(config, folder / "data", backup, restore[-1])


def order(engine: Engine, first: int) -> None:
    """So many orders of three items."""
    send(engine, "killed_orders", [(f"o{n}", {"ITEM": f"i{n % 3}"}, n % 2) for n in range(first, first + ROWS)])


def check(engine: Engine, orders: int) -> None:
    """Each result of so many orders is there once."""
    assert until(lambda: written(engine, "killed_per_item") >= orders, LONG)
    assert until(lambda: written(engine, "killed_some") >= orders * 2 // 3, LONG)
    found = read(engine, "killed_per_item", orders)
    assert Counter(k for k, _ in found) == {b"i0": orders // 3, b"i1": orders // 3, b"i2": orders // 3}
    assert sorted(str(v["N"]) for _, v in found) == sorted([str(n + 1) for n in range(orders // 3)] * 3)
    kept = read(engine, "killed_some", orders * 2 // 3)
    assert Counter(k for k, _ in kept) == {b"o%d" % n: 1 for n in range(orders) if n % 3 != 1}


def files(folder: Path) -> int:
    return sum(1 for p in folder.rglob("*") if p.is_file())


def killed(words: Sequence[str], folder: Path, count: int) -> bool:
    """Runs a command until so many files are in the folder. Whether it was killed before it had ended."""
    process = subprocess.Popen([sys.executable, "-m", "ksqlpy", *words], stdout=subprocess.DEVNULL)
    while process.poll() is None and files(folder) < count:
        time.sleep(0.001)
    process.kill()
    return process.wait(60) == -signal.SIGKILL


def listed(target: Path) -> dict[object, object]:
    """The backups that are shown, with what is wrong with each."""
    return {row["name"]: row["problem"] for row in list_backups(Store(LocalPlace(target)))}


def test_a_killed_backup_is_none(service: Stopped, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for attempt in range(TRIES):
        target = tmp_path / f"to-{attempt}"
        words = [service.backup[0], str(target), *service.backup[2:]]
        if killed(words, target, MIDWAY) and not Store(LocalPlace(target)).names():
            break
    else:
        pytest.fail(f"{TRIES} backups had ended before they were killed")
    assert all("has no manifest" in str(problem) for problem in listed(target).values())
    restoring = [service.restore[0], str(target), *service.restore[2:]]
    assert main(restoring) == 1
    assert "error[no-backup]" in (err := capsys.readouterr().err) or "error[backup-incomplete]" in err
    assert main(words) == 0, capsys.readouterr().err
    [(name, problem)] = listed(target).items()
    assert problem is None
    store = Store(LocalPlace(target))
    manifest = store.manifest(str(name))
    store.check(manifest)
    assert len(manifest.queries) == 2


def test_a_killed_restore_is_begun_again(service: Stopped, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, checkpoints = tmp_path / "to", service.data / "checkpoints"
    assert main([service.backup[0], str(target), *service.backup[2:]]) == 0, capsys.readouterr().err
    words = [service.restore[0], str(target), *service.restore[2:]]
    shutil.rmtree(service.data)
    for _ in range(TRIES):
        shutil.rmtree(checkpoints, ignore_errors=True)
        if killed(words, checkpoints, MIDWAY) and unfinished(checkpoints):
            break
    else:
        pytest.fail(f"{TRIES} restores had ended before they were killed")
    with pytest.raises(KsqlError) as e:
        Engine(service.config).start()
    assert e.value.code == "restore-unfinished"
    assert main(words) == 0, capsys.readouterr().err
    assert not unfinished(checkpoints)
    engine = Engine(service.config)
    engine.start()
    try:
        assert until(lambda: all_live(engine), LONG)
        order(engine, ROWS)
        check(engine, 2 * ROWS)
    finally:
        engine.stop()


def unfinished(checkpoints: Path) -> bool:
    """Whether the folder of the service says that its restore has not ended."""
    return any('"restoring"' in file.read_text() for file in checkpoints.glob("*/belongs.json"))
