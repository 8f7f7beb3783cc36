"""Sources and queries that tests of the page look at."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.support.waiting import until

__all__ = ["count", "letters", "make_rides", "run"]

RIDES = """
CREATE STREAM rides (city STRING KEY, id BIGINT, fare DECIMAL(10, 2))
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM large AS SELECT * FROM rides WHERE fare > 10;
CREATE TABLE fares AS SELECT city, COUNT(*) AS n, SUM(fare) AS total FROM large GROUP BY city;
"""


FIRST = {"auto.offset.reset": "earliest"}
"""Queries have all rows, however late they begin."""


def run(url: str, sql: str, auth: tuple[str, str] | None = None) -> list[dict[str, Any]]:
    """Runs statements, past the page."""
    answer = httpx.post(
        f"{url}/ksql", json={"ksql": sql, "streamsProperties": FIRST}, timeout=60, trust_env=False, auth=auth
    )
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


def make_rides(url: str) -> None:
    """RIDES → LARGE → FARES, with five rides that have gone through."""
    run(url, RIDES)
    run(url, "".join(f"INSERT INTO rides VALUES ('Oslo', {n}, {10 + n}.50);" for n in range(5)))
    assert until(lambda: _counted(url) == [["Oslo", 5]], 120), _counted(url)


def _counted(url: str) -> list[Any]:
    body = {"sql": "SELECT city, n FROM fares;"}
    lines = httpx.post(f"{url}/query-stream", json=body, timeout=60, trust_env=False).text.splitlines()
    return [json.loads(line) for line in lines[1:]]


def count(url: str, stream: str) -> int:
    """How many rows a stream has."""
    body = {"sql": f"SELECT * FROM {stream};"}
    return len(httpx.post(f"{url}/query-stream", json=body, timeout=60, trust_env=False).text.splitlines()) - 1


def letters(url: str) -> list[dict[str, Any]]:
    answer = httpx.post(f"{url}/deadletters", json={}, timeout=60, trust_env=False)
    found: list[dict[str, Any]] = answer.json()["deadLetters"]
    return found
