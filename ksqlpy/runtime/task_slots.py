"""The task slots of Spark: how many there are, and how many of them a query holds for as long as it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ksqlpy.errors import EngineProblem
from ksqlpy.plan import Plan
from ksqlpy.spark.masters import local_slots
from ksqlpy.spark.session import slots_of
from ksqlpy.spark.spec import QuerySpec, slots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TaskSlots"]


class TaskSlots:
    """``fixed``: those of a local master; None: those of the executors count."""

    def __init__(self, master: str, session: Callable[[], SparkSession]) -> None:
        self.fixed = local_slots(master)
        self._session = session

    @property
    def capacity(self) -> int:
        """Task slots in all; on a cluster they come and go with the executors."""
        return self.fixed if self.fixed is not None else slots_of(self._session())

    def needed(self, plan: Plan, partitions: Mapping[str, int], shuffle_partitions: int) -> int:
        """How many a query of this plan holds."""
        return slots(plan, partitions, shuffle_partitions, cluster=self.fixed is None)

    def of(self, spec: QuerySpec) -> int:
        """How many the query holds."""
        return self.needed(spec.plan, spec.partitions, spec.shuffle_partitions)

    def fits(self, spec: QuerySpec) -> bool:
        """Whether there are enough for the query if nothing else runs."""
        return self.of(spec) <= self.capacity

    def check(self, wanted: int, taken: int) -> None:
        """Raises EngineProblem ``no-slots`` with the numbers where so many more do not fit beside those taken."""
        capacity = self.capacity
        if taken + wanted > capacity:
            more = (
                "start the server with a larger ksqlpy.spark.master, such as local[1024]"
                if self.fixed is not None
                else "give Spark more executors, or executors with more cores"
            )
            raise EngineProblem(
                "no-slots",
                f"the query needs {wanted} task slots, {max(capacity - taken, 0)} of {capacity} are free",
                hint=f"terminate a query, or {more}",
                error_code=40001,
            )
