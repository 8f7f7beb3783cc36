"""The steps of a request as spans of its trace. Where nobody wants them a span is an object that does nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Protocol, Self

from ksqlpy.config import Config
from ksqlpy.tracing.headers import RECORDS, TraceHeaders

__all__ = ["NOTHING", "Span", "Tracer", "begin", "current", "record_headers", "request", "span", "use"]

Value = str | int


class Span(Protocol):
    """A step; a context manager that ends it, with the error that comes out of it.

    Inside of it further steps are its children, unless it was made by :func:`begin`.
    """

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None: ...
    def set(self, name: str, value: Value) -> None: ...
    def failed(self, why: BaseException | str) -> None: ...
    def end(self) -> None: ...


class Tracer(Protocol):
    """Makes spans; :class:`ksqlpy.tracing.sdk.Sdk` is one. None are made outside of a request."""

    def request(self, name: str, parent: TraceHeaders | None, attributes: Mapping[str, Value]) -> Span: ...
    def span(self, name: str, attributes: Mapping[str, Value], *, inner: bool = True) -> Span: ...
    def current(self) -> TraceHeaders | None: ...


class _Nothing:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        pass

    def set(self, name: str, value: Value) -> None:
        pass

    def failed(self, why: BaseException | str) -> None:
        pass

    def end(self) -> None:
        pass


NOTHING: Span = _Nothing()
"""The span of all that is not traced."""

_tracer: Tracer | None = None

_GIVEN: ContextVar[TraceHeaders | None] = ContextVar("given", default=None)
"""The headers with which the request came."""


def use(tracer: Tracer | None) -> None:
    """Has spans made from now on, or no more."""
    global _tracer
    _tracer = tracer


@contextlib.contextmanager
def request(name: str, given: TraceHeaders | None, attributes: Mapping[str, Value], *, spans: bool) -> Iterator[Span]:
    """The span of a whole request, which continues the trace that it was ``given``. ``spans``: whether it gets one."""
    token = _GIVEN.set(given)
    try:
        with NOTHING if _tracer is None or not spans else _tracer.request(name, given, attributes) as made:
            yield made
    finally:
        _GIVEN.reset(token)


def span(name: str, attributes: Mapping[str, Value] | None = None) -> AbstractContextManager[Span]:
    """A step of the request in hand; a context manager."""
    return NOTHING if _tracer is None else _tracer.span(name, attributes or {})


def begin(name: str, attributes: Mapping[str, Value] | None = None) -> Span:
    """A step that ends later, perhaps in another thread, by :meth:`Span.end`."""
    return NOTHING if _tracer is None else _tracer.span(name, attributes or {}, inner=False)


def current() -> TraceHeaders | None:
    """What names the trace of the request in hand, and its step; None where it has none."""
    return _GIVEN.get() if _tracer is None else _tracer.current() or _GIVEN.get()


def record_headers(config: Config) -> list[tuple[str, bytes]]:
    """The headers of records that are inserted now, by which their trace goes on; none where they are not wanted."""
    found = current() if config.get(RECORDS) == "true" else None
    return [] if found is None else found.of_record()
