"""Partitions and replicas of the topics that queries make: of WITH, else of ksql.sink.*, else of the sources."""

from __future__ import annotations

import pytest

from ksqlpy.analysis import CreateAs, analyze_create
from ksqlpy.catalog import Catalog
from ksqlpy.config import Config
from ksqlpy.sql import parse

SOURCE = "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');"


@pytest.mark.parametrize(
    ("with_", "set_", "partitions", "replicas"),
    [
        ("", {}, None, None),
        ("", {"ksql.sink.partitions": "4", "ksql.sink.replicas": "1"}, 4, 1),
        ("WITH (PARTITIONS = 2)", {"ksql.sink.partitions": "4", "ksql.sink.replicas": "3"}, 2, 3),
        ("WITH (REPLICAS = 2)", {"ksql.sink.partitions": "4"}, 4, 2),
    ],
)
def test_the_topic_of_a_result(
    with_: str, set_: dict[str, object], partitions: int | None, replicas: int | None
) -> None:
    catalog = Catalog()
    for sql in (SOURCE, f"CREATE STREAM o {with_} AS SELECT * FROM s;"):
        [parsed] = parse(sql)
        made = analyze_create(parsed, catalog, Config.of(set_))
        catalog = catalog.with_source(made.source)
    assert isinstance(made, CreateAs)
    assert (made.topic.partitions, made.topic.replicas) == (partitions, replicas)
