"""What an engine without faults writes for the jobs of the kill tests, for the tests of their truth checks."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from tests.chaos.jobs import Job
from tests.chaos.jobs.best import points
from tests.chaos.jobs.between import GRACE, WITHIN
from tests.chaos.jobs.explode import goods
from tests.chaos.jobs.filter import LIMIT
from tests.chaos.jobs.job import amount
from tests.chaos.jobs.moves import changes
from tests.chaos.jobs.owned import agent
from tests.chaos.jobs.python import place_of, total_of
from tests.chaos.jobs.session import GAP
from tests.chaos.load import record
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

SentBy = dict[str, list[Sent]]
Row = tuple[bytes, dict[str, object] | None]


def fed(job: Job, count: int = 200, partitions: int = 1, scatter: bool = False) -> SentBy:
    """What the producer would send: each topic ``count`` records."""
    found: SentBy = {}
    for feed in job.feeds:
        random = Random(feed.topic)
        found[feed.topic] = []
        for number in range(1, count + 1):
            made, _ = record(feed, random, number, partitions, scatter=scatter)
            found[feed.topic].append(Sent(made.number, made.key, made.partition, number * 100))
    return found


def results(rows: Sequence[Row]) -> list[Result]:
    return [
        Result(0, offset, key, None if value is None else json.dumps(value).encode())
        for offset, (key, value) in enumerate(rows)
    ]


# ---------------------------------------------------------------- the engine in small


def rows_of(job: Job, sent: SentBy, order: Sequence[Sent] | None = None) -> list[Row]:
    """What an engine without faults writes when it takes the stream's records in that order."""
    stream = order if order is not None else sent[job.feeds[0].topic]
    if job.name in ("filter", "python"):
        return [
            (r.key.encode(), {"NUMBER": r.number, "DOUBLED": 2 * amount(r.number)})
            for r in stream
            if amount(r.number) >= LIMIT
        ]
    if job.name == "join":
        # Table rows and stream record with the same number are written together.
        seen = [(r, max(1, (r.number - 1) // 30)) for r in stream]
        return [(r.key.encode(), {"NUMBER": r.number, "QUOTED": version, "LIMITED": version}) for r, version in seen]
    if job.name == "tables":
        other = sent[job.feeds[1].topic]
        if order is not None:
            other = sorted(other, key=lambda r: (r.partition, r.number))
        return list(_paired(stream, other))
    if job.name in ("explode", "python-items"):
        return [(r.key.encode(), {"GOOD": good}) for r in stream for good in goods(r.number)]
    if job.name == "python-letters":
        places = {n: place for place, n in place_of(sent[job.feeds[0].topic]).items()}
        letters = [(r.key, *places[r.number]) for r in stream if amount(r.number) >= LIMIT]
        return [(k.encode(), {"SOURCE_PARTITION": p, "SOURCE_OFFSET": o}) for k, p, o in letters]
    if job.name.startswith("moves"):
        return list(_moved(stream, 30 if job.name == "moves-having" else 6))
    if job.name == "session":
        return list(_in_sessions(stream))
    if job.name in ("between", "padded"):
        return list(_joined(stream, sent[job.feeds[1].topic], WITHIN + GRACE if job.name == "padded" else None))
    if job.name in ("behind", "deep"):
        return list(_behind([sent[f.topic] for f in job.feeds]))
    if job.name == "final":
        return list(_final(stream))
    if job.name == "owned":
        return list(_owned(stream, sent[job.feeds[1].topic]))
    if job.name == "owned-inner":
        return [row for row in _owned(stream, sent[job.feeds[1].topic]) if row[1] and row[1]["AGENT_NUMBER"]]
    if job.name == "inserted":
        both = [(2 * r.number, r) for r in stream] + [(2 * r.number + 1, r) for r in sent[job.feeds[1].topic]]
        return [(r.key.encode(), {"NUMBER": number}) for number, r in both]
    if job.name == "chain":
        return list(_chained(stream))
    if job.name == "best":
        return list(_ranked(stream))
    return _counted(stream, _GROUPS[job.name], first=3 if job.name == "having" else 1)


def _paired(left: Sequence[Sent], right: Sequence[Sent]) -> Iterator[Row]:
    rows: dict[str, list[int | None]] = {}
    for both in itertools.zip_longest(left, right):
        for side, r in enumerate(both):
            if r is not None:
                rows.setdefault(r.key, [None, None])[side] = r.number
                yield r.key.encode(), {"LEFT_NUMBER": rows[r.key][0], "RIGHT_NUMBER": rows[r.key][1]}


def _moved(stream: Sequence[Sent], cities: int) -> Iterator[Row]:
    there: dict[str, list[int]] = {}
    for city, (old, new) in changes(stream, cities):
        numbers = there[city] = [n for n in there.get(city, []) if n != old] + ([new] if new is not None else [])
        having = cities == 30 and not numbers
        yield city.encode(), None if having else {"N": len(numbers), "TOTAL": sum(numbers), "NUMBERS": numbers}


def _in_sessions(stream: Sequence[Sent]) -> Iterator[Row]:
    there: dict[str, list[tuple[int, int, list[int]]]] = {}
    for r in stream:
        known = there.setdefault(r.key, [])
        merged = [s for s in known if s[0] - GAP <= r.time <= s[1] + GAP]
        start, end = min([r.time, *(s[0] for s in merged)]), max([r.time, *(s[1] for s in merged)])
        for s in merged:
            known.remove(s)
            if (start, end) != (r.time, r.time):
                yield r.key.encode() + struct.pack(">qq", s[1], s[0]), None
        numbers = [*itertools.chain.from_iterable(s[2] for s in merged), r.number]
        known.append((start, end, numbers))
        value = {"N": len(numbers), "TOTAL": sum(numbers), "NUMBERS": numbers, "NEWEST": r.number}
        yield r.key.encode() + struct.pack(">qq", end, start), value


def _joined(left: Sequence[Sent], right: Sequence[Sent], over: int | None) -> Iterator[Row]:
    """``over``: ms after which a left record without a partner comes without one."""
    there: tuple[list[Sent], list[Sent]] = ([], [])
    alone: list[Sent] = []
    for both in itertools.zip_longest(left, right):
        for side, r in enumerate(both):
            if r is None:
                continue
            for o in [a for a in alone if over is not None and (a.key, a.partition) == (r.key, r.partition)]:
                if o.time + over < r.time:
                    alone.remove(o)
                    yield o.key.encode(), {"CALL": o.number, "ANSWER": None}
            found = [o for o in there[1 - side] if o.key == r.key and abs(o.time - r.time) <= WITHIN]
            there[side].append(r)
            for o in found:
                alone = [a for a in alone if a is not o]
                call, answer = (o, r) if side else (r, o)
                yield r.key.encode(), {"CALL": call.number, "ANSWER": answer.number}
            if not found and side == 0:
                alone.append(r)


def _behind(inputs: Sequence[Sequence[Sent]]) -> Iterator[Row]:
    met = [(r.key, r.number, r.time) for r in inputs[0]]
    for others in inputs[1:]:
        met = [
            (key, number * 100_000 + o.number, max(time, o.time))
            for key, number, time in met
            for o in others
            if o.key == key and abs(o.time - time) <= 250
        ]
    state: dict[bytes, tuple[int, int]] = {}
    for key, number, time in met:
        group = key.encode() + struct.pack(">q", time // 2000 * 2000)
        n, total = state.get(group, (0, 0))
        state[group] = n + 1, total + number
        yield group, {"N": n + 1, "TOTAL": total + number}


def _final(stream: Sequence[Sent]) -> Iterator[Row]:
    there: dict[str, dict[int, list[int]]] = {}
    for r in stream:
        windows = there.setdefault(r.key, {})
        windows.setdefault(r.time // 2000 * 2000, []).append(r.number)
        for start in [s for s in sorted(windows) if s + 3000 <= r.time]:
            numbers = windows.pop(start)
            yield r.key.encode() + struct.pack(">q", start), {"N": len(numbers), "TOTAL": sum(numbers)}


def _owned(houses: Sequence[Sent], agents: Sequence[Sent]) -> Iterator[Row]:
    rows: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for house, of in itertools.zip_longest(houses, agents):
        if house is not None:
            rows[house.key] = house.number
            yield house.key.encode(), {"HOUSE_NUMBER": house.number, "AGENT_NUMBER": numbers.get(agent(house.number))}
        if of is not None:
            numbers[of.key] = of.number
            for key in [k for k, n in rows.items() if agent(n) == of.key]:
                yield key.encode(), {"HOUSE_NUMBER": rows[key], "AGENT_NUMBER": of.number}


def _chained(stream: Sequence[Sent]) -> Iterator[Row]:
    last: dict[str, int] = {}
    for r in stream:
        yield r.key.encode(), {"NUMBER": r.number, "BEFORE": last.get(r.key, 0)}
        last[r.key] = r.number


def _ranked(stream: Sequence[Sent]) -> Iterator[Row]:
    best: dict[str, list[int]] = {}
    for r in stream:
        before = best.get(r.key, [])
        best[r.key] = sorted([*before, r.number], key=lambda n: (-points(n), n))[:3]
        for rank, number in enumerate(best[r.key]):
            if before[rank : rank + 1] != [number]:
                key = json.dumps({"TEAM": r.key, "PLACE": rank + 1}).encode()
                yield key, {"NUMBER": number, "POINTS": points(number)}


def _zone(r: Sent) -> bytes:
    return b"zone%d" % (int(r.key.removeprefix("vehicle")) % 7)


def _moving_zone(r: Sent) -> bytes:
    return b"zone%d" % ((int(r.key.removeprefix("vehicle")) + r.number // 30) % 7)


_GROUPS: Mapping[str, Callable[[Sent], bytes]] = {
    "group": lambda r: r.key.encode(),
    "having": lambda r: r.key.encode(),
    "of-windows": lambda r: r.key.encode(),
    "python-totals": lambda r: total_of(r.key).encode(),
    "regroup": _zone,
    "regroup-moving": _moving_zone,
    "window": lambda r: r.key.encode() + struct.pack(">q", r.time // 10_000 * 10_000),
}
COUNTING = tuple(_GROUPS)


def _counted(stream: Sequence[Sent], group: Callable[[Sent], bytes], first: int) -> list[Row]:
    state: dict[bytes, tuple[int, int, int]] = {}
    rows: list[Row] = []
    for r in stream:
        n, total, most = state.get(group(r), (0, 0, 0))
        state[group(r)] = n, total, most = n + 1, total + r.number, max(most, amount(r.number))
        if n >= first:
            rows.append((group(r), {"N": n, "TOTAL": total, "MOST": most}))
    return rows


def figures(verdict: Verdict) -> tuple[int, int, int, int]:
    return verdict.twice, verdict.missing, verdict.back, verdict.wrong


def busiest(rows: Sequence[Row]) -> list[int]:
    """The places of the rows of the group that has most of them."""
    keys = [key for key, _ in rows]
    most = max(keys, key=keys.count)
    return [i for i, key in enumerate(keys) if key == most]
