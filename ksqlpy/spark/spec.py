"""What a query needs to run, and what it takes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from ksqlpy.catalog import Source
from ksqlpy.connection import KafkaConnection
from ksqlpy.plan import PLAN_VERSION, STATELESS_VERSION, Plan
from ksqlpy.plan.stored import Kept
from ksqlpy.registry import SchemaRegistry
from ksqlpy.spark.once import Offsets

__all__ = ["QuerySpec", "Retry", "fingerprint_of", "slots"]


@dataclass(frozen=True)
class Retry:
    """How a failed query starts again: after ``initial`` seconds, then twice as long each time, up to ``longest``."""

    initial: float = 1.0
    longest: float = 60.0

    def wait(self, failures: int) -> float:
        """Seconds to wait after so many failures one after the other."""
        return float(min(self.longest, self.initial * 2 ** min(failures - 1, 30)))


@dataclass(frozen=True)
class QuerySpec:
    """All that a query needs to run.

    ``sink``: a source, or the topic of a transient query. ``offsets``: first offset to read, by topic and partition.
    ``partitions``: of the source topics. ``shuffle_partitions``: of every shuffle; part of the checkpoint.
    ``checkpoint``: folder of the checkpoint, a path or a URI; ``interval_ms``: time between checkpoints.
    ``exactly_once``: results say where they came from, and a restart repeats none. ``committed``: records of aborted
    and open transactions are not read. ``upgraded_from``: fingerprints of
    plans whose checkpoint it takes over. ``batch_ms``: time between micro-batches, each of which is a checkpoint; None
    in real time. ``mark``: what its checkpoint was made with; empty: it makes its checkpoint itself. ``era``: how often
    its state has started over; ``rewound``: the one that begins at ``offsets``. ``before``: what OR REPLACE has just
    replaced; it takes the records up to ``until``,
    since its results may be there, too. ``registry``: where the schemas of records are. ``identity``: the text by which
    its checkpoint knows the plan, see :class:`ksqlpy.plan.stored.Kept`; empty: EXPLAIN's words.
    ``results_of``: the id of the query whose results are in the sink, and ``results_in`` the folder of its checkpoint;
    empty: its own. ``keys``: names of the keys by which results are told from what others write; it signs with the
    first one (:mod:`ksqlpy.spark.signing`). ``idle_ms``: how long a partition at its end is waited for (Kafka Streams,
    max.task.idle.ms). ``largest_record``: how many bytes a record has at most that is read;
    ``skipped``: topic, partition and offset of those that are not read.
    """

    id: str
    plan: Plan
    sink: Source | str
    connection: KafkaConnection
    offsets: Offsets
    partitions: Mapping[str, int]
    shuffle_partitions: int
    dead_topic: str
    checkpoint: str
    interval_ms: int
    exactly_once: bool = True
    committed: bool = True
    retry: Retry = Retry()
    upgraded_from: tuple[str, ...] = ()
    batch_ms: int | None = None
    mark: str = ""
    era: int = 0
    rewound: int = 0
    before: QuerySpec | None = None
    until: Offsets | None = None
    registry: SchemaRegistry | None = None
    identity: str = ""
    results_of: str = ""
    results_in: str = ""
    keys: tuple[str, ...] = ()
    idle_ms: int = 0
    largest_record: int = 2**62
    skipped: tuple[tuple[str, int, int], ...] = ()

    @property
    def by_time(self) -> bool:
        """Whether one task reads all source partitions, in the order of their records' times."""
        return reads_by_time(self.plan, self.partitions)

    @property
    def shuffled(self) -> bool:
        """Whether a stateful step shuffles: not where one task reads and one takes all rows."""
        return sum(self.partitions.values()) > 1 and not (self.by_time and self.shuffle_partitions == 1)

    @property
    def order_varies(self) -> bool:
        """Whether rows of several partitions meet in a state, in an order that is not the same each time."""
        return self.plan.stateful and sum(self.partitions.values()) > 1

    @property
    def sink_topics(self) -> tuple[str, ...]:
        """The topics that it writes: results, dead letters, and late records if they are kept."""
        results = self.sink if isinstance(self.sink, str) else self.sink.topic
        late = self.plan.late_topic
        return (results, self.dead_topic) if late is None else (results, self.dead_topic, late)

    @property
    def fingerprint(self) -> str:
        """What the state in a checkpoint depends on, as a short hash."""
        return fingerprint_of(Kept(self.plan, self.identity) if self.identity else Kept.unstored(self.plan))


def fingerprint_of(kept: Kept) -> str:
    """What the state in a checkpoint of this plan depends on, as a short hash."""
    version = PLAN_VERSION if kept.plan.stateful else STATELESS_VERSION
    return hashlib.sha256(f"{version} {kept.identity}".encode()).hexdigest()[:16]


def slots(plan: Plan, partitions: Mapping[str, int], shuffle_partitions: int, *, cluster: bool = False) -> int:
    """How many task slots the query holds for as long as it runs: its source partitions and every shuffle's.

    ``cluster``: on several executors one more task writes the results; where tasks read side by side, one reads all.
    """
    sources = sum(partitions.values())
    if sources <= 1:
        return max(sources, 1)
    by_time = reads_by_time(plan, partitions)
    if by_time and (shuffle_partitions == 1 or not plan.stages):
        return 1
    return (1 if by_time else sources) + plan.stages * shuffle_partitions + (cluster and by_time)


def reads_by_time(plan: Plan, partitions: Mapping[str, int]) -> bool:
    """Whether one task reads all source partitions, in the order of their records' times."""
    return plan.by_time and sum(partitions.values()) > 1
