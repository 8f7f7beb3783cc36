"""An engine without Kafka and Spark for those who ask whether something may be done: what would run is only noted."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from ksqlpy.access import Principal, asking
from ksqlpy.figures import Counts
from ksqlpy.runtime.commandlog import Entry
from ksqlpy.sql import nodes, parse
from ksqlpy.testing.memory import MemoryEngine

EARLIEST = {"auto.offset.reset": "earliest"}

START = """
CREATE STREAM pay_in (id INT KEY, paycol INT) WITH (KAFKA_TOPIC='pay-in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE pay_of (id INT PRIMARY KEY, paycol INT) WITH (KAFKA_TOPIC='pay-of', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM hush_in (id INT KEY, hushcol INT) WITH (KAFKA_TOPIC='hush-in', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE hush_of (id INT PRIMARY KEY, hushcol INT) WITH (KAFKA_TOPIC='hush-of', VALUE_FORMAT='JSON', PARTITIONS=1);
INSERT INTO pay_in VALUES (1, 2);
INSERT INTO hush_in VALUES (1, 2);
CREATE TYPE pay_sort AS STRUCT<paycol INT>;
CREATE TYPE hush_sort AS STRUCT<hushcol INT>;
CREATE STREAM pay_out WITH (QUERY_ID='pay_q') AS SELECT * FROM pay_in;
CREATE STREAM hush_out WITH (QUERY_ID='hush_q') AS SELECT * FROM hush_in;
CREATE STREAM hush_mix WITH (QUERY_ID='hush_reads_pay') AS SELECT * FROM pay_in;
CREATE STREAM pay_mix WITH (QUERY_ID='hush_into_pay') AS SELECT id, hushcol AS paycol FROM hush_in;
CREATE FUNCTION twice(x INT) RETURNS INT LANGUAGE PYTHON AS $$ return x * 2 $$;
CREATE ROLE payments;
GRANT ALL ON ALL LIKE 'pay%' TO payments;
GRANT ALL ON ALL TOPICS LIKE 'pay%' TO payments;
GRANT ALL ON TOPIC 'lush-in' TO payments;
CREATE ROLE feeders;
GRANT INSERT ON pay_in TO feeders;
CREATE ROLE hush_role;
GRANT SELECT ON hush_in TO hush_role;
"""
"""``payments`` has all rights on what its name says, ``feeders`` may write one stream; nobody of them may see HUSH…."""


class AccessEngine(MemoryEngine):
    """``log``: the entries of its command log; ``opened``: what was asked of its topics.

    ``reading``: topics are read, by consumers to which nothing ever comes.
    """

    def __init__(self, start: str = START, *, reading: bool = False) -> None:
        super().__init__(None, number_queries=True)  # type: ignore[arg-type]  # nothing is run
        self.log: list[Entry] = []
        self.opened: list[Any] = []
        append = self.brokers.log.append

        def kept(entry: Mapping[str, Any]) -> int:
            self.log.append(Entry(len(self.log), json.dumps({"version": 1, **entry}).encode()))
            return append(entry)

        seams: Any = self
        seams.brokers.log.append = kept
        seams.brokers.dead_letters = SimpleNamespace(of=lambda query: {}, last_reason=lambda query: None)
        seams.queries.counts = lambda query: Counts()
        seams.reads.copies = SimpleNamespace(figures=lambda name: None)
        seams.broker.reader = lambda **settings: Silent()
        for name in ("pull", "push", "push_plain", "print"):
            setattr(self.reads, name, getattr(self.reads, name) if reading else self._open)
        self.execute(start, EARLIEST)

    def _open(self, asked: Any, *others: Any, **more: Any) -> str:
        self.opened.append(asked)
        return "rows"

    def ask(self, sql: str, principal: Principal | None) -> list[dict[str, Any]]:
        """Runs a text for somebody: statements, or one query; raises KsqlError."""
        with asking(principal):
            if isinstance(parse(sql)[0].node, nodes.Query | nodes.UnionAll | nodes.Print):
                self.query(sql, EARLIEST)
                return [{"@type": "rows"}]
            return self.execute(sql, EARLIEST)


class Silent:
    """A consumer to which nothing comes."""

    def assign(self, partitions: object) -> None:
        pass

    def poll(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.02))

    def close(self) -> None:
        pass


def somebody(*roles: str, name: str = "ann") -> Principal:
    """A principal with these roles."""
    return Principal(name, frozenset(roles), "basic")
