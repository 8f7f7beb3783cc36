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

from bench.jobs import JOBS
from bench.latency import HEADER, measure
from bench.many import many, warm_start
from ksqlpy.config import Config
from ksqlpy.runtime import Engine


def main() -> int:
    """Measures what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", help="what to measure")
    parser.add_argument("--rate", type=int, default=500, help="records a second (500)")
    parser.add_argument("--intervals", type=int, default=10, help="checkpoint intervals to span (10)")
    parser.add_argument("--interval", type=int, default=60, help="seconds between checkpoints (60, the default)")
    parser.add_argument("--queries", type=int, default=40, help="how many queries side by side (40)")
    arguments = parser.parse_args()
    parts = arguments.parts or ["start", "many", "latency"]
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
                seconds_each = arguments.intervals * arguments.interval
                print(f"{arguments.rate} records/s for {seconds_each} s, a checkpoint every {arguments.interval} s")
                print(HEADER, flush=True)
                for i, job in enumerate(JOBS):
                    result = measure(engine, job, str(i), rate=arguments.rate, seconds=seconds_each)
                    print(f"{result.line()}   load {os.getloadavg()[0]:.1f}", flush=True)
                    if result.received != result.sent:
                        print(f"  {result.sent - result.received} records are missing")
        finally:
            engine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
