"""Names and types resolved; what is legal where, each rule with a code and a hint."""

from __future__ import annotations

from ksqlpy.analysis.coverage import check_clauses
from ksqlpy.analysis.query import TypedQuery, analyze_query
from ksqlpy.analysis.scope import Text, find_source
from ksqlpy.analysis.statements import CreateAs, Declare, Insert, TopicWish, analyze_create, analyze_insert

__all__ = [
    "CreateAs",
    "Declare",
    "Insert",
    "Text",
    "TopicWish",
    "TypedQuery",
    "analyze_create",
    "analyze_insert",
    "analyze_query",
    "check_clauses",
    "find_source",
]
