"""Starts of queries as steps of the requests that have made them."""

from __future__ import annotations

from ksqlpy.spark.query_status import State
from ksqlpy.tracing import Span, begin

__all__ = ["Starts"]


class Starts:
    """Of queries that have begun to start and have not come to run or to fail."""

    def __init__(self) -> None:
        self._spans: dict[str, Span] = {}

    def begin(self, query_id: str) -> None:
        """A query starts."""
        self._spans[query_id] = begin("query start", {"ksqlpy.query": query_id})

    def seen(self, query_id: str, state: State) -> None:
        """A query is in a state, which ends its start unless it belongs to it."""
        if state in (State.STARTING, State.RECOVERING) or (span := self._spans.pop(query_id, None)) is None:
            return
        if state is not State.RUNNING:
            span.failed(state.value)
        span.end()
