"""Names and types resolved; what is legal where, each rule with a code and a hint."""

from __future__ import annotations

from ksqlpy.analysis.inference import Sample, Samples
from ksqlpy.analysis.inserts import Insert, analyze_insert
from ksqlpy.analysis.query import analyze_query
from ksqlpy.analysis.result import TypedQuery
from ksqlpy.analysis.scope import Text, check_blocked, find_source
from ksqlpy.analysis.statements import CreateAs, Declare, TopicSpec, analyze_create
from ksqlpy.analysis.writers import (
    InsertInto,
    analyze_alter,
    analyze_delete,
    analyze_insert_select,
    analyze_type,
    check_replaceable,
)

__all__ = [
    "CreateAs",
    "Declare",
    "Insert",
    "InsertInto",
    "Sample",
    "Samples",
    "Text",
    "TopicSpec",
    "TypedQuery",
    "analyze_alter",
    "analyze_create",
    "analyze_delete",
    "analyze_insert",
    "analyze_insert_select",
    "analyze_query",
    "analyze_type",
    "check_blocked",
    "check_replaceable",
    "find_source",
]
