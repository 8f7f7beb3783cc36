"""docs/performance.md, from the file of figures alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.report.record import LATENCY, THROUGHPUT, Record, Settings

__all__ = ["PICTURES", "median", "page", "runs_of"]

PICTURES = {THROUGHPUT: "performance-throughput.svg", LATENCY: "performance-latency.svg"}

NONE = "-"
"""Stands where there is no figure."""

ENOUGH = 3
"""Rounds, and millions of records, below which nothing should be concluded."""

_RULES = Path(__file__).with_name("rules.md")


def page(record: Record) -> str:
    """The text of the page."""
    return "\n".join(_page(record)) + "\n"


def _page(record: Record) -> Iterator[str]:
    settings, content = record.settings, record.content
    yield "# Performance"
    yield ""
    yield (
        "Throughput and latency beside Kafka Streams and Flink SQL, all measured in one run: `make bench-report` writes"
        " this page. Another machine, other records and other queries give other figures."
    )
    if warning := _warning(record):
        yield ""
        yield f"**{warning}**"
    yield ""
    yield from _conditions(record)
    yield ""
    yield "## Rules"
    yield ""
    yield _rules(record)
    if settings.records:
        yield ""
        yield from _throughput(record)
    if settings.seconds:
        yield ""
        yield from _latency(record)
    if content["left_out"]:
        yield ""
        yield "## Left out"
        yield ""
        for out in content["left_out"]:
            yield f"- {out['job']}, {out['who']}: {out['why']}."


def _warning(record: Record) -> str:
    """What a reader must know first; empty if there is nothing."""
    settings, content = record.settings, record.content
    said: list[str] = []
    if left := record.left():
        said.append(f"The run is not complete: {len(left)} of {len(record.steps())} measurements were not made.")
    if failed := content["failed"]:
        said.append(f"{len(failed)} of {len(record.steps())} measurements have no figures; the tables say why.")
    if settings.records and (settings.rounds < ENOUGH or settings.records < ENOUGH * 1_000_000):
        said.append("The run is too small to conclude anything from it.")
    return " ".join(said)


def _conditions(record: Record) -> Iterator[str]:
    settings, content = record.settings, record.content
    machine, versions = content["machine"], content["versions"]
    commit = f" (commit {versions['commit']})" if versions["commit"] else ""
    runs = [*content[THROUGHPUT], *content[LATENCY]]
    loads, stolen = [run["load"][0] for run in runs], sum(run["stolen"] for run in runs)
    yield "| | |"
    yield "|---|---|"
    yield f"| date | {', '.join(dict.fromkeys(content['dates']))} |"
    memory = f"{machine['memory'] / 2**30:.0f} GiB of memory"
    yield (
        f"| machine | {machine['processor']}, {machine['processors']} processors, {memory}, {machine['system']};"
        f" files in {machine['disk']} |"
    )
    yield f"| ksqlpy | {versions['ksqlpy']}{commit}, Spark {versions['spark']}, Python {versions['python']} |"
    yield f"| beside it | Kafka Streams {versions['kafka']}, Flink {versions['flink']} |"
    yield f"| for all | Kafka {versions['kafka']}, one broker on the same machine; Java {versions['java']} |"
    if settings.records:
        backlog = f"a backlog of {settings.records:,} JSON records of some 80 bytes for each job"
        yield f"| throughput | {backlog}, {_rounds(settings)} |"
    if settings.seconds:
        warm = content["same"]["settle"]
        ahead = f"after {warm:.0f} s that do not count"
        yield f"| latency | {settings.rate} records/s for {settings.seconds} s, {ahead}, one round |"
    if runs:
        shown = f"{min(loads):.1f} to {max(loads):.1f}, median {statistics.median(loads):.1f}"
        yield f"| load before a run | {shown}; the host took {stolen:.1f} s of processor time in all runs |"


def _rounds(settings: Settings) -> str:
    return "one round" if settings.rounds == 1 else f"{settings.rounds} rounds"


def _rules(record: Record) -> str:
    settings, same = record.settings, record.content["same"]
    starts = [run["start"] for run in record.content[THROUGHPUT] if run["start"] is not None]
    start = f" ({statistics.median(starts):.1f} s, the median)" if starts else ""
    batch = same["batch"] // 1024
    return (
        _RULES.read_text(encoding="utf-8")
        .rstrip()
        .format(
            heap=same["heap"],
            batch=batch,
            linger=same["linger"],
            start=start,
            seed=settings.seed,
            interval=settings.interval,
        )
    )


# ------------------------------------------------------------ figures


def runs_of(record: Record, part: str, job: str, who: str) -> list[dict[str, Any]]:
    """The runs of a contender, by their rounds."""
    found = [run for run in record.content[part] if (run["job"], run["who"]) == (job, who)]
    return sorted(found, key=lambda run: run["round"])


def median(runs: Sequence[dict[str, Any]], name: str) -> float | None:
    """The median of a figure of some runs, None if none of them has it."""
    known = [run[name] for run in runs if run[name] is not None]
    return statistics.median(known) if known else None


def _number(value: float | None, form: str = ",.0f") -> str:
    return NONE if value is None else format(value, form)


def _ratio(a: float | None, b: float | None) -> str:
    return NONE if a is None or not b else f"{a / b:.2f}"


def _able(record: Record, job: str) -> list[str]:
    """The contenders that have a program for a job."""
    out = {o["who"] for o in record.content["left_out"] if o["job"] == job}
    return [who for who in record.settings.who if who not in out]


def _is_ours(who: str) -> bool:
    return who.startswith("ksqlpy ")


def _lacking(record: Record, part: str, job: str) -> Iterator[str]:
    """What figures of a job are not there, and why."""
    for run in record.content[part]:
        if run["job"] == job and run["missing"]:
            place = f"round {run['round']}, " if part == THROUGHPUT else ""
            gone = "so no rates" if part == THROUGHPUT else "not among the latencies"
            yield f"- {place}{run['who']}: {run['missing']:,} of {run['due']:,} results were missing, {gone}."
    for run in record.content["failed"]:
        if (run["part"], run["job"]) == (part, job):
            place = f"round {run['round']}, " if part == THROUGHPUT else ""
            yield f"- {place}{run['who']}: no figures: {run['why'].rstrip('.:')}."
    for step in record.left():
        if (step.part, step.job) == (part, job):
            place = f"round {step.round}, " if part == THROUGHPUT else ""
            yield f"- {place}{step.who}: not measured."


def _after(lines: Sequence[str]) -> Iterator[str]:
    """Lines as a block of their own, if there are any."""
    if lines:
        yield ""
        yield from lines


# ------------------------------------------------------------ throughput


def _throughput(record: Record) -> Iterator[str]:
    settings = record.settings
    yield "## Throughput"
    yield ""
    yield f"![Results a second of each contender, by jobs]({PICTURES[THROUGHPUT]})"
    yield ""
    yield (
        "Results a second, medians of the rounds. CPU: processor time of the contender's JVM since the start of the"
        " job, for 1,000,000 records; that of peers has the start of their JVM in it."
    )
    for job in settings.jobs:
        yield ""
        yield f"### {_title(job)}"
        yield ""
        yield f"`{record.content['queries'][job]}`"
        yield ""
        yield from _rates(record, job)
        yield from _after([*_lacking(record, THROUGHPUT, job)])
        yield from _after([*_ratios(record, job)])


def _title(job: str) -> str:
    return job[0].upper() + job[1:]


def _rates(record: Record, job: str) -> Iterator[str]:
    yield "| who | flow | second half | whole | first result (s) | CPU (s) | second half of each round |"
    yield "|---|---|---|---|---|---|---|"
    for who in _able(record, job):
        runs = runs_of(record, THROUGHPUT, job, who)
        cells = [_number(median(runs, name)) for name in ("flow", "second_half", "whole")]
        cpu = median(runs, "cpu")
        cells.append(_number(median(runs, "first"), ".1f"))
        cells.append(_number(None if cpu is None else cpu * 1_000_000 / record.settings.records, ".1f"))
        cells.append(" / ".join(_number(run["second_half"]) for run in runs) or NONE)
        yield f"| {who} | {' | '.join(cells)} |"


def _ratios(record: Record, job: str) -> Iterator[str]:
    """ksqlpy's results a second over those of each peer, and of each contender with exactly_once over at_least_once."""
    able = _able(record, job)
    mine, peers = [w for w in able if _is_ours(w)], [w for w in able if not _is_ours(w)]
    rate = _rate_of(record, job)
    if mine and peers:
        heads = [f"{_guarantee(w)}, {half}" for w in mine for half in ("flow", "second half")]
        yield f"| ksqlpy's divided by another's | {' | '.join(heads)} |"
        yield f"|---|{'---|' * 2 * len(mine)}"
        for peer in peers:
            cells = [_ratio(rate(w, name), rate(peer, name)) for w in mine for name in ("flow", "second_half")]
            yield f"| {peer} | {' | '.join(cells)} |"
    both = _pairs(able)
    if both:
        if mine and peers:
            yield ""
        yield "| exactly_once divided by at_least_once | flow | second half |"
        yield "|---|---|---|"
        for name, once, least in both:
            cells = [_ratio(rate(once, figure), rate(least, figure)) for figure in ("flow", "second_half")]
            yield f"| {name} | {' | '.join(cells)} |"


def _rate_of(record: Record, job: str) -> Callable[[str, str], float | None]:
    return lambda who, name: median(runs_of(record, THROUGHPUT, job, who), name)


def _guarantee(who: str) -> str:
    return who.split()[-1]


def _pairs(able: Sequence[str]) -> list[tuple[str, str, str]]:
    """Those who take part with both guarantees: who, and its name with exactly_once and with at_least_once."""
    by_name: dict[str, dict[bool, str]] = {}
    for who in able:
        name, _, guarantee = who.rpartition(" ")
        by_name.setdefault(name, {})[guarantee.startswith("exactly_once")] = who
    return [(name, both[True], both[False]) for name, both in by_name.items() if len(both) == 2]


# ------------------------------------------------------------ latency


_QUANTILES = ("p50", "p90", "p99", "p99.9", "max")


def _latency(record: Record) -> Iterator[str]:
    yield "## Latency"
    yield ""
    yield f"![Quantiles of the latency of each contender, by jobs]({PICTURES[LATENCY]})"
    yield ""
    yield (
        "From a record that is sent to its result that is read, in ms; readers see what is committed. Stall: the"
        " largest latency within 2 s of a checkpoint of ksqlpy, the median of all checkpoints."
        " Calm: without the records within 2 s of a checkpoint. The checkpoints of the others are not told apart; what"
        " waits for them is in their quantiles."
    )
    for job in record.settings.jobs:
        yield ""
        yield f"### {_title(job)}, latency"
        yield ""
        yield f"| who | {' | '.join(_QUANTILES)} | stall (of how many) | calm p99 | calm p99.9 |"
        yield f"|---|{'---|' * (len(_QUANTILES) + 3)}"
        for who in _able(record, job):
            runs = runs_of(record, LATENCY, job, who)
            cells = [_number(median(runs, name), ".1f") for name in _QUANTILES]
            run: dict[str, Any] = runs[0] if runs else {"stall": None, "calm": None}
            cells.append(NONE if run["stall"] is None else f"{run['stall']:.0f} ({len(run['stalls'])})")
            cells += [_number((run["calm"] or {}).get(name), ".1f") for name in ("p99", "p99.9")]
            yield f"| {who} | {' | '.join(cells)} |"
        yield from _after([*_lacking(record, LATENCY, job)])
