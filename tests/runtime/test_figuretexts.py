"""Figures of queries as people read them: a dash stands for what is not known, or would mislead."""

from __future__ import annotations

import pytest

from ksqlpy.figuretexts import lag_text, latency_text

DAY = 86_400_000


@pytest.mark.parametrize(("lag", "text"), [(None, "-"), (0, "0"), (12_345, "12,345")])
def test_lag(lag: int | None, text: str) -> None:
    assert lag_text(lag) == text


@pytest.mark.parametrize(
    ("p50", "p99", "most", "text"),
    [
        (3, 15, 1_200, "p50 3 ms, p99 15 ms, at most 1,200 ms"),
        (3, DAY - 1, 31 * DAY, "p50 3 ms, p99 86,399,999 ms, at most -"),  # a few old events among new ones
        (31 * DAY, 31 * DAY, 31 * DAY, "- (event times are over a day old)"),
    ],
)
def test_latency(p50: int, p99: int, most: int, text: str) -> None:
    assert latency_text({"p50": p50, "p99": p99, "max": most}) == text
