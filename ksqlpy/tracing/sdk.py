"""Spans by OpenTelemetry's SDK, which is the extra ``traces``.

The provider is our own, not the one of the process: what other libraries trace does not go to our collector. Spans wait
in a queue of bounded length, and a thread sends them: a collector that is away costs spans, and no time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Self

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ksqlpy.config import Config
from ksqlpy.errors import KsqlError
from ksqlpy.tracing.headers import ENDPOINT, TraceHeaders
from ksqlpy.tracing.spans import NOTHING, Span, Value
from ksqlpy.version import __version__

__all__ = ["Sdk"]

PATIENCE = 3
"""Seconds for which a collector is waited for; also at the end of the server."""

_HEADERS = TraceContextTextMapPropagator()


class _Span:
    """A span of the SDK. ``inner``: whether further steps are its children."""

    def __init__(self, made: trace.Span, *, inner: bool) -> None:
        self._made = made
        self._within: AbstractContextManager[object] | None = None
        if inner:
            self._within = trace.use_span(made, record_exception=False, set_status_on_exception=False)

    def __enter__(self) -> Self:
        if self._within is not None:
            self._within.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._within is not None:
            self._within.__exit__(None, None, None)
        if error is not None:
            self.failed(error)
        self.end()

    def set(self, name: str, value: Value) -> None:
        self._made.set_attribute(name, value)

    def failed(self, why: BaseException | str) -> None:
        """Of an error its name is told: its text may have values of rows."""
        if isinstance(why, BaseException):
            why = why.code if isinstance(why, KsqlError) else type(why).__name__
        self._made.set_attribute("error.type", why)
        self._made.set_status(Status(StatusCode.ERROR, why))

    def end(self) -> None:
        self._made.end()


class Sdk:
    """Makes spans, and hands them to an exporter."""

    def __init__(self, exporter: SpanExporter, service: str = "", ratio: float = 1.0) -> None:
        """``service``: the id of the service; ``ratio``: the part of the traces that begin here and are sent."""
        of_server = {"service.name": "ksqlpy", "service.version": __version__, "service.namespace": service}
        # What the variables of OpenTelemetry say of the process is said by who runs it.
        resource = Resource({k: v for k, v in of_server.items() if v}).merge(OTELResourceDetector().detect())
        sampler = ParentBased(TraceIdRatioBased(ratio))
        self._provider = TracerProvider(sampler=sampler, resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("ksqlpy", __version__)

    @classmethod
    def of(cls, config: Config) -> Self:
        """That of a server, with an exporter for its collector."""
        exporter = OTLPSpanExporter(endpoint=config.get(ENDPOINT), timeout=PATIENCE)
        return cls(exporter, config.get("ksql.service.id"), float(config.get("ksqlpy.traces.ratio")))

    def request(self, name: str, parent: TraceHeaders | None, attributes: Mapping[str, Value]) -> Span:
        """The span of a request."""
        carrier = {} if parent is None else {name: text for name, text in parent._asdict().items() if text}
        context = _HEADERS.extract(carrier, context=trace.set_span_in_context(trace.INVALID_SPAN))
        made = self._tracer.start_span(name, context, kind=SpanKind.SERVER, attributes=attributes)
        return _Span(made, inner=True)

    def span(self, name: str, attributes: Mapping[str, Value], *, inner: bool = True) -> Span:
        """A step inside of another one."""
        if not trace.get_current_span().get_span_context().is_valid:
            return NOTHING
        return _Span(self._tracer.start_span(name, attributes=attributes), inner=inner)

    def current(self) -> TraceHeaders | None:
        """What names the step in hand."""
        carrier: dict[str, str] = {}
        _HEADERS.inject(carrier)
        parent = carrier.get("traceparent")
        return None if parent is None else TraceHeaders(parent, carrier.get("tracestate", ""))

    def close(self) -> None:
        """Sends what is left, and ends; a collector that does not answer is left behind."""
        ending = threading.Thread(target=self._provider.shutdown, name="spans end", daemon=True)
        ending.start()
        ending.join(PATIENCE)
