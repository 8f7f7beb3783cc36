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

CREATE STREAM suspicious_withdrawals (id INT KEY, account STRING, country STRING, amount DECIMAL(8, 2))
  WITH (KAFKA_TOPIC = 'suspicious_withdrawals', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""


def run(session: ksqlpy.Session) -> None:
    """Sends withdrawals, and prints the totals, and which of them are suspicious."""
    session.sql(STATEMENTS)

    # An agent: the function runs here, in the program, for each withdrawal. A row that it returns goes to the stream
    # with the acknowledgement of the withdrawal, so it is there once. After a restart the agent goes on where it was.
    @session.subscribe(
        "SELECT id, account, country, amount FROM withdrawals EMIT CHANGES;",
        name="suspicion",
        to="suspicious_withdrawals",
    )
    def suspicion(withdrawal: ksqlpy.Row) -> ksqlpy.Row | None:
        suspicious = withdrawal.amount > 1000 or (withdrawal.country == "DK" and withdrawal.amount > 200)
        return withdrawal if suspicious else None

    with WITHDRAWALS.open(encoding="utf-8", newline="") as file:
        sent = session.insert("withdrawals", csv.DictReader(file))
    print(sent, "withdrawals")
    for name in ("account_totals", "country_totals"):
        table = session.table(name)
        table.get("", wait=300)  # which reflects all of them then
        print(f"{name}:", ", ".join(f"{key} {row.total}" for key, row in sorted(table.items())))
    suspicion.wait(300, rows=sent)
    suspicion.stop()
    with session.query("SELECT id, account, country, amount FROM suspicious_withdrawals;") as rows:
        for row in sorted(rows):
            print(f"  suspicious: {row.id:2} {row.account:3} {row.country} {row.amount:>7}")
