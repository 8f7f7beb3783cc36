"""Each result comes once, whatever ends between two checkpoints: queries that pause, engines that stop."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.runtime import Engine
from ksqlpy.spark import header
from tests.runtime.lifecycle import EARLIEST, all_live, configured, read, read_all, send
from tests.support.waiting import until


@pytest.fixture
def config(broker: EmbeddedKafka, tmp_path: Path, request: pytest.FixtureRequest) -> Config:
    return configured(broker, tmp_path, request.node.name)


SOURCES = """
CREATE STREAM orders (id STRING KEY, item STRING, n INT)
  WITH (KAFKA_TOPIC = '{t}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE items (item STRING PRIMARY KEY, version INT)
  WITH (KAFKA_TOPIC = '{t}_items', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""
QUERIES = {
    "big": "CREATE STREAM big WITH (KAFKA_TOPIC = '{t}_big') AS SELECT id, n FROM orders WHERE n >= 10;",
    "per_item": "CREATE TABLE per_item WITH (KAFKA_TOPIC = '{t}_per_item') AS"
    " SELECT item, COUNT(*) AS orders, SUM(n) AS total FROM orders GROUP BY item;",
    "priced": "CREATE STREAM priced WITH (KAFKA_TOPIC = '{t}_priced') AS"
    " SELECT orders.item AS item, n, version FROM orders JOIN items ON orders.item = items.item;",
    "per_version": "CREATE TABLE per_version WITH (KAFKA_TOPIC = '{t}_per_version') AS"
    " SELECT version, COUNT(*) AS orders FROM orders JOIN items ON orders.item = items.item GROUP BY version;",
    "per_minute": "CREATE TABLE per_minute WITH (KAFKA_TOPIC = '{t}_per_minute') AS"
    " SELECT item, COUNT(*) AS orders FROM orders WINDOW TUMBLING (SIZE 1 DAY) GROUP BY item;",
}


def orders(first: int, count: int) -> list[tuple[str, object, int]]:
    """Orders of three items, each item's rows in both partitions."""
    return [(f"o{n}", {"ITEM": f"i{n % 3}", "N": n}, n % 2) for n in range(first, first + count)]


FURTHER = pytest.mark.extended("exactly once whatever ends, of further kinds of queries")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("big", "per_item", "per_version"), id="some"),
        pytest.param(tuple(QUERIES), id="all", marks=FURTHER),
    ],
)
def test_no_result_is_repeated_whatever_ends(spark: SparkSession, config: Config, names: Sequence[str]) -> None:
    """Twice paused and resumed, once stopped and started, between checkpoints: each result comes once, in order."""
    t, first = f"eo{len(names)}", Engine(config)
    first.start()
    try:
        first.execute(SOURCES.format(t=t))
        # What is in a table's topic before a query is made, the query reads before it goes live.
        send(first, f"{t}_items", [(f"i{i}", {"VERSION": 1}, i % 2) for i in range(3)])
        first.execute("".join(QUERIES[name] for name in names).format(t=t), EARLIEST)
        assert until(lambda: all_live(first))
        time.sleep(1)
        send(first, f"{t}_orders", orders(0, 30))
        assert len(read(first, f"{t}_per_item", 30)) == 30
        for begin in (30, 60):
            first.execute("PAUSE ALL;")
            assert {q["state"] for q in first.execute("SHOW QUERIES;")[0]["queries"]} == {"PAUSED"}
            send(first, f"{t}_orders", orders(begin, 10))
            first.execute("RESUME ALL;")
            send(first, f"{t}_orders", orders(begin + 10, 20))
            assert len(read(first, f"{t}_per_item", begin + 30)) == begin + 30
    finally:
        first.stop()
    second = Engine(config)
    second.start()
    try:
        send(second, f"{t}_orders", orders(90, 10))
        counts = {f"{t}_{name}": 90 if name == "big" else 100 for name in names}
        found = dict(zip(names, read_all(second, counts), strict=True))
    finally:
        second.stop()
    assert sorted(v["N"] for _, v in found["big"]) == list(range(10, 100))
    for name in {"per_item", "per_minute"} & set(names):
        for item in (b"i0", b"i1", b"i2"):
            counts = [v["ORDERS"] for k, v in found[name] if k is not None and k.startswith(item)]
            assert counts == list(range(1, len(counts) + 1))
        assert len(found[name]) == 100
    last = {k: v for k, v in found["per_item"]}
    assert [last[b"i%d" % i]["TOTAL"] for i in range(3)] == [sum(range(i, 100, 3)) for i in range(3)]
    assert [v["ORDERS"] for _, v in found["per_version"]] == list(range(1, 101))
    if "priced" in names:
        assert sorted(v["N"] for _, v in found["priced"]) == list(range(100))


SEVERAL = """
CREATE STREAM carts (id STRING KEY, goods ARRAY<STRING>)
  WITH (KAFKA_TOPIC = '{t}_carts', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE drivers (id STRING PRIMARY KEY, city STRING, n INT)
  WITH (KAFKA_TOPIC = '{t}_drivers', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM goods WITH (KAFKA_TOPIC = '{t}_goods') AS SELECT id, EXPLODE(goods) AS good FROM carts;
CREATE TABLE cities WITH (KAFKA_TOPIC = '{t}_cities') AS
  SELECT city, COUNT(*) AS drivers, SUM(n) AS total, COLLECT_LIST(n) AS numbers FROM drivers GROUP BY city;
CREATE TABLE lived_in WITH (KAFKA_TOPIC = '{t}_lived_in') AS
  SELECT city, COUNT(*) AS drivers, SUM(n) AS total FROM drivers GROUP BY city HAVING COUNT(*) > 0;
"""


def moves(first: int, count: int) -> list[tuple[str, object, int]]:
    """Six drivers, each in one partition, move from city to city."""
    return [(f"d{n % 6}", {"CITY": f"c{n * n % 7 % 3}", "N": n}, n % 2) for n in range(first, first + count)]


def cities(rows: Sequence[tuple[str, object, int]]) -> tuple[dict[str, set[int]], int]:
    """By city the last N of each driver who is there, and how many results there must have been."""
    there: dict[str, tuple[str, int]] = {}
    results = 0
    for key, value, _ in rows:
        assert isinstance(value, dict)
        results += 1 if key not in there or there[key][0] == value["CITY"] else 2
        there[key] = (value["CITY"], value["N"])
    return {c: {n for city, n in there.values() if city == c} for c, _ in there.values()}, results


@FURTHER
def test_several_results_of_one_record_come_once_each(spark: SparkSession, config: Config) -> None:
    """Items of arrays, and the old and the new group of a table's row: none is lost or repeated by a restart."""
    sent: list[tuple[str, object, int]] = []
    carts = [(f"k{n}", {"GOODS": [f"{n}.{i}" for i in range(n % 4)]}, n % 2) for n in range(60)]
    items = [[f"{n}.{i}" for n in range(top) for i in range(n % 4)] for top in (20, 40, 60)]
    first = Engine(config)
    first.start()
    try:
        first.execute(SEVERAL.format(t="sr"), EARLIEST)
        assert until(lambda: all_live(first))
        for step in (0, 1):
            if step:
                first.execute("PAUSE ALL;")
            send(first, "sr_carts", carts[step * 20 : step * 20 + 20])
            sent += moves(step * 40, 40)
            send(first, "sr_drivers", sent[-40:])
            if step:
                first.execute("RESUME ALL;")
            wanted = {"sr_goods": len(items[step]), "sr_cities": cities(sent)[1]}
            assert [*map(len, read_all(first, wanted))] == [*wanted.values()]
    finally:
        first.stop()
    second = Engine(config)
    second.start()
    try:
        send(second, "sr_carts", carts[40:])
        sent += moves(80, 40)
        send(second, "sr_drivers", sent[-40:])
        there, results = cities(sent)
        wanted = {"sr_goods": len(items[2]), "sr_cities": results, "sr_lived_in": results}
        goods, changes, lived_in = read_all(second, wanted)
    finally:
        second.stop()
    assert sorted(str(v["GOOD"]) for _, v in goods) == sorted(items[2])
    for cart in {k for k, _ in goods}:
        found = [v["GOOD"] for k, v in goods if k == cart]
        assert found == sorted(found, key=str)
    assert len(changes) == len(lived_in) == results
    for found in (changes, lived_in):
        last = {(k or b"").decode(): v for k, v in found}
        for city, numbers in there.items():
            assert (last[city]["DRIVERS"], last[city]["TOTAL"]) == (len(numbers), sum(numbers))
    for city in there:
        # Each result is one change away from the one before it.
        before: list[int] = []
        for value in (v for k, v in changes if (k or b"").decode() == city):
            now = value["NUMBERS"]
            assert isinstance(now, list) and len(set(before) ^ set(now)) in (1, 2)
            assert value["DRIVERS"] == len(now) and value["TOTAL"] == sum(now)
            before = now


TABLES = """
CREATE TABLE people (id STRING PRIMARY KEY, k INT, n INT, team STRING)
  WITH (KAFKA_TOPIC = '{t}_people', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE desks (id STRING PRIMARY KEY, n INT)
  WITH (KAFKA_TOPIC = '{t}_desks', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE either WITH (KAFKA_TOPIC = '{t}_either') AS
  SELECT ROWKEY AS id, p.n AS p, d.n AS d FROM people p FULL JOIN desks d ON p.id = d.id;
CREATE TABLE odd WITH (KAFKA_TOPIC = '{t}_odd') AS
  SELECT p.id AS id, p.n AS p, d.n AS d FROM people p JOIN desks d ON p.id = d.id WHERE (p.n + d.n) % 3 <> 0;
CREATE TABLE teams WITH (KAFKA_TOPIC = '{t}_teams') AS
  SELECT team, COUNT(*) AS people, COLLECT_LIST(p.n * 1000 + d.n * 10 + p.k) AS numbers
  FROM people p JOIN desks d ON p.id = d.id GROUP BY team;
"""


def versions(first: int, count: int, keys: int = 5) -> list[tuple[str, object, int]]:
    """New versions of the rows of both tables, each key in one partition."""
    return [
        (f"k{n % keys}", {"K": n % keys, "N": n // keys + 1, "TEAM": f"t{n * n % 7 % 3}"}, n % keys % 2)
        for n in range(first, first + count)
    ]


@FURTHER
def test_joined_tables_take_each_change_once_whatever_ends(spark: SparkSession, config: Config) -> None:
    """Paused, resumed, stopped and started between checkpoints: no version of a row is skipped, repeated or undone."""
    step = 40

    def feed(engine: Engine, number: int) -> None:
        # Alternately, so that both tables' rows meet in ever other orders.
        for begin in range(number * step, number * step + step, 4):
            send(engine, "tj_people", versions(begin, 4))
            send(engine, "tj_desks", versions(begin, 4))

    first = Engine(config)
    first.start()
    try:
        first.execute(TABLES.format(t="tj"), EARLIEST)
        assert until(lambda: all_live(first))
        feed(first, 0)
        assert len(read(first, "tj_either", 2 * step)) == 2 * step
        first.execute("PAUSE ALL;")
        feed(first, 1)
        first.execute("RESUME ALL;")
        feed(first, 2)
        assert len(read(first, "tj_either", 6 * step)) == 6 * step
    finally:
        first.stop()
    second = Engine(config)
    second.start()
    try:
        assert until(lambda: all_live(second))
        feed(second, 3)
        either = read(second, "tj_either", 8 * step)
        odd, teams = read_all(second, {"tj_odd": 1, "tj_teams": 1})
    finally:
        second.stop()
    assert len(either) == 8 * step
    last = 4 * step // 5
    for key in {k for k, _ in either}:
        versions_seen = [(v["P"] or 0, v["D"] or 0) for k, v in either if k == key]
        before = (0, 0)
        for now in versions_seen:  # one of the two goes one version on, each time
            assert sorted((now[0] - before[0], now[1] - before[1])) == [0, 1], (key, versions_seen)
            before = now
        assert before == (last, last)
        sums = [v["P"] + v["D"] if v else None for k, v in odd if k == key]
        assert sums[-1] == (2 * last if 2 * last % 3 else None)
        passed = [s for s in sums if s is not None]
        assert passed == sorted(set(passed)) and all(s % 3 for s in passed)
        assert not any(a is None and b is None for a, b in itertools.pairwise(sums))
    final = {k: v for k, v in teams}
    newest = [v for _, v, _ in versions(4 * step - 5, 5)]
    for team in {k for k, _ in teams}:
        there = [v for v in newest if isinstance(v, dict) and v["TEAM"].encode() == team]
        assert sorted(final[team]["NUMBERS"]) == sorted(v["N"] * 1000 + last * 10 + v["K"] for v in there)
        held: set[int] = set()
        for value in (v for k, v in teams if k == team):
            now = set(value["NUMBERS"])
            assert len(held ^ now) in (1, 2) and len(now) == value["PEOPLE"]
            held = now


COMPOSED = """
CREATE STREAM carts (id STRING KEY, n INT, goods ARRAY<STRING>)
  WITH (KAFKA_TOPIC = '{t}_carts', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM orders (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC = '{t}_orders', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM everything WITH (KAFKA_TOPIC = '{t}_everything') AS
  SELECT id, n, 'cart' AS what FROM carts
  UNION ALL SELECT id, n, 'order' FROM orders
  UNION ALL SELECT id, n, 'again' FROM orders WHERE n >= 0;
CREATE TABLE per_good WITH (KAFKA_TOPIC = '{t}_per_good') AS
  SELECT good, COUNT(*) AS carts, SUM(n) AS total FROM (SELECT n, EXPLODE(goods) AS good FROM carts) GROUP BY good;
CREATE TABLE often WITH (KAFKA_TOPIC = '{t}_often') AS
  SELECT good, COUNT(*) AS carts FROM (SELECT EXPLODE(goods) AS good FROM carts) GROUP BY good HAVING COUNT(*) > 2;
CREATE TABLE per_day WITH (KAFKA_TOPIC = '{t}_per_day') AS
  WITH items AS (SELECT EXPLODE(goods) AS good FROM carts)
  SELECT good, COUNT(*) AS carts FROM items WINDOW HOPPING (SIZE 2 DAYS, ADVANCE BY 1 DAY) GROUP BY good;
CREATE TABLE per_source WITH (KAFKA_TOPIC = '{t}_per_source') AS
  WITH ordered AS (SELECT 'order', n FROM orders), both AS (
    SELECT 'cart' AS what, n FROM carts UNION ALL SELECT * FROM ordered UNION ALL SELECT * FROM ordered)
  SELECT what, COUNT(*) AS records, SUM(n) AS total FROM both GROUP BY what;
"""


def coordinates(engine: Engine, topic: str) -> list[tuple[int, int, int]]:
    """What the headers say of each result of the topic: its place, its offset, and which of the record's it is."""
    ends = engine.kafka.offsets(engine.kafka.partitions([topic]), latest=True)[topic]
    reader = engine.kafka.reader()
    reader.assign([TopicPartition(topic, int(p), 0) for p in ends])
    found = []
    for _ in range(sum(ends.values())):
        message = reader.poll(10)
        assert message is not None and message.error() is None
        at = header.coordinates(next(v for n, v in message.headers() if n == header.HEADER))
        found.append((at.place, at.offset, at.window))
    reader.close()
    return found


@FURTHER
def test_composed_queries_come_once_each(spark: SparkSession, config: Config) -> None:
    """Branches of a union, two of them over one topic, and items that are grouped: none is lost or repeated."""
    # Each cart holds one good twice: two results of one record in one group.
    carts = [(f"k{n}", {"N": n, "GOODS": [f"g{n % 3}", "all", f"g{n % 3}"]}, n % 2) for n in range(60)]
    orders = [(f"o{n}", {"N": n}, n % 2) for n in range(60)]
    first = Engine(config)
    first.start()
    try:
        first.execute(COMPOSED.format(t="co"), EARLIEST)
        assert until(lambda: all_live(first))
        for begin in (0, 20):
            if begin:
                first.execute("PAUSE ALL;")
            send(first, "co_carts", carts[begin : begin + 20])
            send(first, "co_orders", orders[begin : begin + 20])
            if begin:
                first.execute("RESUME ALL;")
            wanted = dict.fromkeys(("co_everything", "co_per_good"), 3 * (begin + 20))
            assert [*map(len, read_all(first, wanted))] == [*wanted.values()]
    finally:
        first.stop()
    second = Engine(config)
    second.start()
    try:
        send(second, "co_carts", carts[40:])
        send(second, "co_orders", orders[40:])
        wanted = {"co_everything": 180, "co_per_good": 180, "co_often": 172, "co_per_day": 360, "co_per_source": 180}
        everything, per_good, often, per_day, per_source = read_all(second, wanted)
        told = {t: coordinates(second, f"co_{t}") for t in ("everything", "per_good", "often", "per_day", "per_source")}
    finally:
        second.stop()
    for topic, places in told.items():
        assert len(set(places)) == len(places), topic
    # Topic and partition of each source record, the topics in the order of the branches.
    assert {place for place, _, _ in told["everything"]} == {0, 1, 1 << 16, 1 << 16 | 1}
    assert sorted((str(v["WHAT"]), v["N"]) for _, v in everything) == sorted(
        (what, n) for what in ("cart", "order", "again") for n in range(60)
    )
    by_good = {good: [v for k, v in per_good if k == good.encode()] for good in ("g0", "g1", "g2", "all")}
    assert {good: len(found) for good, found in by_good.items()} == {"g0": 40, "g1": 40, "g2": 40, "all": 60}
    for good, found in by_good.items():
        assert [v["CARTS"] for v in found] == list(range(1, len(found) + 1))
        assert [v["CARTS"] for k, v in often if k == good.encode()] == list(range(3, len(found) + 1))
    assert by_good["all"][-1]["TOTAL"] == sum(range(60))
    assert by_good["g1"][-1]["TOTAL"] == 2 * sum(range(1, 60, 3))
    for key in {k for k, _ in per_day}:
        counts = [v["CARTS"] for k, v in per_day if k == key]
        assert counts == list(range(1, len(counts) + 1))
    assert len(per_day) == 2 * 180
    for what, count in (("cart", 60), ("order", 120)):
        results = [v for k, v in per_source if k == what.encode()]
        assert [v["RECORDS"] for v in results] == list(range(1, count + 1))
        assert results[-1]["TOTAL"] == sum(range(60)) * count // 60


JOINED = """
CREATE STREAM calls (line STRING KEY, n INT)
  WITH (KAFKA_TOPIC = '{t}_calls', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM answers (line STRING KEY, n INT)
  WITH (KAFKA_TOPIC = '{t}_answers', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE shops (id STRING PRIMARY KEY, city STRING)
  WITH (KAFKA_TOPIC = '{t}_shops', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE cities (id STRING PRIMARY KEY, n INT)
  WITH (KAFKA_TOPIC = '{t}_cities', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM pairs WITH (KAFKA_TOPIC = '{t}_pairs') AS
  SELECT c.line AS line, c.n AS call, a.n AS answer FROM calls c JOIN answers a
  WITHIN 1 DAY GRACE PERIOD 1 DAY ON c.line = a.line;
CREATE TABLE placed WITH (KAFKA_TOPIC = '{t}_placed') AS
  SELECT s.id AS id, s.city AS city, c.n AS n FROM shops s JOIN cities c ON s.city = c.id;
"""


@FURTHER
def test_results_say_of_which_topic_the_record_is_that_brought_them_about(spark: SparkSession, config: Config) -> None:
    """Records of two topics that have the same partition and offset are different ones, also after a restart."""
    first = Engine(config)
    first.start()
    try:
        first.execute(JOINED.format(t="jo"), EARLIEST)
        assert until(lambda: all_live(first))
        for topic in ("jo_calls", "jo_answers"):
            send(first, topic, [(f"l{n % 4}", {"N": n}, n % 2) for n in range(8)])
        send(first, "jo_shops", [(f"s{n}", {"CITY": f"c{n % 4}"}, n % 2) for n in range(8)])
        read(first, "jo_pairs", 16)
        for number in (1, 2):
            send(first, "jo_cities", [(f"c{n}", {"N": number}, n % 2) for n in range(4)])
            read(first, "jo_placed", 8 * number)
    finally:
        first.stop()
    second = Engine(config)
    second.start()
    try:
        assert until(lambda: all_live(second))
        for topic in ("jo_answers", "jo_calls"):
            send(second, topic, [(f"l{n % 4}", {"N": n}, n % 2) for n in range(8, 16)])
        pairs, placed = read_all(second, {"jo_pairs": 64, "jo_placed": 16})
        told = {t: coordinates(second, f"jo_{t}") for t in ("pairs", "placed")}
    finally:
        second.stop()
    assert sorted((str(v["CALL"]), str(v["ANSWER"])) for _, v in pairs) == sorted(
        (str(c), str(a)) for c in range(16) for a in range(16) if c % 4 == a % 4
    )
    assert sorted((str(k), v["CITY"], v["N"]) for k, v in placed) == sorted(
        (str(b"s%d" % n), f"c{n % 4}", number) for n in range(8) for number in (1, 2)
    )
    for topic, places in told.items():
        assert len(set(places)) == len(places), topic
    # The last record is a call, and shops that were there get their cities' rows.
    assert {place >> 16 for place, _, _ in told["pairs"]} == {0, 1}
    assert {place for place, _, _ in told["placed"]} == {1 << 16, 1 << 16 | 1}
