"""Windows behind joins of streams: the pairs, or the triples, of a line are counted by the time of their last record.

Each query reads what the one before it writes, so what lies there out of order would be late for the window.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.records import Result, Sent
from tests.chaos.steps import Step, check_steps
from tests.chaos.verdict import Verdict

__all__ = ["BEHIND", "DEEP"]

LINES = 24
WITHIN = 250
SIZE = 2_000
GRACE = 5_000
"""Of joins and windows; less than queries are behind after a kill. All in ms."""
MOST = 100_000
"""More records than a feed has, so that a number names a pair."""


def _met(rows: Sequence[Sent], others: Sequence[Sent]) -> Iterator[Sent]:
    """The pairs of a line that are near in time, each as the record that a join gives: at the time of the later one."""
    of_line: dict[str, list[Sent]] = defaultdict(list)
    for other in others:
        of_line[other.key].append(other)
    for row in rows:
        for other in of_line[row.key]:
            if abs(row.time - other.time) <= WITHIN:
                number = row.number * MOST + other.number
                yield Sent(number, row.key, number, max(row.time, other.time))  # a lane of its own: any order is right


def _read(result: Result) -> Step:
    columns = result.columns()
    if result.key is None or len(result.key) <= 8:
        raise ValueError("the key has no window")
    group = f"{result.key[:-8].decode()} from {int.from_bytes(result.key[-8:], 'big')}"
    return Step(group, int(columns["N"]), int(columns["TOTAL"]), result.place)


def _job(name: str, about: str, parts: Sequence[str]) -> Job:
    topics = [f"chaos_{name}_{part}" for part in parts]
    sink = f"chaos_{name}_counted"

    def truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
        rows: Sequence[Sent] = sent[topics[0]]
        for topic in topics[1:]:
            rows = list(_met(rows, sent[topic]))
        groups: dict[str, list[Sent]] = defaultdict(list)
        for row in rows:
            groups[f"{row.key} from {row.time // SIZE * SIZE}"].append(row)
        verdict.due = len(rows)
        check_steps(verdict, groups, read(verdict, results, _read))

    queries, before = [], topics[0]
    for topic in topics[1:]:
        joined = f"{topic}_joined"
        queries.append(
            f"CREATE STREAM {joined} WITH (KAFKA_TOPIC='{joined}') AS SELECT a.line AS line,"
            f" a.number * {MOST} + b.number AS number FROM {before} a JOIN {topic} b"
            f" WITHIN {WITHIN} MILLISECONDS GRACE PERIOD {GRACE} MILLISECONDS ON a.line = b.line;"
        )
        before = joined
    queries.append(
        f"CREATE TABLE {sink} WITH (KAFKA_TOPIC='{sink}') AS SELECT line, COUNT(*) AS n, SUM(number) AS total"
        f" FROM {before} WINDOW TUMBLING (SIZE {SIZE} MILLISECONDS, GRACE PERIOD {GRACE} MILLISECONDS) GROUP BY line;"
    )
    return Job(
        name,
        about,
        "".join(
            f"CREATE STREAM {topic} (line STRING KEY, number BIGINT)"
            f" WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
            for topic in topics
        ),
        " ".join(queries),
        sink,
        tuple(Feed(t, lambda random, number: f"line{random.randrange(LINES):02}", lambda n: {}) for t in topics),
        truth,
        queries=len(queries),
    )


BEHIND = _job("behind", "windows behind a stream-stream join", ("calls", "answers"))
DEEP = _job("deep", "windows behind a join of a join", ("calls", "answers", "ratings"))
