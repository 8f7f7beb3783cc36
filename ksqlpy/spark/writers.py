"""The producers of one query's results: known before they write, ended before the query looks at what is written.

On one machine the driver's JVM has one producer a query, which its lives share. On a cluster each executor has one for
each life. Both stand in the register (``fencing.py``), by which the brokers refuse those of before.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksqlpy.errors import EngineProblem, KsqlError
from ksqlpy.spark.clients import tell_jvm
from ksqlpy.spark.failure import failure_of
from ksqlpy.spark.fencing import ProducerRegister, SinkProducer
from ksqlpy.spark.gateway import jvm_of
from ksqlpy.spark.kafka import Kafka
from ksqlpy.spark.limits import limits_of
from ksqlpy.spark.output import sink_options
from ksqlpy.spark.session import is_local
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.spark.tasks import tasks_run

__all__ = ["Writers", "forget_ended", "writers_of", "writers_of_rehearsal"]

log = logging.getLogger(__name__)

_STARTING = 130.0
"""Seconds that a producer may take to get its id from the brokers."""

_ANY = 2**31 - 1
"""Bytes, where no limit is known."""

SENDING = 130.0
"""Seconds in which a producer of this JVM has to send what the query gave it before it ended."""


class Writers(ABC):
    """The producers of one query. All methods raise what py4j raises of a JVM that is gone."""

    shared = True
    """Whether lives of the query share a producer, so that tasks of the one before must have ended."""

    format = "kafka"
    """The name of Spark's sink."""

    ordered = "ksqlpy.sink.OrderedSink"
    """That of a sink for tasks of this JVM that send results in the order of time."""

    registered = True
    """Whether its topics are those of a persistent query, which must exist."""

    @abstractmethod
    def limit(self, kafka: Kafka, spec: QuerySpec, topic_ids: Mapping[str, str]) -> None:
        """Asks how large records of the query may be in this life; ``topic_ids``: of its source topics.

        To be called ahead of all others. Raises EnvironmentProblem ``broker-unavailable``.
        """

    @abstractmethod
    def begin(self, kafka: Kafka, spec: QuerySpec, stopping: threading.Event) -> bool:
        """Ends all that wrote the query's results before this life; whether it is known that nobody else does now.

        It is not where none was noted, nor where the brokers do not let us. ``stopping``: is set when nobody waits for
        it any more. Raises EngineProblem ``service-taken`` when another engine has the service, and ``no-producer``
        or ``writers-not-ended`` when brokers do not answer or refuse.
        """

    @abstractmethod
    def wait_until_sent(self, spec: QuerySpec, stopping: threading.Event) -> None:
        """Waits until what this engine gave to producers in earlier lives is in its topics, or never will be.

        Raises EngineProblem ``results-unsent`` if that takes too long.
        """

    @abstractmethod
    def options(self, spec: QuerySpec) -> dict[str, str]:
        """The options of Spark's Kafka sink."""

    @abstractmethod
    def set_task_properties(self, spec: QuerySpec) -> None:
        """To be called in the thread that starts Spark's query, just before it."""

    @abstractmethod
    def check(self) -> None:
        """Raises EngineProblem ``service-taken`` when another engine has the service."""

    @abstractmethod
    def cut_off(self, spec: QuerySpec) -> None:
        """Gives up results that were not sent. Executors do it by themselves when a life of the query has ended."""

    @abstractmethod
    def end(self, spec: QuerySpec, *, forget: bool) -> None:
        """The query has ended; ``forget``: for good."""


def writers_of(session: SparkSession, register: ProducerRegister | None) -> Writers:
    """Those of a query; ``register``: None for one whose sink nobody else writes."""
    if register is None:
        return _OfPush(session)
    return _OnOneMachine(session, register) if is_local(session) else _OnCluster(session, register)


class _Unregistered(Writers):
    registered = False

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._jvm: Any = jvm_of(session)
        self._largest = _ANY

    def limit(self, kafka: Kafka, spec: QuerySpec, topic_ids: Mapping[str, str]) -> None:
        found = kafka.record_limits(spec.sink_topics)
        self._largest = min((limit.most for limit in found.values() if limit is not None), default=_ANY)
        self._keep(spec, limits_of(spec, found, topic_ids))

    def _keep(self, spec: QuerySpec, limits: str) -> None:
        """Lets those know who send."""
        self._jvm.ksqlpy.sink.Limits.set(spec.id, limits)

    def begin(self, kafka: Kafka, spec: QuerySpec, stopping: threading.Event) -> bool:
        return False

    def wait_until_sent(self, spec: QuerySpec, stopping: threading.Event) -> None:
        end = time.monotonic() + SENDING
        while not stopping.is_set() and not self._jvm.ksqlpy.sink.Senders.idle(spec.id):
            if time.monotonic() > end:
                topics = ", ".join(spec.sink_topics)
                raise EngineProblem("results-unsent", f"no broker has taken earlier results for {topics} yet")
            stopping.wait(0.05)

    def options(self, spec: QuerySpec) -> dict[str, str]:
        return sink_options(spec, self._largest)

    def set_task_properties(self, spec: QuerySpec) -> None:
        pass

    def check(self) -> None:
        pass

    def cut_off(self, spec: QuerySpec) -> None:
        pass

    def end(self, spec: QuerySpec, *, forget: bool) -> None:
        if forget:
            self._jvm.ksqlpy.sink.Limits.forget(spec.id)


class _OfPush(_Unregistered):
    def end(self, spec: QuerySpec, *, forget: bool) -> None:
        super().end(spec, forget=forget)
        if is_local(self._session):  # see _OnOneMachine.end; Spark would close it half a minute later
            self._jvm.ksqlpy.internals.ProducerPool.take(self.options(spec)).cutOff()


def writers_of_rehearsal(session: SparkSession) -> Writers:
    """Those of a query whose results go nowhere."""
    return _Nowhere(session)


class _Nowhere(_Unregistered):
    format = "noop"
    ordered = "noop"

    def limit(self, kafka: Kafka, spec: QuerySpec, topic_ids: Mapping[str, str]) -> None:
        """Nothing is too large for it."""

    def end(self, spec: QuerySpec, *, forget: bool) -> None:
        super().end(spec, forget=True)


_CUT_OFF: Counter[str] = Counter()
"""By query how many of its producers were closed. Spark keeps a producer for its settings, also a closed one."""


class _OnOneMachine(_Unregistered):
    registered = True

    def __init__(self, session: SparkSession, register: ProducerRegister) -> None:
        super().__init__(session)
        self._register = register

    def options(self, spec: QuerySpec) -> dict[str, str]:
        number = _CUT_OFF[spec.id]
        return {**super().options(spec), **({"kafka.ksqlpy.number": str(number)} if number else {})}

    def cut_off(self, spec: QuerySpec) -> None:
        if self._jvm.ksqlpy.sink.SinkProducers.cutOff(spec.id):
            _CUT_OFF[spec.id] += 1

    def begin(self, kafka: Kafka, spec: QuerySpec, stopping: threading.Event) -> bool:
        producers, end = self._jvm.ksqlpy.sink.SinkProducers, time.monotonic() + _STARTING
        while (number := producers.hold(spec.id, self.options(spec))) < 0:
            if stopping.wait(0.01):
                return False
            if time.monotonic() > end:
                raise EngineProblem("no-producer", f"no broker gives the producer of query {spec.id} its id")
        own = SinkProducer(producers.JVM, number, spec.sink_topics)
        others = self._register.enter(spec.id, own)
        if others is None:
            return False
        why = _fenced(self._jvm, kafka, spec.id, [o for o in others if o.jvm != own.jvm])
        if why is not None:
            log.warning(
                "query %s: the brokers do not let earlier producers of its results be ended, which needs the right"
                " ALTER on the cluster: %s", spec.id, why,
            )  # fmt: skip
            return False
        self._register.settle(spec.id, own)
        return True

    def check(self) -> None:
        self._register.check()

    def end(self, spec: QuerySpec, *, forget: bool) -> None:
        """Gives its producer back to Spark, and notes that nothing writes the query's results, if that is so."""
        if forget:
            # Its topic may be gone: what waits for it would go to the next one of that name. Also one without records
            # asks for its topic now and then, and brokers that make topics on first use would recreate it.
            self.cut_off(spec)
        self._jvm.ksqlpy.sink.SinkProducers.release(spec.id)
        if not tasks_run(self._session, spec.id) and self._jvm.ksqlpy.sink.Senders.idle(spec.id):
            self._register.leave(spec.id, forget=forget)
            super().end(spec, forget=forget)


_LIVES = itertools.count(1)
_PROCESS = uuid.uuid4().hex[:12]


class _OnCluster(_Unregistered):
    registered = True
    shared = False

    def __init__(self, session: SparkSession, register: ProducerRegister) -> None:
        super().__init__(session)
        self._register = register
        self._life = ""
        self._limits = ""

    def _keep(self, spec: QuerySpec, limits: str) -> None:
        self._limits = limits

    def begin(self, kafka: Kafka, spec: QuerySpec, stopping: threading.Event) -> bool:
        self._end_life(spec.id)
        self._life = f"{_PROCESS}.{next(_LIVES)}"
        others = self._register.begin_life(spec.id, self._life, spec.sink_topics)
        self._jvm.ksqlpy.metrics.Reports.beginLife(spec.id, self._life)
        why = _fenced(self._jvm, kafka, spec.id, others or ())
        if why is not None:
            raise EngineProblem(
                "writers-not-ended",
                f"the brokers do not let the producers of query {spec.id} on executors be ended: {why}",
                hint="on a cluster the user of the server needs the right ALTER on the Kafka cluster",
            )
        self._register.settle(spec.id)
        return others is not None

    def wait_until_sent(self, spec: QuerySpec, stopping: threading.Event) -> None:
        """Nothing is sent any more: the brokers refuse it."""

    def options(self, spec: QuerySpec) -> dict[str, str]:
        # The pool of producers of an executor finds them by their settings, so that each life has its own.
        return {**super().options(spec), "kafka.ksqlpy.life": self._life, "kafka.ksqlpy.limits": self._limits}

    def set_task_properties(self, spec: QuerySpec) -> None:
        writers = self._jvm.ksqlpy.sink.Writers
        self._session.sparkContext.setLocalProperty(writers.LIFE, self._life)
        self._session.sparkContext.setLocalProperty(writers.OPTIONS, json.dumps(self.options(spec)))

    def check(self) -> None:
        self._register.check()

    def end(self, spec: QuerySpec, *, forget: bool) -> None:
        self._end_life(spec.id)
        if forget:  # else they are ended when it starts again
            noted = self._register.begin_life(spec.id, "", ())
            self._register.end_life(spec.id, "")
            if _fenced(self._jvm, Kafka(spec.connection), spec.id, noted or ()) is None:
                self._register.leave(spec.id, forget=True)

    def _end_life(self, query: str) -> None:
        if self._life:
            self._register.end_life(query, self._life)
            with contextlib.suppress(Py4JError, OSError):
                self._jvm.ksqlpy.metrics.Reports.endLife(self._life)
            self._life = ""


def forget_ended(session: SparkSession, register: ProducerRegister, kafka: Kafka, known: Collection[str]) -> set[str]:
    """Removes the notes of queries that have ended for good, once nothing can write their results any more.

    ``known``: ids of the queries that have not. A query that ends removes its note by itself, unless there is no JVM,
    it is paused, or its tasks or its producer have not come to an end yet. Gives the ids of those whose producers the
    brokers do not let be ended; what else fails is done at the next call.
    """
    refused = set[str]()
    try:
        for query, producers in register.of_ended(known).items():
            if not _writes_here(session, query, producers):
                if (why := _orphans_fenced(session, kafka, query, producers)) is None:
                    register.forget(query)
                else:
                    log.warning("query %s has ended, its producers stay noted: %s", query, why)
                    refused.add(query)
    except (Py4JError, OSError, KsqlError) as e:
        log.warning("producers of queries that have ended stay noted: %s", failure_of(e).message)
    return refused


def _writes_here(session: SparkSession, query: str, producers: Iterable[SinkProducer]) -> bool:
    """Whether this JVM has one of the producers, and it may still write."""
    sink: Any = jvm_of(session).ksqlpy.sink
    own = any(p.jvm == sink.SinkProducers.JVM for p in producers)
    return own and (tasks_run(session, query) or not sink.Senders.idle(query))


def _orphans_fenced(session: SparkSession, kafka: Kafka, query: str, producers: Iterable[SinkProducer]) -> str | None:
    """Has the brokers end those of the producers that are in other JVMs; None, or why they do not let us."""
    jvm: Any = jvm_of(session)
    others = [p for p in producers if p.jvm != jvm.ksqlpy.sink.SinkProducers.JVM]
    if others:
        tell_jvm(session, kafka.connection)
    return _fenced(jvm, kafka, query, others)


def _fenced(jvm: Any, kafka: Kafka, query: str, producers: Iterable[SinkProducer]) -> str | None:
    """Has the brokers end these producers; None, or why they do not let us."""
    ended = list(producers)
    if not ended:
        return None
    topics = kafka.partitions({t for p in ended for t in p.topics})
    connection = kafka.connection.key
    why: str | None = jvm.ksqlpy.sink.SinkProducers.fence(connection, sorted({p.id for p in ended}), topics)
    if why is None:
        log.info("query %s: producers of before are ended: %s", query, ", ".join(str(p.id) for p in ended))
    return why
