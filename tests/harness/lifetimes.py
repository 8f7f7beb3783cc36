"""What engines of a program leave behind: ``python -m tests.harness.lifetimes [--times N]``.

An embedded engine with its own broker is opened, used by all that the library has, and closed, again and again. Behind
the first two and behind the last one threads, child processes, open files, sockets and temporary files are counted; it
fails where more of one kind is there than before.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

import ksqlpy
from ksqlpy.session.rows import Row
from tests.support.waiting import until

__all__ = ["Left", "main", "once"]

SETTLED = 30.0
"""Seconds in which what has ended must be gone."""

WAIT = 300.0


@dataclass(frozen=True)
class Left:
    """What a process holds."""

    threads: int
    children: int
    files: int
    sockets: int
    temporary: int

    @staticmethod
    def now() -> Left:
        """That of this process."""
        gc.collect()
        own = psutil.Process()
        temporary = [*Path(tempfile.gettempdir()).glob("ksqlpy-*")]
        sockets = own.net_connections("all")
        return Left(
            len(threading.enumerate()),
            len(own.children(recursive=True)),
            own.num_fds() - len(sockets),
            len(sockets),
            len(temporary),
        )

    def more_than(self, before: Left) -> list[str]:
        """The kinds of which there is more."""
        then = asdict(before)
        return [
            f"{kind}: {then[kind]} before, {count} now" for kind, count in asdict(self).items() if count > then[kind]
        ]


def once() -> None:
    """Opens an engine, uses it, and closes it."""
    with ksqlpy.Engine(config={"ksqlpy.warm.up": "false"}) as engine:
        engine.properties["auto.offset.reset"] = "earliest"
        engine.sql(
            "CREATE STREAM rides (id INT KEY, n INT) WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);"
            "CREATE STREAM alerts (id INT KEY) WITH (KAFKA_TOPIC='alerts', VALUE_FORMAT='JSON', PARTITIONS=1);"
            "CREATE TABLE seen (id INT PRIMARY KEY, n INT)"
            " WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON');"
        )

        @engine.register
        def twice(n: int) -> int:
            return 2 * n

        @engine.subscribe("SELECT id FROM rides EMIT CHANGES", name="all", to="alerts")
        def all_rides(ride: Row) -> dict[str, int]:
            return {"id": ride[0]}

        engine.insert("rides", [{"id": n, "n": n} for n in range(3)])
        assert all_rides.wait(WAIT, rows=3)
        assert engine.table("seen").get(2, wait=WAIT) == (2, 2)
        with engine.query("SELECT twice(n) AS n FROM rides EMIT CHANGES") as rides:
            assert [rides.fetchone() for _ in range(3)] == [(0,), (2,), (4,)]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.lifetimes", description=__doc__)
    parser.add_argument("--times", type=int, default=200, help="how often an engine is opened and closed (200)")
    times = parser.parse_args(arguments).times
    for _ in range(2):
        once()
    before = Left.now()
    print(f"behind the first two: {before}", flush=True)
    for number in range(2, times):
        once()
        print(f"\r{number + 1} of {times}", end="", file=sys.stderr, flush=True)
    until(lambda: not Left.now().more_than(before), SETTLED)
    after = Left.now()
    print(f"\nbehind all {times}: {after}", flush=True)
    more = after.more_than(before)
    for line in more:
        print(f"left over: {line}", flush=True)
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
