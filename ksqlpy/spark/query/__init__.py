"""One running query: a Kafka source over all its topics, a plan, a Kafka sink, a checkpoint.

A :class:`RunningQuery` (``lifecycle.py``) has one life (``life.py``) after the other: a life that fails is followed by
the next after a while, longer each time; at once where the query ran and an executor was lost. A life goes through up
to two phases, each a run of Spark (``spark_run.py``) on the same checkpoint:

- recovery: after a stop or a crash, where rows of several partitions meet, one micro-batch takes the rows since the
  last checkpoint again that results had seen, in the order of their results, and leaves out results that are in the
  sink already (``spark/once.py``, ``tails.py``);
- live: real-time mode, or micro-batches if that is asked for, until it is stopped; after a stop or a crash it leaves
  out what is there, if no recovery did. Meanwhile ``sink_notes.py`` notes where the sink ends.

Ahead of them a plan that OR REPLACE has replaced takes the records that are there, in one batch, in a life of its own.
"""

from ksqlpy.spark.query.lifecycle import RunningQuery
from ksqlpy.spark.query.report import Phase

__all__ = ["Phase", "RunningQuery"]
