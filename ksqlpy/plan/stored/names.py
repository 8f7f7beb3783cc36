"""The names under which classes and fields stand in stored plans.

A name is kept for ever: who renames a class or a field in the code leaves the name here as it is (for a field: with a
line in :data:`FIELDS`). ``tests/plan/stored_names.txt`` lists all names and holds them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ksqlpy import catalog
from ksqlpy.analysis import result
from ksqlpy.analysis import typed as t
from ksqlpy.plan import operators
from ksqlpy.plan.plan import Plan
from ksqlpy.plan.stored.source import StoredSource

__all__ = ["CLASSES", "FIELDS"]

CLASSES: Mapping[str, type] = {
    # what exists
    "source": StoredSource,
    "column": catalog.Column,
    "header": catalog.Header,
    "window-key": catalog.WindowKey,
    "schema": catalog.Schema,
    "query": catalog.PersistentQuery,
    # a plan and its nodes
    "plan": Plan,
    "scan": operators.Scan,
    "filter": operators.Filter,
    "table-filter": operators.TableFilter,
    "stream-table-join": operators.StreamTableJoin,
    "table-table-join": operators.TableTableJoin,
    "flat-map": operators.FlatMap,
    "table-changes": operators.TableChanges,
    "stream-stream-join": operators.StreamStreamJoin,
    "foreign-key-join": operators.ForeignKeyJoin,
    "aggregate": operators.Aggregate,
    "session-aggregate": operators.SessionAggregate,
    "suppress": operators.Suppress,
    "lag-lead": operators.LagLead,
    "top-n": operators.TopN,
    "project": operators.Project,
    "union": operators.Union,
    # what nodes are made of
    "output": result.Output,
    "relation": result.Relation,
    "view": result.View,
    "select": result.TypedQuery,
    "join": result.JoinSpec,
    "window": result.Window,
    "grouping": result.Grouping,
    "ranking": result.Ranking,
    # expressions
    "column-ref": t.ColumnRef,
    "literal": t.Literal,
    "function-call": t.FunctionCall,
    "aggregate-call": t.AggregateCall,
    "table-call": t.TableCall,
    "over-call": t.OverCall,
    "sort-key": t.SortKey,
    "cast": t.Cast,
    "arithmetic": t.Arithmetic,
    "negate": t.Negate,
    "compare": t.Compare,
    "logical": t.Logical,
    "not": t.Not,
    "is-null": t.IsNull,
    "between": t.Between,
    "in-list": t.InList,
    "like": t.Like,
    "case": t.Case,
    "field": t.FieldRef,
    "index": t.Index,
    "array": t.ArrayOf,
    "map": t.MapOf,
    "struct": t.StructOf,
    "lambda": t.Lambda,
    "lambda-ref": t.LambdaRef,
}
"""The class of each stored name."""
FIELDS: Mapping[type, Mapping[str, str]] = {
    operators.TableFilter: {"key": "keys"},
    operators.TableChanges: {"key": "keys"},
    operators.Aggregate: {"group": "keys", "windowing": "window"},
    operators.SessionAggregate: {"group": "keys", "windowing": "window"},
    operators.Suppress: {"windowing": "window"},
}
"""Of each class the stored names of those fields that the code calls otherwise, by their names in the code."""
