"""How many pull queries are answered, by a clock of the test."""

from __future__ import annotations

import pytest

from ksqlpy.config import Config
from ksqlpy.errors import EngineProblem
from ksqlpy.runtime.pulllimits import PullLimits


def test_so_many_a_second() -> None:
    now = [0.0]
    limits = PullLimits(Config.of({"ksql.query.pull.max.qps": "4"}), lambda: now[0])
    for _ in range(4):
        limits.enter()
    with pytest.raises(EngineProblem) as refused:
        limits.enter()
    assert refused.value.error_code == 42900 and "4 pull queries a second" in str(refused.value)
    now[0] += 0.5
    limits.enter()
    limits.enter()
    with pytest.raises(EngineProblem):
        limits.enter()


def test_so_many_at_one_time() -> None:
    limits = PullLimits(Config.of({"ksql.query.pull.max.concurrent.requests": "2"}))
    limits.enter()
    limits.enter()
    with pytest.raises(EngineProblem) as refused:
        limits.enter()
    assert refused.value.error_code == 42900
    limits.leave()
    limits.enter()


def test_without_limits_nothing_is_counted() -> None:
    limits = PullLimits(Config.of({}))
    assert not limits.any
    for _ in range(1000):
        limits.enter()
