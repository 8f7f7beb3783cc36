"""Spans on their way to a collector."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ksqlpy.config import Config
from ksqlpy.errors import EnvironmentProblem
from ksqlpy.tracing import spans
from ksqlpy.tracing.headers import ENDPOINT

__all__ = ["sending"]


@contextlib.contextmanager
def sending(config: Config) -> Iterator[None]:
    """Has spans made and sent as long as it is entered, if the configuration names a collector.

    Raises EnvironmentProblem ``missing-package``.
    """
    if not config.get(ENDPOINT):
        yield
        return
    try:
        from ksqlpy.tracing.sdk import Sdk
    except ImportError as e:
        raise EnvironmentProblem(
            "missing-package",
            f"{ENDPOINT} needs the package {e.name or 'opentelemetry-sdk'}",
            hint="pip install 'ksqlpy[traces]'",
        ) from e
    tracer = Sdk.of(config)
    spans.use(tracer)
    try:
        yield
    finally:
        spans.use(None)
        tracer.close()
