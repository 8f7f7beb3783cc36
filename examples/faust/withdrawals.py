"""Faust's withdrawals.py: withdrawals are summed up for each account and, in another order, for each country."""

from __future__ import annotations

import csv
from pathlib import Path

import ksqlpy

WITHDRAWALS = Path(__file__).with_name("withdrawals.csv")

STATEMENTS = """
CREATE STREAM withdrawals (id INT KEY, account STRING, country STRING, amount DECIMAL(8, 2), happened TIMESTAMP)
  WITH (KAFKA_TOPIC = 'withdrawals', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'happened');

CREATE TABLE account_totals AS
SELECT account, SUM(amount) AS total FROM withdrawals GROUP BY account EMIT CHANGES;

CREATE TABLE country_totals AS
SELECT country, SUM(amount) AS total, MAX(amount) AS largest FROM withdrawals GROUP BY country EMIT CHANGES;

-- The rule of an agent that looks at each one, as Python.
CREATE FUNCTION suspicious(country STRING, amount DECIMAL(8, 2)) RETURNS BOOLEAN LANGUAGE PYTHON AS $$
    return amount > 1000 or (country == "DK" and amount > 200)
$$;

CREATE STREAM suspicious_withdrawals AS
SELECT id, account, country, amount FROM withdrawals WHERE suspicious(country, amount) EMIT CHANGES;
"""


def run(session: ksqlpy.Session) -> None:
    """Sends withdrawals, and prints the totals, and which of them are suspicious."""
    session.sql(STATEMENTS)
    with WITHDRAWALS.open(encoding="utf-8", newline="") as file:
        print(session.insert("withdrawals", csv.DictReader(file)), "withdrawals")
    for name in ("account_totals", "country_totals"):
        table = session.table(name)
        table.get("", wait=300)  # which reflects all of them then
        print(f"{name}:", ", ".join(f"{key} {row.total}" for key, row in sorted(table.items())))
    for query in session.queries():
        if query.sink == "SUSPICIOUS_WITHDRAWALS":
            query.wait(timeout=300)
    with session.query("SELECT id, account, country, amount FROM suspicious_withdrawals;") as rows:
        for row in sorted(rows):
            print(f"  suspicious: {row.id:2} {row.account:3} {row.country} {row.amount:>7}")
