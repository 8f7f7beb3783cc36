"""Faust's tumbling.py: a table with windows counts the events of each ten seconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import ksqlpy

STATEMENTS = """
CREATE STREAM events (name STRING, happened TIMESTAMP)
  WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'happened');

CREATE TABLE per_ten_seconds AS
SELECT name, COUNT(*) AS n
FROM events
WINDOW TUMBLING (SIZE 10 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 20 SECONDS)
GROUP BY name
EMIT CHANGES;
"""

START = datetime(2024, 5, 6, 12, tzinfo=UTC)
SECONDS = (0, 1, 4, 9, 11, 12, 8, 25, 31, 33)
"""When events happen; the seventh comes late, and counts in its window."""


def run(session: ksqlpy.Session) -> None:
    """Sends events, and prints what each window has."""
    session.sql(STATEMENTS)
    session.insert("events", [{"name": "click", "happened": START + timedelta(seconds=s)} for s in SECONDS])
    table = session.table("per_ten_seconds")
    for row in table.range("click", START, START + timedelta(minutes=1), wait=300):
        second = (row.windowstart - START.timestamp() * 1000) / 1000
        print(f"  from second {second:2.0f} on: {row.n}")
    print("one window by its start:", table["click", START + timedelta(seconds=10)].n)
