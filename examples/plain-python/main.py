"""What a persistent query writes, read by a consumer of Kafka, and by the library."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

import ksqlpy

ORDERS = Path(__file__).with_name("orders.csv")

STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM orders (id INT KEY, city STRING, amount DECIMAL(8, 2))
  WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE revenue WITH (KAFKA_TOPIC = 'revenue') AS
SELECT city, COUNT(*) AS orders, SUM(amount) AS total
FROM orders
GROUP BY city
EMIT CHANGES;
"""


def records(brokers: str, topic: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keys and values of a topic with one partition, from its first record to the last one that is there."""
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "plain-python",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        while True:
            message = consumer.poll(1)
            if message is None:
                continue
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                return
            key, value = message.key(), message.value()
            if error is not None or key is None or value is None:
                raise KafkaException(error)
            # The key of a table is text, the value JSON. A DECIMAL keeps its digits as a Decimal.
            yield key.decode(), json.loads(value, parse_float=Decimal)
    finally:
        consumer.close()


def main() -> None:
    """Writes orders, and prints their sums as two readers see them."""
    with ksqlpy.Engine() as engine:
        engine.sql(STATEMENTS)
        with ORDERS.open(encoding="utf-8", newline="") as file:
            engine.insert("orders", csv.DictReader(file))
        [query] = engine.queries()
        query.wait(timeout=300)

        print("The topic has each change of the table:")
        for city, value in records(engine.bootstrap_servers, "revenue"):
            print(f"  {city:7} {value['ORDERS']} {value['TOTAL']:>6}")

        print("The table has the last one of each key:")
        revenue = engine.table("revenue")
        for city, row in sorted(revenue.items()):
            print(f"  {city:7} {row.orders} {row.total:>6}")

        print("One row by its key:")
        print(f"  {revenue['Berlin'].total} in Berlin, {revenue.get('Rome')} in Rome")

        print("Rows of a query:")
        for row in sorted(engine.query("SELECT city, total FROM revenue WHERE total > :least;", least=Decimal(25))):
            print(f"  {row.city:7} {row.total:>10}")


if __name__ == "__main__":
    main()
