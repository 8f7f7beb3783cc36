"""Faust's word_count.py: words of posts are sent on by one agent, and counted in a table by another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ksqlpy

POSTS = Path(__file__).with_name("posts.txt")

STATEMENTS = """
CREATE STREAM posts (body STRING) WITH (KAFKA_TOPIC = 'posts', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- The first agent: a row for each value that the generator below gives.
CREATE STREAM words AS SELECT words_of(body) AS word FROM posts EMIT CHANGES;

-- The second one, and its table. GROUP BY brings equal words together, as the key of a message does there.
CREATE TABLE word_counts AS SELECT word, COUNT(*) AS n FROM words GROUP BY word EMIT CHANGES;
"""


@ksqlpy.udtf
def words_of(body: str) -> Iterator[str]:
    """One row for each word."""
    yield from body.split()


def run(session: ksqlpy.Session) -> None:
    """Sends posts, and prints how often each word is in them."""
    session.register(words_of)
    session.sql(STATEMENTS)
    session.insert("posts", [{"body": line} for line in POSTS.read_text(encoding="utf-8").splitlines()])
    word_counts = session.table("word_counts")
    the = word_counts.get("the", wait=300)
    print("the:", the and the.n)
    for word, row in sorted(word_counts.items()):
        print(f"  {word:6} {row.n}")
