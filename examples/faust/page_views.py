"""Faust's page views: views are grouped by page, and a table counts them, which a web page shows."""

from __future__ import annotations

import csv
from pathlib import Path

import ksqlpy

VIEWS = Path(__file__).with_name("views.csv")

STATEMENTS = """
CREATE STREAM page_views (page STRING, user STRING)
  WITH (KAFKA_TOPIC = 'page_views', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE page_counts AS
SELECT page, COUNT(*) AS views, COUNT_DISTINCT(user) AS visitors
FROM page_views
GROUP BY page
EMIT CHANGES;
"""


def run(session: ksqlpy.Session) -> None:
    """Prints each change of the table while it comes, then a lookup as a view of a web page makes it."""
    session.sql(STATEMENTS)
    with session.query("SELECT page, views, visitors FROM page_counts EMIT CHANGES;") as changes:
        with VIEWS.open(encoding="utf-8", newline="") as file:
            sent = session.insert("page_views", csv.DictReader(file))
        for _, row in zip(range(sent), changes, strict=False):
            print(f"  {row.page:6} {row.views} views by {row.visitors}")
    found = session.table("page_counts").get("/home", wait=300)
    print("/home:", found and found.asdict())
