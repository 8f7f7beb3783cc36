"""The command: `python -m bench [latency] [start] [many]`; all three by default.

Figures depend on the machine and on what else runs: each table names the load. Records are timed in the process that
sends and receives them, so there is one clock.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from bench.jobs import JOBS
from bench.latency import HEADER, measure
from bench.many import many, warm_start
from ksqlpy.config import Config
from ksqlpy.runtime import Engine


def _latency(engine: Engine, arguments: argparse.Namespace) -> None:
    seconds = arguments.intervals * arguments.interval
    how = "one after the other" if arguments.apart else "all at once"
    print(f"{arguments.rate} records/s a job for {seconds} s, a checkpoint every {arguments.interval} s, jobs {how}")
    print(HEADER, flush=True)
    with ThreadPoolExecutor(1 if arguments.apart else len(JOBS)) as pool:
        running = [
            pool.submit(measure, engine, job, str(i), rate=arguments.rate, seconds=seconds)
            for i, job in enumerate(JOBS)
        ]
        for result in (r.result() for r in running):
            print(f"{result.line()}   load {os.getloadavg()[0]:.1f}", flush=True)
            if result.received != result.sent:
                print(f"  {result.sent - result.received} records are missing")


def main() -> int:
    """Measures what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", help="what to measure")
    parser.add_argument("--rate", type=int, default=500, help="records a second (500)")
    parser.add_argument("--intervals", type=int, default=10, help="checkpoint intervals to span (10)")
    parser.add_argument("--interval", type=int, default=60, help="seconds between checkpoints (60, the default)")
    parser.add_argument("--apart", action="store_true", help="one job after the other, not all at once")
    parser.add_argument("--queries", type=int, default=40, help="how many queries side by side (40)")
    arguments = parser.parse_args()
    parts = arguments.parts or ["start", "many", "latency"]
    if unknown := set(parts) - {"start", "many", "latency"}:
        parser.error(f"cannot measure {', '.join(sorted(unknown))}: there are start, many and latency")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for part in parts:
        begin = time.time()
        engine = Engine(Config.of({"commit.interval.ms": arguments.interval * 1000}))
        engine.start()
        print(f"\n== {part} (server ready after {time.time() - begin:.1f} s)", flush=True)
        try:
            if part == "start":
                for kind, seconds in warm_start(engine).items():
                    shown = " ".join(f"{s:.2f}" for s in seconds)
                    print(
                        f"{kind:20} first row after {statistics.median(seconds):.2f} s (median of {shown})", flush=True
                    )
            elif part == "many":
                print(many(engine, arguments.queries), flush=True)
            else:
                _latency(engine, arguments)
        finally:
            engine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
