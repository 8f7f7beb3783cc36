"""New York taxi rides: a data frame goes in; rows as they happen, lookups, Arrow and a data frame come out."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas

import ksqlpy

HERE = Path(__file__).parent

STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';

CREATE TABLE zones (id INT PRIMARY KEY, zone STRING, borough STRING)
  WITH (KAFKA_TOPIC = 'taxi_zones', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE STREAM rides (id INT KEY, pickup TIMESTAMP, zone_id INT, amount DECIMAL(10, 2), color STRING)
  WITH (KAFKA_TOPIC = 'taxi_rides', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'pickup');
"""

QUERIES = """
CREATE STREAM enriched_rides WITH (KAFKA_TOPIC = 'taxi_enriched_rides') AS
SELECT r.zone_id AS zone_id, r.id AS id, z.zone AS zone, IFNULL(z.borough, 'Unknown') AS borough, r.amount AS amount
FROM rides r
LEFT JOIN zones z ON r.zone_id = z.id
EMIT CHANGES;

CREATE TABLE boroughs WITH (KAFKA_TOPIC = 'taxi_boroughs') AS
SELECT borough, COUNT(*) AS rides, SUM(amount) AS revenue
FROM enriched_rides
GROUP BY borough
EMIT CHANGES;

CREATE TABLE colors_by_day WITH (KAFKA_TOPIC = 'taxi_colors_by_day') AS
SELECT color, COUNT(*) AS rides, SUM(amount) AS revenue
FROM rides
WINDOW TUMBLING (SIZE 1 DAY, GRACE PERIOD 31 DAYS)
GROUP BY color
EMIT CHANGES;
"""


def main() -> None:
    """Writes the rides, and prints what the queries make of them."""
    rides = pandas.read_csv(HERE / "rides.csv", parse_dates=["pickup"])
    with ksqlpy.Engine() as engine:
        engine.sql(STATEMENTS)
        with (HERE / "zones.csv").open(encoding="utf-8", newline="") as file:
            print(engine.insert("zones", csv.DictReader(file)), "zones are written")
        engine.sql(QUERIES)
        for query in engine.queries():
            query.wait(timeout=300)  # A ride finds the zones that a query has read before it.

        # A push query gives rows as they happen, until it is closed. This one is open ahead of the rides.
        dear = engine.query("SELECT id, zone, amount FROM enriched_rides WHERE amount > :least EMIT CHANGES;", least=80)
        print(engine.insert("rides", rides), "rides are written")
        with dear:
            print("The first rides for more than 80 dollars:")
            for _, row in zip(range(3), dear, strict=False):
                print(f"  {row.id:3} {row.zone:25} {row.amount:>6}")

        print("Boroughs, by their keys:")
        boroughs = engine.table("boroughs")
        for name in ("Manhattan", "Queens", "Unknown", "Staten Island"):
            # Read your writes: the table reflects all rides that were written above.
            found = boroughs.get(name, wait=300)
            print(f"  {name:13}", "no rides" if found is None else f"{found.rides:3} rides, {found.revenue:>8} dollars")

        print("The first days of green cabs:")
        start, end = pandas.Timestamp("2019-03-01", tz="UTC"), pandas.Timestamp("2019-03-04", tz="UTC")
        for day in engine.table("colors_by_day").range("green", start, end, wait=300):
            print(f"  {pandas.Timestamp(day.windowstart, unit='ms'):%d %B} {day.rides} rides, {day.revenue:>6} dollars")

        table = engine.query("SELECT * FROM boroughs;").arrow()
        print("Arrow:", ", ".join(f"{field.name} {field.type}" for field in table.schema))

        frame = engine.query("SELECT * FROM boroughs;").df().set_index("BOROUGH").sort_values("RIDES", ascending=False)
        print("pandas:", frame["RIDES"].sum(), "rides;", ", ".join(frame.index[:3]), "have most")
        print("The same sum in pandas:", f"{rides['amount'].sum():.2f} =", frame["REVENUE"].sum())


if __name__ == "__main__":
    main()
