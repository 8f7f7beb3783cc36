"""Families of metrics: what GET /metrics tells, each with its kind, its labels and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

__all__ = ["PREFIX", "SUM", "Kind", "Metric", "Sample", "one"]

PREFIX = "ksqlpy_"

T = TypeVar("T")

SUM = "sum"

Sample = tuple[tuple[str, ...], float]
"""Values of the labels, and the value."""


class Kind(StrEnum):
    """As Prometheus calls them. A counter only grows, or begins at 0 again.

    The last label of a histogram is ``le``: of a bucket, ``+Inf``, or :data:`SUM`.
    """

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Metric(Generic[T]):
    """A family of Prometheus. ``name``: without the prefix; ``samples``: from what is known, none where it is not."""

    name: str
    kind: Kind
    help: str
    samples: Callable[[T], Iterable[Sample]]
    labels: tuple[str, ...] = ()
    prefix: str = PREFIX

    @property
    def full_name(self) -> str:
        """As it stands in answers and in PromQL."""
        return f"{self.prefix}{self.name}"


def one(value: float | None) -> tuple[Sample, ...]:
    """The sample of a metric without labels; none where the value is not known."""
    return () if value is None else (((), value),)
