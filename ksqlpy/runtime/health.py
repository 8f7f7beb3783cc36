"""What GET /healthcheck tells: what the server needs, and which queries do not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ksqlpy.errors import KsqlError
from ksqlpy.spark.query_status import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ksqlpy.catalog import Catalog
    from ksqlpy.runtime.brokers import Brokers
    from ksqlpy.runtime.supervisor import Supervisor

__all__ = ["query_health", "service_health"]


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


def service_health(
    catalog: Catalog, brokers: Brokers, supervisor: Supervisor, left_out: Sequence[Any], *, ready: bool
) -> dict[str, Any]:
    """All of it, with the queries of the catalog; ``left_out``: entries of the command log that were not done."""
    lost = None
    try:
        lost = brokers.problem()
        kafka = True
    except KsqlError:
        kafka = False
    details: dict[str, dict[str, Any]] = {
        "metastore": {"isHealthy": True},
        "kafka": {"isHealthy": kafka},
        "commandRunner": {
            "isHealthy": ready and lost is None,
            **({"reason": lost} if lost else {}),
            **({"leftOut": list(left_out)} if left_out else {}),
        },
        "spark": {"isHealthy": ready and supervisor.driver.alive},
    }
    healthy = all(d["isHealthy"] for d in details.values())
    details["queries"] = query_health(catalog, supervisor)
    return {"isHealthy": healthy, "details": details, "serverState": "READY" if ready else "TERMINATING"}
