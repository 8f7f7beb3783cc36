"""Payments get a risk by a model of scikit-learn, row by row, in SQL."""

from __future__ import annotations

import csv
from pathlib import Path

import training

import ksqlpy

HERE = Path(__file__).parent

STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM payments (id INT KEY, card STRING, amount DOUBLE, hour INT, kilometres DOUBLE)
  WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE FUNCTION fraud_risk(amount DOUBLE, hour INT, kilometres DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON
  WITH (TIMEOUT = '60 seconds')
  AS 'risk:fraud_risk';

CREATE STREAM judged_payments WITH (KAFKA_TOPIC = 'judged_payments') AS
SELECT id, card, amount, fraud_risk(amount, hour, kilometres) AS risk
FROM payments
EMIT CHANGES;

CREATE STREAM alerts WITH (KAFKA_TOPIC = 'alerts') AS
SELECT id, card, amount, risk
FROM judged_payments
WHERE risk >= 0.5
EMIT CHANGES;

CREATE TABLE cards WITH (KAFKA_TOPIC = 'cards') AS
SELECT card, COUNT(*) AS payments, MAX(risk) AS highest
FROM judged_payments
GROUP BY card
EMIT CHANGES;
"""


def rows(name: str) -> list[dict[str, str | None]]:
    """Those of a CSV file; what is empty is null."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return [{column: value or None for column, value in row.items()} for row in csv.DictReader(file)]


def main() -> None:
    """Trains the model, writes payments, and prints what the queries make of them."""
    print(f"The model judges {training.train():.0%} of the past payments right.")
    # Worker processes import risk.py from here. They do not run in this process.
    config = {"ksqlpy.functions.python.enabled": "true", "ksqlpy.functions.python.path": str(HERE)}
    with ksqlpy.Engine(config=config) as engine:
        engine.sql(STATEMENTS)
        with engine.query("SELECT id, amount, risk FROM judged_payments EMIT CHANGES;") as judged:
            sent = engine.insert("payments", rows("payments.csv"))
            for _, row in zip(range(sent), judged, strict=False):
                print(f"  {row.id:2} {row.amount:7.2f} risk {'unknown' if row.risk is None else f'{row.risk:.2f}'}")
        cards = engine.table("cards")
        for card in ("1093", "4417", "8820"):
            found = cards.get(card, wait=300)
            if found is not None:
                print(f"card {card}: {found.payments} payments, highest risk {found.highest:.2f}")
        with engine.query("SELECT id, card FROM alerts EMIT CHANGES LIMIT 3;") as alerts:
            print("alerts:", ", ".join(f"payment {row.id} of card {row.card}" for row in alerts))


if __name__ == "__main__":
    main()
