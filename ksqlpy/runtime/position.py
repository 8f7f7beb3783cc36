"""How far queries have read their source topics."""

from __future__ import annotations

from collections.abc import Mapping

from ksqlpy.catalog import PersistentQuery
from ksqlpy.runtime.queries import Queries
from ksqlpy.spark.figures import read_up_to

__all__ = ["Offsets", "position"]

Offsets = Mapping[str, Mapping[str, int]]
"""By topic and partition."""


def position(queries: Queries, query: PersistentQuery, begins: Offsets) -> Offsets:
    """The next offsets that a query reads: of its checkpoint, or later ones of its consumers while it runs.

    ``begins``: the first offsets that there are, of the topics that are asked for.
    """
    running = queries.get(query.id)
    checkpoint = queries.checkpoints.of(query.id) if running is None else running.checkpoint
    known = [checkpoint.position(query.offsets, query.rewound)]
    if running is not None and not checkpoint.rewinds(query.rewound):
        known.append(read_up_to(queries.session, query.id, begins))
    return {
        topic: {p: max(first, *(of.get(topic, {}).get(p, 0) for of in known), 0) for p, first in partitions.items()}
        for topic, partitions in begins.items()
    }
