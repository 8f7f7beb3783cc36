"""What happens to the topics of a query behind its back: deleted, recreated, cut, widened; how that is told.

A checkpoint holds offsets of its topics and ids by which they are known again. Over other topics of the same names it
means nothing, so the query does not run. Where records are gone, or partitions came, it goes on and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ksqlpy.errors import EngineProblem

if TYPE_CHECKING:
    from ksqlpy.spark.kafka import Kafka
    from ksqlpy.spark.once import Offsets
    from ksqlpy.spark.spec import QuerySpec

__all__ = ["Topics", "cut", "deleted", "of_today", "recreated", "results_cut", "topics_of", "widened"]

_PATIENCE = 5.0
"""Seconds for which a topic must be missing: a broker that has just started may not know all yet."""
_LOOK = 0.25

_ANEW = "drop the query's stream or table and create it again"


@dataclass(frozen=True)
class Topics:
    """Those that a checkpoint is about, as brokers know them.

    ``ids``: of the sources and of the topic of the results, by name. ``written``: the number of partitions of the
    topic of the results, by its name.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict)


def topics_of(kafka: Kafka, spec: QuerySpec, cut_off: Callable[[], None], *, written: bool = True) -> Topics:
    """The topics of a query; those that it writes only if it has ``written`` them, not where it is a trial.

    Raises EngineProblem ``topic-deleted`` for one that it reads or writes. ``cut_off``: gives up results that were not
    sent, which another topic of that name must not get.
    """
    results = spec.sink_topics[0]
    names = {*spec.partitions, *(spec.sink_topics if written else ())}
    end = time.monotonic() + _PATIENCE
    while missing := sorted(names - set(ids := kafka.topic_ids(names))):
        if time.monotonic() > end:
            if set(missing) & set(spec.sink_topics):
                cut_off()
            raise deleted(spec, missing[0])
        time.sleep(_LOOK)
    of_checkpoint = {t: i for t, i in ids.items() if t in spec.partitions or t == results}
    return Topics(of_checkpoint, kafka.partitions([results]))


def deleted(spec: QuerySpec, topic: str) -> EngineProblem:
    """A topic is gone."""
    if topic in spec.partitions:
        role, hint = "reads", f"create the topic again; then {_ANEW}"
    elif topic == spec.sink_topics[0]:
        role, hint = "writes", f"{_ANEW}, which recreates the topic"
    else:
        role, hint = "writes dead letters or late records to", "create the topic again: the query goes on by itself"
    return EngineProblem("topic-deleted", f"topic {topic}, which the query {role}, was deleted", hint=hint)


def recreated(topic: str, *, written: bool) -> EngineProblem:
    """A topic is another one than that of the checkpoint."""
    lost = "written" if written else "read"
    old = "also deletes what the new topic holds" if written else "also deletes the results of the old topic's records"
    return EngineProblem(
        "topic-recreated",
        f"topic {topic} was deleted and recreated: what the query has {lost} belongs to the old one",
        hint=f"{_ANEW}; DROP … DELETE TOPIC {old}",
    )


def widened(topic: str, before: int, now: int, *, written: bool) -> EngineProblem:
    """A topic has more partitions."""
    if written:
        said = "new records of a key may lie in another partition than its earlier ones"
        hint = f"to have each key in one partition, {_ANEW}: DROP … DELETE TOPIC"
    else:
        said = "the query was started again and reads them"
        hint = "nothing is lost; records of a key that lie in two partitions have no order"
    role = "writes" if written else "reads"
    message = f"topic {topic}, which the query {role}, has {now} partitions, it had {before}: {said}"
    return EngineProblem("topic-widened", message, hint=hint)


def cut(
    kafka: Kafka, spec: QuerySpec, read: Offsets, told: Mapping[str, int] | None
) -> dict[str, tuple[int, EngineProblem]]:
    """By topic how many records brokers deleted that a query would have read from these offsets on, with the problem.

    ``told``: how many of them were told of when it began to read, None if it begins now; topics without any more are
    left out. Raises EngineProblem ``topic-truncated`` where a topic ends before these offsets.
    """
    if told is None:
        _check_ends(kafka, spec, read)
    first = kafka.offsets(spec.partitions, latest=False)
    found = {}
    for topic, partitions in read.items():
        lost = sum(max(0, first.get(topic, {}).get(p, o) - o) for p, o in partitions.items())
        if lost > (told or {}).get(topic, 0):
            most = "up to " if told is not None else ""  # some may have been read before they went
            said = f"{most}{lost} records of topic {topic} were deleted by its retention before they were read"
            found[topic] = lost, EngineProblem("topic-trimmed", said, hint=_KEEP)
    return found


def _check_ends(kafka: Kafka, spec: QuerySpec, read: Offsets) -> None:
    ends = kafka.offsets(spec.partitions, latest=True)
    for topic, partitions in read.items():
        for p, offset in partitions.items():
            end = ends.get(topic, {}).get(p, offset)
            if end < offset:
                raise EngineProblem(
                    "topic-truncated",
                    f"partition {p} of topic {topic} ends at offset {end}, and the query has read up to {offset}:"
                    " the brokers have lost records that it has read",
                    hint=f"bring them back, or {_ANEW}",
                )


def results_cut(kafka: Kafka, partitions: Mapping[str, int], start: Offsets, ends: Offsets) -> list[EngineProblem]:
    """Which results of after the last checkpoint brokers deleted, so that the query may write them again."""
    first = kafka.offsets({t: n for t, n in partitions.items() if t in start}, latest=False)
    found = []
    for topic, places in first.items():
        noted = start[topic]
        lost = sum(max(0, min(o, ends[topic][p]) - noted.get(p, o)) for p, o in places.items())
        if lost:
            said = (
                f"{lost} records of topic {topic} were deleted by its retention, among them results since the last"
                " checkpoint: the query may write these again"
            )
            found.append(EngineProblem("topic-trimmed", said, hint=_KEEP))
    return found


def of_today(noted: Offsets, ends: Offsets) -> dict[str, dict[str, int]]:
    """Offsets that were noted; the first ones where a topic of dead letters was recreated since, and is shorter."""
    return {
        topic: {p: o if o <= ends.get(topic, {}).get(p, 0) else 0 for p, o in places.items()}
        for topic, places in noted.items()
    }


_KEEP = "keep records for longer (retention.ms, retention.bytes of the topic)"
