"""A query signs its results: who may write its topics must not be able to say that a result is there.

Each result has its coordinates in a header (``spark/header.py``). A query that starts again leaves out what such
headers say is written, so it must know its own: a tag ends them, made of them and of a secret key. The key lies in the
checkpoint, which every engine of the service reads and clients of Kafka do not. Headers without a tag, which versions
up to 0.1 wrote, count below the offsets at which the query's topics ended when it first began to sign.

Each key is a file of its own, and all that are there are good: two engines of which one has lost the service may both
find none and make one.
"""

from __future__ import annotations

import logging
import secrets
import uuid
from dataclasses import replace

from pyspark.sql import SparkSession

from ksqlpy.spark.checkpoint import Checkpoint
from ksqlpy.spark.gateway import jvm_of
from ksqlpy.spark.session import is_local
from ksqlpy.spark.spec import QuerySpec

__all__ = ["KEY_SETTING", "with_keys"]

KEY_SETTING = "ksqlpy.key"
"""The setting of a producer that names the key with which it signs, see ``spark/jvm/once/Key.java``."""

KEY_BYTES = 16
"""Those of a key of SipHash."""

_PY4J = logging.getLogger("py4j")


def with_keys(session: SparkSession, checkpoint: Checkpoint, spec: QuerySpec) -> QuerySpec:
    """The query with the names of its keys, which the session's JVM knows from now on.

    Makes one in a checkpoint that has none; none in a checkpoint that is gone, and without exactly_once. To be called
    in the thread that starts the query. Raises EngineProblem ``checkpoint-damaged`` where a key is lost.
    """
    if not spec.exactly_once:
        return spec
    if not (own := checkpoint.keys()) and (checkpoint.names() or not spec.mark):
        checkpoint.add_key(uuid.uuid4().hex[:8], secrets.token_hex(KEY_BYTES))
        own = checkpoint.keys()
    others = Checkpoint(session, spec.results_in).keys() if spec.results_in else {}
    if _PY4J.getEffectiveLevel() <= logging.DEBUG:
        _PY4J.setLevel(logging.INFO)  # it would log what it sends
    jvm = jvm_of(session)
    for name, secret in {**own, **others}.items():
        jvm.ksqlpy.once.Key.keep(name, secret)
        if not is_local(session):  # executors get them with their tasks
            session.sparkContext.setLocalProperty(jvm.ksqlpy.once.Key.PROPERTY + name, secret)
    return replace(spec, keys=(*sorted(own), *sorted(others)))
