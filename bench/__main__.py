"""The command: `python -m bench [start] [many] [latency] [throughput] [churn] [recovery] [keys] [cost] [join-state]
[formats] [format-latency] [reads] [pauses] [calls] [many-functions] [library] [cluster] [growth] [driver] [server]
[functions] [nexmark] [recipes] [page] [report]`.

Without arguments the first four.

Figures depend on the machine and on what else runs: each table names the load. Records are timed in the process that
sends and receives them, so there is one clock. Kafka Streams, to compare with, needs `mvn` and a JDK; without them
there are only ksqlpy's figures. Flink SQL takes part if --who names it, as in --who 'ksqlpy|Flink': Maven fetches
100 MB for it. Jobs that it has no comparable program for are left out, with a line that says why.

`calls` measures calls of a Python function: alone, the first one, the memory of 50 functions, and rows in one task.

`many-functions` measures the memory of --queries queries with a Python function each, beside as many without.

`library` measures programs that use ksqlpy as a library.

`page` measures the web page in Chromium: `make web` ahead of it. --parts takes some of its parts.

`functions` measures a Python function; with --peers beside Faust, Quix Streams and PyFlink, of which --who leaves some
out. pip installs each on first use, below ~/.cache/ksqlpy/bench and not here; PyFlink is 400 MB, and needs `mvn` too.

`report` measures what docs/performance.md is made of, for hours, and writes --file after each run; one that was
interrupted goes on with --go-on. All contenders take part, unless --who leaves some out; of its jobs --jobs takes some.

`nexmark` runs NEXMark's queries over --records events, those that --jobs names, and says whether answers are exact;
with --peers, or --who that names Flink, beside Flink SQL.

`recipes` does so with common uses of streams: clickstream, fraud, inventory, anomaly.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from bench import latency, pauses, throughput
from bench.calls import alone, first, in_a_task
from bench.churn import churn
from bench.cluster import cluster
from bench.contenders import PEERS, Contender, kafka_streams, ours, stolen
from bench.cost import Cost, cost
from bench.cost import table as costs
from bench.driver import driver
from bench.flink_sql import FLINKS, flink
from bench.formats import format_jobs, formats
from bench.functions import JOBS as FUNCTION_JOBS
from bench.functions import Rounds, functions
from bench.growth import growth
from bench.jobs import JOBS, Job
from bench.join_state import join_state
from bench.library import library
from bench.many import beside_functions, many, warm_start
from bench.nexmark.beside import FLINK as FLINK_SQL
from bench.nexmark.beside import KSQLPY, beside_flink
from bench.nexmark.run import QUERIES, nexmark
from bench.page import PARTS as PAGE_PARTS
from bench.page import page
from bench.python_peers import python_peers
from bench.reads import reads
from bench.recipes.run import recipes
from bench.recovery import Recovery, large_state, recover
from bench.recovery import table as recoveries
from bench.report.record import Refused, Settings
from bench.report.run import OF_REPORT, contenders, report
from bench.server import NAMES, server
from ksqlpy.config import Config
from ksqlpy.embedded.process import ended_in_order
from ksqlpy.runtime import Engine
from ksqlpy.runtime.statements.functions import ENABLED
from ksqlpy.testing.registry import shared_registry

PARTS = ("start", "many", "latency", "throughput")
ON_CLUSTERS = (
    "cluster",
    "growth",
    "driver",
    "server",
    "functions",
    "library",
    "many-functions",
    "nexmark",
    "recipes",
    "page",
    "report",
)
"""These start servers of their own."""
LONG = (
    "churn",
    "recovery",
    "keys",
    "cost",
    "join-state",
    "formats",
    "format-latency",
    "reads",
    "pauses",
    "calls",
    *ON_CLUSTERS,
)

_STOLEN = stolen()


def _load() -> str:
    """How busy the machine is, and what its host took from it since the start, where that is known."""
    return f"load {os.getloadavg()[0]:.1f}, {stolen() - _STOLEN:.1f} s of its processors' time gone to others"


def _note(text: str) -> None:
    """How far a long measurement is; not among the figures."""
    print(text, file=sys.stderr, flush=True)


def _jobs(arguments: argparse.Namespace) -> list[Job]:
    return [job for job in JOBS if arguments.jobs.search(job.name)]


def _contenders(arguments: argparse.Namespace) -> list[Contender]:
    """Those whose names are asked for; what is not asked for is not built. Flink must be named: it is large."""
    wanted = arguments.who.search
    mine = [who for who in ours() if wanted(who.name)]
    peers = kafka_streams() if any(wanted(name) for name in PEERS) else []
    others = flink(arguments.interval) if "flink" in arguments.who.pattern.lower() and any(map(wanted, FLINKS)) else []
    return [*mine, *(who for who in (*peers, *others) if wanted(who.name))]


def _can(who: Contender, jobs: Sequence[Job]) -> list[Job]:
    """Those of the jobs that a contender has a program for; prints why it leaves out the others."""
    for job in jobs:
        if why := who.lacks(job):
            print(f"{job.name}, {who.name}: left out: {why}", flush=True)
    return [job for job in jobs if not who.lacks(job)]


def _latency(engine: Engine, arguments: argparse.Namespace, among: Sequence[Job]) -> None:
    seconds = arguments.intervals * arguments.interval
    contenders = [*_contenders(arguments)] if arguments.peers else ours()[:1]
    how = "one after the other" if arguments.apart else "all at once"
    ahead = f"{arguments.rate} records/s a job for {latency.SETTLE:g} s, not counted, and {seconds} s"
    print(f"{ahead}, a checkpoint every {arguments.interval} s, jobs {how}")
    jobs = [job for job in among if job.timed]
    results: list[latency.Latency] = []
    for c, who in enumerate(contenders):
        own = _can(who, jobs)
        with ThreadPoolExecutor(1 if arguments.apart else max(1, len(own))) as pool:
            running = [
                pool.submit(latency.measure, engine, who, job, f"{c}_{i}", rate=arguments.rate, seconds=seconds)
                for i, job in enumerate(own)
            ]
        for job, r in zip(own, running, strict=True):
            try:
                results.append(r.result())
            except RuntimeError as e:  # the others' figures are still worth having
                print(f"{job.name}, {who.name}: no figures: {e}", flush=True)
        _note(f"{who.name}: measured, {_load()}")
    results.sort(key=lambda r: [job.name for job in jobs].index(r.job))
    if {who.ours for who in contenders} == {True, False}:
        print(latency.ratios(results) + "\n")
    print(latency.table(results), flush=True)


def _throughput(engine: Engine, arguments: argparse.Namespace) -> None:
    contenders, jobs = _contenders(arguments), _jobs(arguments)
    can = {who: _can(who, jobs) for who in contenders}
    for i, job in enumerate(jobs):
        seconds = throughput.fill(engine, job, f"B{i}", arguments.records)
        _note(f"{job.name}: a backlog of {arguments.records:,} records written in {seconds:.1f} s")
    runs: list[throughput.Backlog] = []
    for number in range(arguments.rounds):
        # Interleaved, and not always in the same order, so that what else happens on the machine meets all alike.
        turn = number % len(contenders)
        for i, job in enumerate(jobs):
            for c, who in enumerate((*contenders[turn:], *contenders[:turn])):
                if job not in can[who]:
                    continue
                try:
                    run = throughput.measure(engine, who, job, f"B{i}", f"B{i}_{number}_{c}", arguments.records)
                except RuntimeError as e:  # the others' figures are still worth having
                    print(f"{job.name}, {who.name}: no figures: {e}", flush=True)
                    continue
                runs.append(run)
                _note(f"round {number + 1}, {job.name}, {who.name}: {run.flow:,.0f} results/s, {_load()}")
    print(f"{arguments.records:,} records a job, {arguments.rounds} rounds; {throughput.LEGEND}")
    order = [(job.name, who) for job in jobs for who in contenders]
    runs.sort(key=lambda r: order.index((r.job, r.who)))
    if {who.ours for who in contenders} == {True, False}:
        print(f"\n{throughput.ratios(runs)}")
    print(f"\n{throughput.table(runs)}", flush=True)


def _recovery(engine: Engine, arguments: argparse.Namespace) -> None:
    print(f"{arguments.rate} records/s, a checkpoint every {arguments.interval} s, SIGKILL 2 s ahead of one")
    jobs = [(job, changed) for job in _jobs(arguments) if job.even for changed in (False, True)[: 1 + bool(job.tables)]]
    found: list[Recovery] = []
    for number in range(arguments.rounds):
        for i, (job, changed) in enumerate(jobs):
            name, rate, interval = f"R{number}_{i}", arguments.rate, arguments.interval
            found.append(recover(engine, ours()[0], job, name, rate=rate, interval=interval, changed=changed))
            _note(f"round {number + 1}, {found[-1].what}: first new result after {found[-1].first:.1f} s, {_load()}")
    print(recoveries(found), flush=True)


def _cost(engine: Engine, arguments: argparse.Namespace) -> None:
    seconds = arguments.intervals * arguments.interval
    live = f"{arguments.rate} records/s a query for {seconds} s, a checkpoint every {arguments.interval} s"
    print(f"{arguments.records:,} records, {arguments.rounds} rounds after one to warm up; then live, {live}")
    found: list[Cost] = []
    for i, job in enumerate(job for job in _jobs(arguments) if job.even):
        records, rounds, rate = arguments.records, arguments.rounds, arguments.rate
        found.append(cost(engine, job, f"C{i}", records=records, rounds=rounds, rate=rate, seconds=seconds))
        _note(f"{job.name}: measured, {_load()}")
    print(costs(found), flush=True)


def _pauses(engine: Engine, arguments: argparse.Namespace) -> None:
    found: list[pauses.Pause] = []
    for number in range(arguments.rounds):
        for i, kind in enumerate(pauses.KINDS):
            for c, who in enumerate(_contenders(arguments)):
                found.append(pauses.measure(engine, who, kind, f"W{number}_{i}_{c}"))
                _note(f"round {number + 1}, {kind}, {who.name}: {found[-1].wrong:.2%} wrong, {_load()}")
    found.sort(key=lambda p: [*pauses.KINDS].index(p.kind))
    print(pauses.table(found), flush=True)


def _told(steps: Iterator[str | Recovery]) -> Iterator[str | Recovery]:
    """Prints the texts among them, each as it comes."""
    for step in steps:
        if isinstance(step, str):
            print(step, flush=True)
        yield step


def _of_functions(arguments: argparse.Namespace) -> Iterator[str]:
    seconds = arguments.intervals * arguments.interval
    partitions = arguments.partitions or 1
    how = Rounds(arguments.rounds, arguments.records, arguments.rate, seconds, arguments.seed)
    live = (
        f"{arguments.rate} records/s for {latency.SETTLE:g} s, not counted, and {seconds} s"
        if seconds
        else "no latency"
    )
    yield f"{arguments.rounds} rounds in orders of seed {arguments.seed}; {partitions} partitions and processes; {live}"
    jobs = [replace(job, partitions=partitions) for job in FUNCTION_JOBS if arguments.jobs.search(job.name)]
    wanted = arguments.who.search
    who = [w for w in ours() if wanted(w.name)] + (python_peers(wanted) if arguments.peers else [])
    properties = {"commit.interval.ms": arguments.interval * 1000, "ksqlpy.spark.master": arguments.master}
    for line in functions(who, jobs, how, properties):
        yield f"{line} ({_load()})" if line.startswith("round") else line


def _report(arguments: argparse.Namespace) -> Iterator[str]:
    interval = arguments.interval_given or 10
    names = tuple(name for name in OF_REPORT if arguments.jobs.search(name))
    if not names:
        raise Refused(f"no job has such a name: there are {', '.join(OF_REPORT)}")
    who = contenders(arguments.who, interval)
    settings = Settings(
        jobs=names,
        who=tuple(w.name for w in who),
        records=3_000_000 if arguments.records_given is None else arguments.records,
        rounds=arguments.rounds,
        seed=arguments.seed,
        interval=interval,
        rate=arguments.rate,
        seconds=arguments.intervals * interval,
    )
    return report(arguments.file, settings, who, arguments.master, go_on=arguments.go_on)


def _on_clusters(part: str, arguments: argparse.Namespace) -> Iterator[str]:
    if part == "cluster":
        return cluster(arguments.rate, arguments.intervals * 2, arguments.records, arguments.rounds)
    if part == "growth":
        return growth(arguments.records, arguments.rounds, arguments.partitions or 8)
    if part == "server":
        many = {"queries": arguments.queries, "records": arguments.records, "rounds": arguments.rounds}
        return server(arguments.jobs, seconds=arguments.seconds or 10, master=arguments.master, **many)
    if part == "page":
        load = {"rate": arguments.rate_given or 5000, "seconds": arguments.seconds or 600}
        own = {"rounds": arguments.rounds, "queries": arguments.queries, "master": arguments.master}
        return page(arguments.of_page, **load, **own)
    if part == "library":
        return library(arguments.records, arguments.rounds)
    if part == "functions":
        return _of_functions(arguments)
    if part == "report":
        return _report(arguments)
    if part == "nexmark":
        names = [name for name in QUERIES if arguments.jobs.fullmatch(name) or not arguments.jobs.pattern]
        if arguments.peers or "flink" in arguments.who.pattern.lower():
            who = [one for one in (KSQLPY, FLINK_SQL) if arguments.who.search(one)]
            return beside_flink(arguments.records, names, arguments.rounds, arguments.seed, who)
        return nexmark(arguments.records, names, arguments.rounds, arguments.seed)
    if part == "recipes":
        return recipes(arguments.records, arguments.jobs, arguments.rounds, arguments.seed)
    if part == "many-functions":
        return beside_functions(arguments.queries, arguments.rounds, {"ksqlpy.spark.master": arguments.master})
    counts = [arguments.queries // 4, arguments.queries // 2, arguments.queries]
    return driver(counts, rate=arguments.rate, seconds=arguments.interval * 2.0)


def _parts(text: str) -> list[str]:
    """Names of parts of page."""
    names = text.split(",")
    if unknown := set(names) - set(PAGE_PARTS):
        raise argparse.ArgumentTypeError(f"there is no {', '.join(sorted(unknown))}")
    return names


def main() -> int:
    """Measures what the arguments ask for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", help="what to measure")
    parser.add_argument("--rate", type=int, help="records a second (500; rows of page 5,000)")
    parser.add_argument("--intervals", type=int, default=10, help="checkpoint intervals to span (10)")
    parser.add_argument("--interval", type=int, help="seconds between checkpoints (60, the default; report 10)")
    parser.add_argument("--apart", action="store_true", help="one job after the other, not all at once")
    parser.add_argument("--peers", action="store_true", help="latency of the others too, in the same run")
    of_server = f"jobs with such a name only (regex); server has {', '.join(NAMES)}"
    parser.add_argument("--jobs", type=re.compile, default=re.compile(""), help=of_server)
    parser.add_argument(
        "--who", type=re.compile, default=re.compile(""), help="who runs them (regex); Flink only if named"
    )
    parser.add_argument("--records", type=int, help="records of a backlog (1,000,000; report 3,000,000)")
    parser.add_argument("--partitions", type=int, help="of the topics of growth (8) and functions (1)")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the orders of functions and report, and of the events of nexmark (1)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (3)")
    parser.add_argument("--seconds", type=float, help="of a round of a job of server (10), of the rows of page (600)")
    of_page = ",".join(PAGE_PARTS)
    parser.add_argument("--parts", dest="of_page", type=_parts, default=of_page, help=f"of page ({of_page})")
    parser.add_argument("--queries", type=int, default=40, help="how many queries side by side (40)")
    parser.add_argument(
        "--keys", type=int, default=10_000_000, help="keys or rows of churn, keys and join-state (10,000,000)"
    )
    file = Path("build/bench/report.json")
    parser.add_argument("--file", type=Path, default=file, help="where the figures of report go (%(default)s)")
    parser.add_argument("--go-on", action="store_true", help="measure what the file of report lacks")
    parser.add_argument("--master", default="local[512]", help="the Spark master (%(default)s)")
    arguments = parser.parse_args()
    arguments.rate_given, arguments.rate = arguments.rate, arguments.rate or 500
    arguments.interval_given, arguments.interval = arguments.interval, arguments.interval or 60
    arguments.records_given = arguments.records
    if arguments.records is None:
        arguments.records = 1_000_000
    parts = arguments.parts or PARTS
    if unknown := set(parts) - {*PARTS, *LONG}:
        parser.error(f"cannot measure {', '.join(sorted(unknown))}: there are {', '.join((*PARTS, *LONG))}")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {_load()}")
    for part in parts:
        begin = time.time()
        if part in ON_CLUSTERS:
            print(f"\n== {part}", flush=True)
            try:
                for line in _on_clusters(part, arguments):
                    print(line, flush=True)
            except Refused as e:
                print(e, file=sys.stderr)
                return 1
            continue
        registry, name = shared_registry()
        address = {"ksql.schema.registry.url": registry.url(name)} if part.startswith("format") else {}
        engine = Engine(
            Config.of(
                {
                    "commit.interval.ms": arguments.interval * 1000,
                    "ksqlpy.spark.master": arguments.master,
                    ENABLED: "true" if part == "calls" else "false",
                    **address,
                }
            )
        )
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
            elif part == "churn":
                print(churn(engine, arguments.keys), flush=True)
            elif part == "join-state":
                for line in join_state(engine, arguments.keys):
                    print(line, flush=True)
            elif part == "formats":
                for line in formats(engine, registry, arguments.records, arguments.rounds):
                    print(line, flush=True)
            elif part == "reads":
                for line in reads(engine, arguments.keys):
                    print(line, flush=True)
            elif part == "pauses":
                _pauses(engine, arguments)
            elif part == "recovery":
                _recovery(engine, arguments)
            elif part == "keys":
                found = list(_told(large_state(engine, arguments.keys, arguments.rounds)))
                print(recoveries([f for f in found if isinstance(f, Recovery)]), flush=True)
            elif part == "cost":
                _cost(engine, arguments)
            elif part == "latency":
                _latency(engine, arguments, _jobs(arguments))
            elif part == "calls":
                print(alone(arguments.records // 5), flush=True)
                print(first(engine), flush=True)
                for line in in_a_task(engine, arguments.records, arguments.rounds):
                    print(line, flush=True)
            elif part == "format-latency":
                _latency(engine, arguments, format_jobs(engine, registry))
            else:
                _throughput(engine, arguments)
        finally:
            engine.stop()
    return 0


if __name__ == "__main__":
    with ended_in_order():  # the servers and brokers with it
        sys.exit(main())
