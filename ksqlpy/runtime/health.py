"""Which queries do not run, for GET /healthcheck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ksqlpy.spark.query_status import State

if TYPE_CHECKING:
    from ksqlpy.catalog import Catalog
    from ksqlpy.runtime.supervisor import Supervisor

__all__ = ["query_health"]


def query_health(catalog: Catalog, supervisor: Supervisor) -> dict[str, Any]:
    """``isHealthy``: whether no persistent query has failed; ``notRunning``: those that neither run nor are paused.

    Each with ``id``, ``state``, ``since`` (ms since 1970), and ``reason`` where it has failed. A query that starts or
    recovers is listed, and not unhealthy.
    """
    listed, healthy = [], True
    blocked = {name: reason for (kind, name), reason in catalog.blocked.items() if kind == "query"}
    for query_id in sorted({*catalog.queries, *blocked}):
        status = supervisor.status(query_id, catalog)
        if status.state in (State.RUNNING, State.PAUSED):
            continue
        running = supervisor.queries.get(query_id)
        reason = blocked.get(query_id) or (running.error if running is not None else None)
        entry: dict[str, Any] = {"id": query_id, "state": status.state, "since": status.told()["since"]}
        listed.append({**entry, **({"reason": reason} if reason else {})})
        healthy = healthy and not status.failed
    return {"isHealthy": healthy, "notRunning": listed}
