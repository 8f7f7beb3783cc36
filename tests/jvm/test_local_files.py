"""How ksqlpy.state.LocalFiles makes, renames and replaces the files of a checkpoint: without a process."""

from __future__ import annotations

import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.spark

_MANAGERS = "org.apache.spark.sql.execution.streaming.checkpointing."


@pytest.fixture
def jvm(spark: SparkSession) -> Any:
    return spark._jvm


@pytest.fixture
def files(spark: SparkSession, jvm: Any) -> Any:
    """The local file system of the session."""
    return jvm.org.apache.hadoop.fs.FileSystem.getLocal(_hadoop(spark))


@pytest.fixture
def processes(jvm: Any) -> Callable[[Callable[[], None]], bool]:
    """Says whether the JVM runs a process each time that something is done."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux has /proc, where the processes are counted")
    pid = jvm.java.lang.ProcessHandle.current().pid()

    def reaped() -> int:
        # The page faults of all children that were waited for: no process ends without one.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[8])

    def each_time(action: Callable[[], None]) -> bool:
        # More than once, since Spark runs one now and then for its own purposes.
        for _ in range(4):
            before = reaped()
            action()
            if reaped() == before:
                return False
        return True

    return each_time


def _hadoop(spark: SparkSession) -> Any:
    session: Any = spark._jsparkSession
    return session.sessionState().newHadoopConf()


def _manager(spark: SparkSession, jvm: Any, folder: Path) -> Any:
    return getattr(jvm, f"{_MANAGERS}CheckpointFileManager").create(_path(jvm, folder), _hadoop(spark))


def _path(jvm: Any, path: Path) -> Any:
    return jvm.org.apache.hadoop.fs.Path(str(path))


def _write(out: Any, text: str) -> None:
    out.write(text.encode())
    out.close()


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_a_process_is_noticed(jvm: Any, processes: Callable[[Callable[[], None]], bool]) -> None:
    assert processes(lambda: jvm.java.lang.ProcessBuilder(["true"]).start().waitFor())


def test_no_process(
    spark: SparkSession, jvm: Any, files: Any, tmp_path: Path, processes: Callable[[Callable[[], None]], bool]
) -> None:
    manager = _manager(spark, jvm, tmp_path)
    folders = (tmp_path / str(i) for i in range(9))

    def run() -> None:
        folder = next(folders)
        _write(files.create(_path(jvm, folder / "a" / "file"), True), "x")
        assert files.rename(_path(jvm, folder / "a" / "file"), _path(jvm, folder / "a" / "other"))
        manager.mkdirs(_path(jvm, folder / "b"))
        for _ in range(2):
            _write(manager.createAtomic(_path(jvm, folder / "b" / "file"), True), "x")
        assert _names(folder / "a") == ["other"]
        assert _names(folder / "b") == ["file"]

    assert not processes(run)


def test_permissions(jvm: Any, files: Any, tmp_path: Path) -> None:
    assert files.getClass().getName() == "ksqlpy.state.LocalFiles"
    _write(files.create(_path(jvm, tmp_path / "a" / "b" / "file"), True), "x")
    assert _mode(tmp_path / "a" / "b" / "file") == 0o600
    assert _mode(tmp_path / "a") == _mode(tmp_path / "a" / "b") == 0o700
    permission = jvm.org.apache.hadoop.fs.permission.FsPermission
    files.setPermission(_path(jvm, tmp_path / "a"), permission("700"))
    assert _mode(tmp_path / "a") == 0o700
    with pytest.raises(Py4JJavaError, match="FileNotFoundException"):
        files.setPermission(_path(jvm, tmp_path / "none"), permission("700"))


def test_the_sticky_bit_is_set(jvm: Any, files: Any, tmp_path: Path) -> None:
    files.setPermission(_path(jvm, tmp_path), jvm.org.apache.hadoop.fs.permission.FsPermission("1777"))
    assert _mode(tmp_path) == 0o1777


def test_a_rename_replaces_at_once(jvm: Any, files: Any, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    _write(files.create(_path(jvm, old), True), "old")
    _write(files.create(_path(jvm, new), True), "new")
    inode = new.stat().st_ino
    with old.open() as reader:
        assert files.rename(_path(jvm, new), _path(jvm, old))
        assert reader.read() == "old"  # who reads meanwhile reads one file or the other, whole
    assert old.read_text() == "new" and old.stat().st_ino == inode
    assert _names(tmp_path) == ["old"]


def test_a_checksum_file_of_before_goes_with_its_file(
    spark: SparkSession, jvm: Any, files: Any, tmp_path: Path
) -> None:
    file, checksum, new = tmp_path / "file", tmp_path / ".file.crc", tmp_path / "new"
    theirs = jvm.org.apache.hadoop.fs.LocalFileSystem()
    theirs.initialize(files.getUri(), _hadoop(spark))
    _write(theirs.create(_path(jvm, file), True), "old")
    assert checksum.exists()
    assert files.open(_path(jvm, file)).read() == ord("o")
    file.write_text("odd")
    with pytest.raises(Py4JJavaError, match="ChecksumException"):
        files.open(_path(jvm, file)).read()
    _write(files.create(_path(jvm, new), True), "new")
    assert files.rename(_path(jvm, new), _path(jvm, file))
    assert _names(tmp_path) == ["file"]
    assert files.open(_path(jvm, file)).read() == ord("n")


def test_what_a_checkpoint_needs(spark: SparkSession, jvm: Any, tmp_path: Path) -> None:
    file = tmp_path / "folder" / "7"
    manager = _manager(spark, jvm, tmp_path)
    assert manager.getClass().getName() == f"{_MANAGERS}FileSystemBasedCheckpointFileManager"
    assert manager.isLocal()
    manager.mkdirs(_path(jvm, file.parent))
    out = manager.createAtomic(_path(jvm, file), False)
    out.write(b"first")
    assert not file.exists()
    out.close()
    assert file.read_text() == "first"
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        _write(manager.createAtomic(_path(jvm, file), False), "second")
    assert file.read_text() == "first"
    _write(manager.createAtomic(_path(jvm, file), True), "third")
    assert file.read_text() == "third"
    out = manager.createAtomic(_path(jvm, file), True)
    out.write(b"fourth")
    out.cancel()
    assert file.read_text() == "third"
    manager.delete(_path(jvm, file))
    assert not file.exists()


def test_a_stateful_query_runs_no_process_at_a_checkpoint(
    spark: SparkSession, tmp_path: Path, processes: Callable[[Callable[[], None]], bool]
) -> None:
    own = spark.newSession()
    # Spark has a process remove one folder for every snapshot.
    own.conf.set("spark.sql.streaming.stateStore.minDeltasForSnapshot", "1000")
    rows = own.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).option("numPartitions", 1).load()

    def start() -> StreamingQuery:
        sums = rows.groupBy((rows["value"] % 3).alias("k")).count()
        noop = sums.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).outputMode("update")
        return noop.start()

    def committed() -> int:
        return max((int(name) for name in _names(tmp_path / "commits") if name.isdigit()), default=-1)

    def two_more() -> None:
        before, deadline = committed(), time.monotonic() + 60
        while committed() < before + 2:
            assert query.isActive and time.monotonic() < deadline
            time.sleep(0.01)

    for _ in range(2):  # the second one goes on from what the first has left
        query = start()
        (tmp_path / "commits").mkdir(parents=True, exist_ok=True)
        try:
            two_more()
            assert not processes(two_more)
        finally:
            query.stop()
    checked = {p.parent.name for p in tmp_path.rglob("*") if p.name.endswith(".crc")}
    assert checked == {"offsets", "commits"}  # states hold checksums of their own, and their files are many
