"""GET /metrics: what goes on, in the text format of Prometheus.

Its families, with their names and meanings, are those of ``ksqlpy/figures``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ksqlpy.access import EVERYTHING, Need, Right
from ksqlpy.audit import Audit
from ksqlpy.figures import (
    ENGINE_METRICS,
    KSQLDB_METRICS,
    SERVER_METRICS,
    SUM,
    EngineMetrics,
    Kind,
    Metric,
    QueryMetrics,
    Sample,
    ServerMetrics,
    query_metrics,
)
from ksqlpy.server.backend import Backend, State, backend_of
from ksqlpy.server.endpoints import LEFT, code_of, endpoint_of, endpoints_of
from ksqlpy.server.probes import is_ready

__all__ = ["Counted", "EngineText", "Scrapes", "engine_text", "router"]

log = logging.getLogger(__name__)

KSQLDB_NAMES = "ksqlpy.metrics.ksqldb.names"

KEPT = 2.0
"""Seconds for which what an engine has told is told again: of several who scrape, one asks."""

HASTE = 0.05
"""Seconds for which a scrape waits for what an engine tells now, if what it told before is younger than RECENT.

On a quiet machine 200 queries are told within half of that. Where queries use all processors, each part of the work
waits for one, and a scrape shall not: it tells what was told before, and the next one what comes.
"""

RECENT = 30.0
"""Seconds: two scrapes of a Prometheus that scrapes each 15 seconds."""

Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

router = APIRouter()


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """All metrics; while the engine starts or stops those of the server alone.

    They name all queries and topics: who asks needs the right to operate all. Raises KsqlError (40300).
    """
    backend = backend_of(request)
    if backend.state is State.READY:
        backend.engine.require(Need(Right.OPERATE, EVERYTHING))
    scrapes: Scrapes = request.app.state.scrapes
    return Response(await scrapes.text(), media_type=CONTENT_TYPE_PLAIN_0_0_4)


class Scrapes:
    """The metrics of one server. What the engine tells is asked for in a thread, and kept for a moment."""

    def __init__(self, backend: Backend, audit: Audit | None = None) -> None:
        self._backend = backend
        self._audit = audit
        self._requests: Counter[tuple[str, str]] = Counter()
        self._open: Counter[str] = Counter()
        self._last = EngineText()
        self._asking: asyncio.Task[None] | None = None
        self._own = CollectorRegistry(auto_describe=False)
        self._own.register(_Families(lambda: _families(SERVER_METRICS, self._told())))
        ProcessCollector(registry=self._own)

    async def text(self) -> bytes:
        """The answer to a scrape."""
        if self._backend.state is not State.READY:
            return generate_latest(self._own)
        if (old := time.monotonic() - self._last.at) >= KEPT:
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._ask())
            await asyncio.wait({self._asking}, timeout=HASTE if old < RECENT else None)
        return self._last.text + generate_latest(self._own)

    async def _ask(self) -> None:
        engine = self._backend.engine
        more = KSQLDB_METRICS if engine.config.get(KSQLDB_NAMES) == "true" else ()
        try:
            self._last = await self._backend.ask(engine_text, engine.metrics, more)
        except Exception as e:  # whatever it is, the metrics of the server are told
            log.warning("no metrics of the engine: %s", e)

    def begun(self, endpoint: str) -> None:
        """A request has come."""
        self._open[endpoint] += 1

    def ended(self, endpoint: str, code: str) -> None:
        """It is answered."""
        self._open[endpoint] -= 1
        self._requests[endpoint, code] += 1

    def open_requests(self) -> int:
        """Requests that are answered now."""
        return sum(self._open.copy().values())

    def _told(self) -> ServerMetrics:
        lost = {} if self._audit is None else dict(self._audit.lost)
        last = self._last if self._backend.state is State.READY else EngineText()
        return ServerMetrics(is_ready(self._backend), dict(self._requests), dict(self._open), lost, last.age_now)


class Counted:
    """Counts requests and their answers; stands before all else, so that those that are refused count, too."""

    def __init__(self, app: ASGIApp, scrapes: Scrapes, paths: Iterable[str]) -> None:
        self.app = app
        self._scrapes = scrapes
        self._endpoints = endpoints_of(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Calls the application; an ASGI application."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        endpoint, code = endpoint_of(scope["path"], self._endpoints), LEFT

        async def watched(message: Message) -> None:
            nonlocal code
            code = code_of(message, code)
            await send(message)

        self._scrapes.begun(endpoint)
        try:
            await self.app(scope, receive, watched)
        finally:
            self._scrapes.ended(endpoint, code)


class _Families(Collector):
    """Families of metrics, made anew for each scrape."""

    def __init__(self, made: Callable[[], Iterable[Family]]) -> None:
        self._made = made

    def collect(self) -> Iterable[Family]:
        return self._made()


@dataclass(frozen=True, slots=True)
class EngineText:
    """What an engine has told, as text. ``at``: when; ``age``: of its figures at that time, None if there are none."""

    text: bytes = b""
    at: float = float("-inf")
    age: float | None = None

    @property
    def age_now(self) -> float | None:
        """Of the figures, in seconds."""
        return None if self.age is None else self.age + time.monotonic() - self.at


def engine_text(ask: Callable[[], EngineMetrics], more: Sequence[Metric[EngineMetrics]] = ()) -> EngineText:
    """What an engine tells; nothing where it cannot."""
    registry = CollectorRegistry(auto_describe=False)
    try:
        told, at = ask(), time.monotonic()
        registry.register(_Families(lambda: _families((*ENGINE_METRICS, *more), told)))
        registry.register(_Families(lambda: _of_queries(told.queries)))
        return EngineText(generate_latest(registry), at, told.age)
    except Exception as e:  # whatever it is, the metrics of the server are told
        log.warning("no metrics of the engine: %s", e)
        return EngineText(at=time.monotonic())


T = TypeVar("T")


def _families(metrics: Iterable[Metric[T]], told: T) -> Iterator[Family]:
    return (_family(m, m.labels, m.samples(told)) for m in metrics)


def _of_queries(queries: Sequence[QueryMetrics]) -> Iterator[Family]:
    for m in query_metrics():
        samples = (((q.id, *labels), value) for q in queries for labels, value in m.samples(q))
        yield _family(m, ("query", *m.labels), samples)


def _family(metric: Metric[Any], labels: Sequence[str], samples: Iterable[Sample]) -> Family:
    if metric.kind is Kind.HISTOGRAM:
        return _histogram(metric, labels, samples)
    kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = kind(metric.full_name, metric.help, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _histogram(metric: Metric[Any], labels: Sequence[str], samples: Iterable[Sample]) -> Family:
    family, name = HistogramMetricFamily(metric.full_name, metric.help), metric.full_name
    for values, value in samples:
        own = dict(zip(labels[:-1], values, strict=False))
        if values[-1] == SUM:
            family.add_sample(f"{name}_sum", own, value)
            continue
        family.add_sample(f"{name}_bucket", {**own, "le": values[-1]}, value)
        if values[-1] == "+Inf":
            family.add_sample(f"{name}_count", own, value)
    return family
