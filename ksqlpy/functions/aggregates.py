"""All aggregate functions; one file a family.

Source of the semantics: ksqlDB's aggregate functions. The state of a group is Spark's own aggregates; where Spark has
none that keeps the order of values, or can let values go again, the V2 aggregate functions of ``spark/jvm``.
"""

from __future__ import annotations

from ksqlpy.functions.aggregate_statistics import STATISTICS
from ksqlpy.functions.aggregate_sums import SUMS
from ksqlpy.functions.aggregate_values import VALUES

__all__ = ["AGGREGATES"]

AGGREGATES = (*SUMS, *STATISTICS, *VALUES)
