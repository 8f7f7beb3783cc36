"""A small part of PromQL, so that alert rules are tried where there is no Prometheus.

Only what the rules of examples/monitoring use. Where there is ``promtool``, it gets the same cases, and must agree.
Sources: Prometheus manual, "Querying basics", "Operators", "Query functions"; ``extrapolatedRate`` of its engine.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lark import Lark, Token, Transformer

__all__ = ["Rule", "Samples", "Series", "evaluated", "series_of"]

Series = tuple[str, frozenset[tuple[str, str]]]
"""A name and labels."""

LOOKBACK = 300.0
"""Seconds for which the last sample of a series counts."""

_GRAMMAR = r"""
?start: set
?set: compared | set SET on? compared -> combined
on: "on" "(" LABEL ("," LABEL)* ")"
?compared: product | product COMPARE product
?product: value | product ARITH value -> calculated
?value: NUMBER -> number
      | "time" "(" ")" -> now
      | FUNCTION "(" selector "[" DURATION "]" ")" -> function
      | "sum" "without" "(" LABEL ("," LABEL)* ")" "(" set ")" -> summed
      | selector -> instant
      | "(" set ")"
selector: METRIC ["{" [matcher ("," matcher)*] "}"]
matcher: LABEL MATCH TEXT
SET.3: "and" | "unless"
FUNCTION.3: "increase" | "deriv"
COMPARE: "==" | ">" | "<"
ARITH: "/" | "-"
MATCH: "=~" | "="
DURATION: /[0-9]+[smh]/
NUMBER.2: /[0-9.]+(e[0-9]+)?/
TEXT: /"[^"]*"/
LABEL: /[a-z_]+/
METRIC: /[a-z_]+/
%ignore " "
"""

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {"==": operator.eq, ">": operator.gt, "<": operator.lt}
_ARITH: Mapping[str, Callable[[float, float], float]] = {"/": operator.truediv, "-": operator.sub}
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass
class Samples:
    """What was scraped: by series, times in seconds and values."""

    of: dict[Series, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, at: float, name: str, labels: Mapping[str, str], value: float) -> None:
        """A sample, behind those of before."""
        self.of.setdefault((name, frozenset(labels.items())), []).append((at, value))

    def scraped(self, at: float, given: Iterable[tuple[str, Mapping[str, str], float]]) -> None:
        """All samples of a time; a series that has none is over, as Prometheus marks it."""
        for name, labels, value in given:
            self.add(at, name, labels, value)
        for points in self.of.values():
            if points[-1][0] < at and not math.isnan(points[-1][1]):
                points.append((at, math.nan))


Vector = dict[frozenset[tuple[str, str]], float]
"""Values by labels; the name of the metric is no label here."""


def seconds(text: str) -> int:
    """A duration, such as 5m."""
    return int(text[:-1]) * _UNITS[text[-1]]


@dataclass
class _Selector:
    name: str
    matchers: Sequence[tuple[str, str, str]]

    def found(self, samples: Samples) -> dict[frozenset[tuple[str, str]], list[tuple[float, float]]]:
        return {
            labels: points
            for (name, labels), points in samples.of.items()
            if name == self.name and all(self._matches(dict(labels), *m) for m in self.matchers)
        }

    @staticmethod
    def _matches(labels: Mapping[str, str], label: str, how: str, wanted: str) -> bool:
        value = labels.get(label, "")
        return value == wanted if how == "=" else re.fullmatch(wanted, value) is not None


class _Evaluator(Transformer[Token, Any]):
    """Values of an expression at a time."""

    def __init__(self, samples: Samples, at: float) -> None:
        super().__init__()
        self._samples, self._at = samples, float(at)

    def on(self, labels: list[Token]) -> set[str]:
        return {str(label) for label in labels}

    def matcher(self, parts: list[Token]) -> tuple[str, str, str]:
        return str(parts[0]), str(parts[1]), parts[2][1:-1]

    def selector(self, parts: list[Any]) -> _Selector:
        return _Selector(str(parts[0]), [m for m in parts[1:] if m is not None])

    def number(self, parts: list[Token]) -> float:
        return float(parts[0])

    def now(self, parts: list[Token]) -> float:
        return self._at

    def instant(self, parts: list[_Selector]) -> Vector:
        found = {
            labels: [value for time, value in points if self._at - LOOKBACK < time <= self._at]
            for labels, points in parts[0].found(self._samples).items()
        }
        return {labels: values[-1] for labels, values in found.items() if values and not math.isnan(values[-1])}

    def function(self, parts: list[Any]) -> Vector:
        name, selector, duration = str(parts[0]), parts[1], seconds(parts[2])
        found: Vector = {}
        for labels, points in selector.found(self._samples).items():
            within = [(t, v) for t, v in points if self._at - duration < t <= self._at and not math.isnan(v)]
            if len(within) > 1:
                value = _increase(within, self._at, duration) if name == "increase" else _slope(within)
                found[labels] = value
        return found

    def summed(self, parts: list[Any]) -> Vector:
        *without, vector = parts
        found: Vector = {}
        for labels, value in vector.items():
            kept = frozenset((name, text) for name, text in labels if name not in without)
            found[kept] = found.get(kept, 0) + value
        return found

    def compared(self, parts: list[Any]) -> Vector:
        left, sign, right = parts
        return {k: v for k, (v, other) in _paired(left, right).items() if _COMPARE[sign](v, other)}

    def calculated(self, parts: list[Any]) -> Vector:
        left, sign, right = parts
        return {k: _ARITH[sign](v, other) for k, (v, other) in _paired(left, right).items()}

    def combined(self, parts: list[Any]) -> Vector:
        left, sign, *on, right = parts

        def place(labels: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
            return frozenset((n, v) for n, v in labels if n in on[0]) if on else labels

        places = {place(labels) for labels in right}
        return {labels: v for labels, v in left.items() if (place(labels) in places) == (sign == "and")}


def _paired(left: Vector | float, right: Vector | float) -> dict[frozenset[tuple[str, str]], tuple[float, float]]:
    if isinstance(left, float):
        assert not isinstance(right, float)
        return {k: (left, v) for k, v in right.items()}
    if isinstance(right, float):
        return {k: (v, right) for k, v in left.items()}
    return {k: (v, right[k]) for k, v in left.items() if k in right}


def _increase(points: Sequence[tuple[float, float]], at: float, duration: float) -> float:
    """As Prometheus has it: carried on to both ends of the time, where samples come up to near them."""
    (first, begin), (last, _) = points[0], points[-1]
    grown = points[-1][1] - begin
    grown += sum(before for (_, before), (_, after) in itertools.pairwise(points) if after < before)
    sampled = last - first
    between = sampled / (len(points) - 1)
    ahead, behind = first - (at - duration), at - last
    if ahead >= between * 1.1:
        ahead = between / 2
    if grown > 0 and begin >= 0:
        ahead = min(ahead, sampled * begin / grown)
    if behind >= between * 1.1:
        behind = between / 2
    return grown * (sampled + ahead + behind) / sampled


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the line through the points, by least squares."""
    n = len(points)
    x = sum(time for time, _ in points) / n
    y = sum(value for _, value in points) / n
    return sum((t - x) * (v - y) for t, v in points) / sum((t - x) ** 2 for t, _ in points)


_PARSER = Lark(_GRAMMAR, parser="earley", maybe_placeholders=False)


_parsed = functools.cache(_PARSER.parse)


def evaluated(expr: str, samples: Samples, at: float) -> Vector:
    """The series for which an expression has a value at a time."""
    found: Vector = _Evaluator(samples, at).transform(_parsed(expr))
    return found


@dataclass
class Rule:
    """An alert rule, which is looked at again and again: ``holds``, a duration, as long as it must hold to fire."""

    name: str
    expr: str
    holds: str
    since: dict[frozenset[tuple[str, str]], float] = field(default_factory=dict)

    def firing(self, samples: Samples, at: float) -> list[dict[str, str]]:
        """The labels of the alerts that fire at a time."""
        now = evaluated(self.expr, samples, at)
        self.since = {labels: self.since.get(labels, at) for labels in now}
        return [dict(labels) for labels, begin in self.since.items() if at - begin >= seconds(self.holds)]


def series_of(values: Mapping[str, str]) -> Samples:
    """Samples a minute apart from 0 on, in promtool's short form: ``1x30`` (the same), ``0+10x30`` (growing)."""
    samples = Samples()
    for series, text in values.items():
        name, _, braces = series.partition("{")
        labels = dict(re.findall(r'(\w+)="([^"]*)"', braces))
        at = 0.0
        for run in text.split():
            matched = re.fullmatch(r"(\d+)(?:\+(\d+))?x(\d+)", run)
            assert matched is not None, run
            value, step, more = (int(part or 0) for part in matched.groups())
            for n in range(more + 1):
                samples.add(at, name, labels, value + n * step)
                at += 60
    return samples
