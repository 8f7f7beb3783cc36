"""What the copies of tables tell of themselves."""

from __future__ import annotations

import queue
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from confluent_kafka import OFFSET_INVALID, TopicPartition

from ksqlpy.catalog import Column, KeySpec, Source, ValueSpec
from ksqlpy.figures import CopyFigures
from ksqlpy.tables import Copies, Copy
from ksqlpy.types import INTEGER
from tests.support.waiting import until

ZONES = Source(
    "ZONES",
    "TABLE",
    "zones",
    (Column("ID", INTEGER, key=True), Column("N", INTEGER)),
    KeySpec("KAFKA"),
    ValueSpec("JSON"),
    "CREATE …",
)


class Follower:
    """A consumer of two partitions, which only the thread that polls may ask, as in :class:`Copy`."""

    def __init__(self) -> None:
        self.come: queue.Queue[Any] = queue.Queue()
        self.ends = {0: 5, 1: OFFSET_INVALID}
        self._thread: threading.Thread | None = None

    def assign(self, places: list[TopicPartition]) -> None:
        self._thread = threading.current_thread()

    def poll(self, timeout: float) -> Any:
        try:
            return self.come.get(timeout=0.02)
        except queue.Empty:
            return None

    def consume(self, num_messages: int, timeout: float) -> list[Any]:
        return []

    def get_watermark_offsets(self, place: TopicPartition, *, cached: bool) -> tuple[int, int]:
        assert cached and threading.current_thread() is self._thread
        return 0, self.ends[place.partition]

    def close(self) -> None:
        pass

    def record(self, partition: int, offset: int) -> None:
        """Has a record come."""
        of = {"partition": partition, "offset": offset, "key": b"\0\0\0\1", "value": b"{}", "timestamp": (1, 0)}
        self.come.put(SimpleNamespace(error=lambda: None, **{name: lambda v=v: v for name, v in of.items()}))


class Known:
    """A copy of which nothing may be asked but what its thread has left."""

    def __init__(self, lag: int | None, size: int, *, failed: bool = False) -> None:
        self.figures, self.failed = CopyFigures(lag, size), failed


def test_a_copy_knows_how_far_behind_it_is(tmp_path: Path) -> None:
    follower = Follower()
    of: Any = follower
    copy = Copy(ZONES, "id", tmp_path / "zones", lambda: of, {0: 0, 1: 0}, committed=True)
    assert until(lambda: copy.figures.size > 0)
    assert copy.figures.lag is None, "nothing is known of a partition"
    follower.ends[1] = 3
    assert until(lambda: copy.figures.lag == 8), copy.figures
    follower.record(0, 3)
    follower.record(1, 2)
    assert until(lambda: copy.figures.lag == 1), copy.figures
    follower.record(0, 4)
    assert until(lambda: copy.figures.lag == 0), copy.figures
    follower.ends[0] = 7
    assert until(lambda: copy.figures.lag == 2), copy.figures
    assert not copy.failed
    copy.close()


def test_copies_tell_what_they_know_while_another_one_is_made(tmp_path: Path) -> None:
    nobody: Any = SimpleNamespace()  # no brokers are asked
    copies = Copies(tmp_path, nobody, None)
    there: dict[tuple[str, bool], Any] = {
        ("ZONES", True): Known(2, 100),
        ("ZONES", False): Known(7, 50),
        ("NEW", True): Known(None, 10),
        ("HALF", True): Known(None, 10),
        ("HALF", False): Known(0, 10),
        ("FAILED", True): Known(5, 10, failed=True),
        ("DROPPED", True): Known(5, 10),
    }
    copies._open.update(there)
    with copies._lock:
        found = copies.known({"ZONES", "NEW", "HALF", "FAILED", "NOT_COPIED"})
    assert found == {"ZONES": CopyFigures(7, 150), "NEW": CopyFigures(None, 10), "HALF": CopyFigures(0, 20)}
