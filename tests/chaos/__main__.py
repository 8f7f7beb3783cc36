"""The command: `python -m tests.chaos`."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from ksqlpy.errors import KsqlError
from tests.chaos import Options, run
from tests.chaos.jobs import JOBS
from tests.chaos.kills import KINDS, OF_PYTHON, ON_CLUSTER, ON_NETWORKS, ON_ONE_MACHINE
from tests.chaos.values import FORMATS

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Does a run; gives the exit code: 0 all is right, 1 something is not, 2 wrong usage, 130 interrupted."""
    options = _options(argv)
    begin = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - begin:7.1f} s  {text}", flush=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that folders and processes go then, too
    logging.getLogger().addHandler(logging.NullHandler())  # else the clients complain about a broker that is killed
    try:
        report = run(options, tell)
    except KsqlError as e:
        print(e.render(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print()
    for line in report.lines():
        print(line)
    return 0 if report.ok else 1


def _options(argv: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description="Kills parts of a running system under load, and compares every result with the truth.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    default = Options()
    parser.add_argument("--kills", type=int, default=default.kills, metavar="N", help="how many kills (%(default)s)")
    parser.add_argument("--kinds", help="kinds of kills (all that the run can have)")
    parser.add_argument(
        "--workers", type=int, default=0, metavar="N", help="run on a Spark cluster of so many workers (none)"
    )
    parser.add_argument(
        "--networks", action="store_true", help="each worker is in a network of its own, which can be cut off; as root"
    )
    parser.add_argument(
        "--early", action="store_true", help="besides, kill the JVM or the server within a second of each CREATE"
    )
    parser.add_argument("--jobs", default=",".join(default.jobs), help="jobs to run (all)")
    parser.add_argument("--seed", type=int, default=default.seed, help="of records, kinds and moments (%(default)s)")
    parser.add_argument("--rate", type=float, default=default.rate, help="records/s over all topics (%(default)g)")
    parser.add_argument("--partitions", type=int, default=default.partitions, help="of every topic (%(default)s)")
    parser.add_argument("--scatter", action="store_true", help="the records of streams go to partitions round-robin")
    parser.add_argument("--format", choices=FORMATS, default=default.format, help="of all values (%(default)s)")
    parser.add_argument(
        "--commit-interval", type=int, default=default.commit_interval, metavar="MS", help="ms (%(default)s)"
    )
    parser.add_argument("--guarantee", choices=("exactly_once", "at_least_once"), help="processing.guarantee to set")
    parser.add_argument("--min-gap", type=float, default=default.min_gap, metavar="S", help="seconds (%(default)g)")
    parser.add_argument("--max-gap", type=float, default=default.max_gap, metavar="S", help="seconds (%(default)g)")
    parser.add_argument(
        "--recover",
        type=float,
        default=default.recover,
        metavar="S",
        help="at most so long until all jobs give results after the last (%(default)g)",
    )
    parser.add_argument("--tail", type=float, default=default.tail, metavar="S", help="load after that (%(default)g)")
    parser.add_argument(
        "--quiet", type=float, default=default.quiet, metavar="S", help="without results, then none comes (%(default)g)"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep data and logs there, for looking at them")
    a = parser.parse_args(argv)
    able: tuple[str, ...] = ON_CLUSTER if a.workers else ON_ONE_MACHINE
    if a.networks:
        able += ON_NETWORKS
    jobs = _names(parser, "job", a.jobs, JOBS)
    if not any(JOBS[j].python for j in jobs):
        able = tuple(k for k in able if k not in OF_PYTHON)
    kinds = _names(parser, "kind", a.kinds or ",".join(able), KINDS)
    if a.networks and not a.workers:
        parser.error("--networks needs --workers")
    if wrong := [k for k in kinds if k in OF_PYTHON and k not in able]:
        parser.error(f"the kind {wrong[0]} needs a job that calls functions in Python")
    if wrong := [k for k in kinds if k in (*ON_CLUSTER, *ON_NETWORKS) and k not in able]:
        parser.error(f"the kind {wrong[0]} needs {'--networks' if wrong[0] in ON_NETWORKS else '--workers'}")
    if a.kills < 0 or a.rate <= 0 or a.partitions < 1 or not 0 <= a.min_gap <= a.max_gap:
        parser.error("kills and gaps must not be negative, rate and partitions be at least one, gaps from and to")
    return Options(
        seed=a.seed,
        kills=a.kills,
        kinds=kinds,
        workers=a.workers,
        networks=a.networks,
        early=a.early,
        jobs=jobs,
        rate=a.rate,
        partitions=a.partitions,
        commit_interval=a.commit_interval,
        guarantee=a.guarantee,
        scatter=a.scatter,
        format=a.format,
        min_gap=a.min_gap,
        max_gap=a.max_gap,
        recover=a.recover,
        tail=a.tail,
        quiet=a.quiet,
        keep=a.keep,
    )


def _names(parser: argparse.ArgumentParser, what: str, text: str, known: Collection[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name for name in text.split(",") if name))
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no {what} {unknown[0]}: there are {', '.join(known)}")
    if not names:
        parser.error(f"name at least one {what}")
    return names


def _epilog() -> str:
    kinds = [f"  {name:16}{about}" for name, about in KINDS.items()]
    jobs = [f"  {job.name:16}{job.about}" for job in JOBS.values()]
    return "\n".join(["kinds:", *kinds, "", "jobs:", *jobs])


if __name__ == "__main__":
    sys.exit(main())
