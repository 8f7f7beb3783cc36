"""A service without brokers and Spark: its command log is a list, its checkpoints are files that tests write."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.analysis import CreateAs, analyze_create
from ksqlpy.backup import LocalPlace, Store, make_backup
from ksqlpy.backup.make import Made
from ksqlpy.catalog import Catalog, PersistentQuery
from ksqlpy.config import Config
from ksqlpy.plan import build_plan, stored
from ksqlpy.runtime.commandlog import FORMAT_VERSION, Entry, query_to_json, source_to_json
from ksqlpy.spark.folder_owner import FILE, FolderOwner
from ksqlpy.sql import parse

SERVICE, CLUSTER = "shop_", "cluster-1"

STATEMENTS = (
    "CREATE STREAM orders (id STRING KEY, item STRING, n INT) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON');",
    "CREATE STREAM big WITH (KAFKA_TOPIC='big') AS SELECT id, n FROM orders WHERE n >= 10;",
    "CREATE TABLE per_item WITH (KAFKA_TOPIC='per_item') AS SELECT item, COUNT(*) AS c FROM orders GROUP BY item;",
)
QUERIES = ("CSAS_BIG_1", "CTAS_PER_ITEM_2")


class Topic:
    """The command log: its entries, and what happens when somebody has read it."""

    topic = "_ksqlpy-shop_command_log"

    def __init__(self) -> None:
        self.values: list[bytes | None] | None = []
        self.id = "topic-1"
        self.next_offset = 0
        self.behind: list[Callable[[], None]] = []
        """What is done after each reading, one after the other."""
        self._catalog = Catalog()

    @property
    def end(self) -> int:
        return len(self.values or ())

    def read(self) -> list[Entry]:
        found = [Entry(i, v) for i, v in enumerate(self.values or ())]
        self.next_offset = len(found)
        if self.behind:
            self.behind.pop(0)()
        return found

    def add(self, statement: str) -> None:
        """Appends the entry that an engine would write."""
        assert self.values is not None
        [parsed] = parse(statement)
        made = analyze_create(parsed, self._catalog, Config.of())
        source, entry = made.source, dict[str, Any](query=None)
        if isinstance(made, CreateAs):
            prefix = "CTAS" if source.kind == "TABLE" else "CSAS"
            query = PersistentQuery(
                f"{prefix}_{source.name}_{len(self.values)}", statement, source.name, ("ORDERS",),
                offsets={"orders": {"0": 0}}, checkpoint_mark="m",
            )  # fmt: skip
            source = replace(source, query=query.id)
            entry = {"query": query_to_json(query), "plan": stored.write(build_plan(made.query))}
        self._catalog = self._catalog.with_source(source)
        self.append({"op": "create", "source": source_to_json(source), **entry})

    def append(self, entry: Mapping[str, Any]) -> None:
        assert self.values is not None
        self.values.append(json.dumps({"version": FORMAT_VERSION, **entry}).encode())


class Brokers:
    """What is asked of Kafka."""

    def __init__(self, log: Topic) -> None:
        self._log = log

    def topic_id(self, topic: str) -> str | None:
        return self._log.id if self._log.values is not None else None

    def topic_setting(self, topic: str, name: str) -> str:
        return "1048588"

    def delete_topics(self, topics: Iterable[str]) -> None:
        self._log.values = None

    def create_topic(self, name: str, partitions: int, replicas: int | None, config: Mapping[str, str]) -> None:
        assert config["retention.ms"] == "-1"
        self._log.values, self._log.id = [], f"{self._log.id}+"


class Shop:
    """A service with two queries, and its folder of checkpoints."""

    def __init__(self, folder: Path, statements: Iterable[str] = STATEMENTS) -> None:
        self.config = Config.of({"ksql.service.id": SERVICE})
        self.id, self.cluster, self.runs = SERVICE, CLUSTER, False
        self.log: Any = Topic()
        self.kafka: Any = Brokers(self.log)
        self.folder, self.data = folder / "data" / "checkpoints", folder / "data"
        for statement in statements:
            self.log.add(statement)

    def topic_id(self) -> str:
        return self.kafka.topic_id("") or ""

    def entries(self) -> list[Entry]:
        return list(self.log.read())

    @property
    def checkpoints(self) -> LocalPlace:
        return LocalPlace(self.folder / SERVICE)

    def begin(self) -> None:
        """The server has signed its folder, and its queries have committed a batch."""
        self.write(FILE, FolderOwner(CLUSTER, SERVICE, self.log.id).text)
        for query in QUERIES:
            self.write(f"{query}/made.json", '{"mark": "m"}')
            self.write(f"{query}/plan.json", '{"plan": "p"}')
            self.write(f"{query}/keys/k1", '{"secret": "s"}')
            self.commit(query, 0)

    def commit(self, query: str, batch: int) -> None:
        """A batch with a state; older ones go."""
        self.write(f"{query}/sink/{batch}", json.dumps({"big": {"0": batch * 10}}))
        self.write(f"{query}/spark/state/0/0/{batch + 1}_aa.changelog", f"changes of {query} {batch}" * 50)
        self.write(f"{query}/spark/state/0/0/{batch + 1}_aa.zip", f"snapshot of {query} {batch}" * 50)
        self.write(f"{query}/spark/offsets/{batch}", f'v1\n{{"orders": {{"0": {batch * 10}}}}}')
        self.write(f"{query}/spark/commits/{batch}", 'v1\n{"unique": "aa"}')
        for kind in ("spark/offsets/{}", "spark/commits/{}", "spark/state/0/0/{}_aa.zip", "sink/{}"):
            (self.folder / SERVICE / query / kind.format(batch - 4)).unlink(missing_ok=True)

    def write(self, name: str, text: str) -> None:
        path = self.folder / SERVICE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self) -> dict[str, str]:
        """All files of the checkpoints."""
        root = self.folder / SERVICE
        return {p.relative_to(root).as_posix(): p.read_text() for p in sorted(root.rglob("*")) if p.is_file()}

    def back_up(self, target: Any, **more: Any) -> Made:
        store = target if isinstance(target, Store) else Store(LocalPlace(target))
        seams: Any = self
        return make_backup(seams, more.pop("checkpoints", self.checkpoints), store, **more)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = Shop(tmp_path)
    made.begin()
    return made
