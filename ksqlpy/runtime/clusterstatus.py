"""What a server of a service does for it: which stores of which queries it has, and how far these are.

Source of the rules: ksqlDB, "Introspect cluster status (/clusterStatus)". A service has one server that works; the
positions are those in the topics that a query reads, since its stores have no topics of their own.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ksqlpy.catalog import Catalog
from ksqlpy.plan import Plan
from ksqlpy.runtime.catalog_service import CatalogService
from ksqlpy.runtime.position import Offsets, position
from ksqlpy.runtime.supervisor import Supervisor
from ksqlpy.spark.kafka import Kafka

__all__ = ["host_status"]


def host_status(catalog: Catalog, service: CatalogService, supervisor: Supervisor, kafka: Kafka) -> dict[str, Any]:
    """The entity of this server; raises KsqlError where brokers do not answer."""
    now = int(time.time() * 1000)
    plans = {q.id: service.plan_of(q.id) for q in catalog.queries.values() if ("query", q.id) not in catalog.blocked}
    kept = [catalog.queries[query_id] for query_id, plan in plans.items() if plan.stateful]
    partitions = kafka.partitions({t for q in kept for t in q.offsets})
    begins = kafka.offsets(partitions, latest=False) if kept else {}
    ends = kafka.offsets(partitions, latest=True) if kept else {}
    active: dict[str, Any] = {}
    lags: dict[str, Any] = {}
    for query in kept:
        topics = [t for t in query.offsets if t in partitions]
        stores = store_names(plans[query.id])
        active[query.id] = {
            "activeStores": stores,
            "activePartitions": [{"topic": t, "partition": int(p)} for t in topics for p in sorted(ends[t], key=int)],
            "standByStores": [],
            "standByPartitions": [],
        }
        lag = _lag(position(supervisor.queries, query, {t: begins[t] for t in topics}), {t: ends[t] for t in topics})
        for store in stores:
            lags[f"{query.id}#{store}"] = {"lagByPartition": lag, "size": len(lag)}
    return {
        "hostAlive": True,
        "lastStatusUpdateMs": now,
        "activeStandbyPerQuery": active,
        "hostStoreLags": {"stateStoreLags": lags, "updateTimeMs": now},
    }


def store_names(plan: Plan) -> list[str]:
    """The operators of a plan that have state; those of one kind are numbered."""
    kinds = [type(node).__name__ for node in plan.nodes if node.stateful]
    several, seen, names = Counter(kinds), Counter[str](), []
    for kind in kinds:
        seen[kind] += 1
        names.append(f"{kind}-{seen[kind]}" if several[kind] > 1 else kind)
    return names


def _lag(position: Offsets, ends: Offsets) -> dict[str, dict[str, int]]:
    """By partition, over all topics: where a query is, where they end, and what is between."""
    found: dict[str, dict[str, int]] = {}
    for partition in _partitions(ends):
        here = sum(of.get(partition, 0) for of in position.values())
        there = sum(of.get(partition, 0) for of in ends.values())
        left = sum(max(0, end - position[t].get(partition, 0)) for t, of in ends.items() if (end := of.get(partition)))
        found[partition] = {"currentOffsetPosition": here, "endOffsetPosition": there, "offsetLag": left}
    return found


def _partitions(ends: Offsets) -> Iterable[str]:
    return sorted({p for of in ends.values() for p in of}, key=int)
