"""Which of the parts of this package an engine has, by its properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial

from ksqlpy.runtime.brokers import Brokers
from ksqlpy.runtime.cluster.executors import Executors, OneMachine, QuarantinedExecutors, with_tasks
from ksqlpy.runtime.cluster.spare_driver import NoSpare, SpareDriver
from ksqlpy.runtime.cluster.standby import ColdStandby, Standby
from ksqlpy.runtime.cluster.warm_ups import NoWarmUps, WarmUps
from ksqlpy.runtime.driver import Driver
from ksqlpy.runtime.queries import Queries
from ksqlpy.runtime.query_specs import QuerySpecs
from ksqlpy.runtime.scratch import Scratch
from ksqlpy.spark.masters import one_jvm
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.warmup import WarmUp

__all__ = ["Cluster", "cluster_of"]

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Cluster:
    """What an engine has beside its driver and its queries."""

    executors: OneMachine
    warm_ups: NoWarmUps
    spare: NoSpare
    standby: ColdStandby


def cluster_of(
    brokers: Brokers, driver: Driver, queries: Queries, specs: QuerySpecs, scratch: Scratch, progress: Progress
) -> Cluster:
    """Of a driver that is started. ``scratch``: folders for the state of warm-ups."""
    config = brokers.config
    alone, warm = one_jvm(config.get("ksqlpy.spark.master")), config.get("ksqlpy.warm.up") == "true"

    def warm_up(busy: Callable[[], bool], executors: int, own: bool, rehearsed: Sequence[QuerySpec]) -> WarmUp:
        command_log, folder = brokers.topics.command_log, scratch.folder
        session, connection = driver.session, brokers.connection
        return WarmUp(session, connection, command_log, folder, busy, executors, driver=own, rehearsed=rehearsed)

    executors: Callable[[], Set[str]] = frozenset if alone else partial(with_tasks, driver)
    warm_ups, standby = NoWarmUps(), ColdStandby()
    if warm:
        warm_ups = made = WarmUps(warm_up, executors)
        standby = Standby(brokers, queries.task_slots.fits, specs, made, scratch, progress)
    spared = warm and not alone and driver.own and config.get("ksqlpy.spark.spare.driver") == "true"
    spare = SpareDriver(driver.spare) if spared else NoSpare()
    kind = OneMachine if alone else QuarantinedExecutors if warm else Executors
    return Cluster(kind(driver, warm_ups, spare), warm_ups, spare, standby)
