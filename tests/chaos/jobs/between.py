"""Two streams joined in time: calls and answers of one line; once also the calls that have no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.chaos.jobs.job import Feed, Job, read
from tests.chaos.pairs import Bounds, Joined, check_pairs
from tests.chaos.records import Result, Sent
from tests.chaos.verdict import Verdict

__all__ = ["BETWEEN", "GRACE", "PADDED", "WITHIN"]

LINES = 24
WITHIN = 500
GRACE = 60_000
"""More than topics are ever apart after a kill, so that no record is late; both in ms."""
LONG = 86_400_000
"""The same where nothing waits for the end of it."""


def _read(result: Result) -> Joined:
    columns = result.columns()
    answer = columns["ANSWER"]
    return Joined(
        result.key_text(), int(columns["CALL"]), None if answer is None else int(answer), result.partition, result.place
    )


def _job(name: str, about: str, suffix: str, kind: str) -> Job:
    calls, answers, sink = (f"chaos_{n}{suffix}" for n in ("calls", "answers", "answered"))
    grace = GRACE if kind == "LEFT" else LONG
    bounds = Bounds(WITHIN, grace, padded=kind == "LEFT")

    def truth(verdict: Verdict, sent: Mapping[str, Sequence[Sent]], results: Sequence[Result]) -> None:
        check_pairs(verdict, sent[calls], sent[answers], bounds, read(verdict, results, _read))

    return Job(
        name,
        about,
        "".join(
            f"CREATE STREAM {topic} (line STRING KEY, number BIGINT)"
            f" WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON', PARTITIONS={{p}});"
            for topic in (calls, answers)
        ),
        f"CREATE STREAM {sink} WITH (KAFKA_TOPIC='{sink}') AS"
        f" SELECT c.line AS line, c.number AS call, a.number AS answer FROM {calls} c {kind} JOIN {answers} a"
        f" WITHIN {WITHIN} MILLISECONDS GRACE PERIOD {grace // 1000} SECONDS ON c.line = a.line;",
        sink,
        # Kafka Streams gives a row that comes behind stream time without a partner at once, though one may still come
        # from another partition. So where rows come without partners, a line stays in its partition.
        tuple(
            Feed(t, lambda random, number: f"line{random.randrange(LINES):02}", lambda n: {}, keyed=kind == "LEFT")
            for t in (calls, answers)
        ),
        truth,
    )


BETWEEN = _job("between", "stream-stream join, each pair once", "", "INNER")
PADDED = _job("padded", "stream-stream LEFT JOIN with GRACE PERIOD", "_padded", "LEFT")
