"""The operators of a logical plan, one in a file; what each must say of itself is in :mod:`.contract`."""

from ksqlpy.plan.operators.aggregate import Aggregate
from ksqlpy.plan.operators.contract import Depends, Lanes, Operator, Passive, Replay, Results, Stateless
from ksqlpy.plan.operators.filter import Filter
from ksqlpy.plan.operators.flat_map import FlatMap
from ksqlpy.plan.operators.foreign_key_join import ForeignKeyJoin
from ksqlpy.plan.operators.lag_lead import LagLead
from ksqlpy.plan.operators.project import Project
from ksqlpy.plan.operators.scan import Scan
from ksqlpy.plan.operators.session_aggregate import SessionAggregate
from ksqlpy.plan.operators.stream_stream_join import StreamStreamJoin
from ksqlpy.plan.operators.stream_table_join import StreamTableJoin
from ksqlpy.plan.operators.suppress import Suppress
from ksqlpy.plan.operators.table_changes import TableChanges
from ksqlpy.plan.operators.table_filter import TableFilter
from ksqlpy.plan.operators.table_table_join import TableTableJoin
from ksqlpy.plan.operators.top_n import TopN
from ksqlpy.plan.operators.union import Union

__all__ = [
    "Aggregate",
    "Depends",
    "Filter",
    "FlatMap",
    "ForeignKeyJoin",
    "LagLead",
    "Lanes",
    "Operator",
    "Passive",
    "Project",
    "Replay",
    "Results",
    "Scan",
    "SessionAggregate",
    "Stateless",
    "StreamStreamJoin",
    "StreamTableJoin",
    "Suppress",
    "TableChanges",
    "TableFilter",
    "TableTableJoin",
    "TopN",
    "Union",
]
