"""Results that are too large for their topic, and records that are too large for a dead letter, on a real broker."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from pyspark.sql import SparkSession

from ksqlpy.config import Config
from ksqlpy.deadletters import Letter, read_letters, replay
from ksqlpy.deadletters.letters import records
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import ConfigProblem
from ksqlpy.runtime import Engine
from ksqlpy.spark.query_status import State
from tests.support.waiting import until as wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

EARLIEST = {"auto.offset.reset": "earliest"}
until = partial(wait_until, seconds=240)
GUARANTEES = ("exactly_once", "at_least_once")
LETTERS = string.ascii_letters + string.digits
LIMIT = 1_048_588
"""Kafka's default of ``max.message.bytes``."""


def started(broker: EmbeddedKafka, folder: Path, **more: str) -> Engine:
    """An engine whose service has the name of its folder."""
    values = {
        "bootstrap.servers": broker.bootstrap,
        "ksql.service.id": f"{folder.name}_",
        "ksqlpy.data.dir": str(folder),
        "ksqlpy.warm.up": "false",
    }
    made = Engine(Config.of({**values, **more}))
    made.start()
    return made


@pytest.fixture(scope="module")
def engine(spark: SparkSession, broker: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = started(broker, tmp_path_factory.mktemp("large"))
    yield made
    made.stop()


def topic(engine: Engine, name: str, partitions: int = 1, **config: object) -> None:
    settings = {n.replace("_", "."): str(v) for n, v in config.items()}
    engine.kafka.create_topic(name, partitions, None, settings)


def source(engine: Engine, name: str, partitions: int = 1) -> None:
    """A stream of texts, whose records may have 20 MB."""
    topic(engine, name, partitions, max_message_bytes=20_000_000)
    engine.execute(f"CREATE STREAM {name} (k STRING KEY, t STRING) WITH (kafka_topic='{name}', value_format='JSON');")


def texts(engine: Engine, name: str, *given: tuple[str, str], partition: int = 0) -> None:
    write(engine, name, *((k, json.dumps({"T": t}).encode()) for k, t in given), partition=partition)


def write(engine: Engine, name: str, *given: tuple[str, bytes], partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": engine.bootstrap, "message.max.bytes": 20_000_000, "linger.ms": 0})
    for key, value in given:
        producer.produce(name, key=key.encode(), value=value, partition=partition, headers=[("trace", b"1")])
    producer.flush(30)


def messages(engine: Engine, name: str) -> list[Message]:
    return list(records(engine.connection, {name: {}}))


def letters(engine: Engine, query: str) -> list[Letter]:
    found = read_letters(engine.connection, engine.topics.dead_letters).letters
    return [letter for letter in found if letter.query == query]


def running(engine: Engine, query: str) -> bool:
    return engine.queries.status(query).state is State.RUNNING


def failures(engine: Engine, query: str) -> list[str]:
    found = engine.queries.get(query)
    assert found is not None
    return [f.message for f in found.failures]


def restarted(engine: Engine, query: str) -> None:
    engine.execute(f"PAUSE {query}; RESUME {query};")
    assert until(partial(running, engine, query)), failures(engine, query)


# ------------------------------------------------------------ results

SHAPES: Mapping[str, str] = {
    "plain": "CREATE STREAM {0} WITH (query_id='{0}', value_format='JSON') AS SELECT k, CONCAT(t, t) AS t FROM {1};",
    "inserted": "CREATE STREAM {0} (k STRING KEY, t STRING)"
    " WITH (kafka_topic='{0}', value_format='JSON', partitions=1);"
    "INSERT INTO {0} WITH (query_id='{0}') SELECT k, CONCAT(t, t) AS t FROM {1};",
    "exploded": "CREATE STREAM {0} WITH (query_id='{0}', value_format='JSON') AS"
    " SELECT k, EXPLODE(ARRAY[t, CONCAT(t, t)]) AS t FROM {1};",
    "grouped": "CREATE TABLE {0} WITH (query_id='{0}', value_format='JSON') AS"
    " SELECT k, COLLECT_LIST(CONCAT(t, t)) AS t, COUNT(*) AS n FROM {1} GROUP BY k;",
    "windowed": "CREATE TABLE {0} WITH (query_id='{0}', value_format='JSON') AS"
    " SELECT k, COLLECT_LIST(CONCAT(t, t)) AS t FROM {1} WINDOW TUMBLING (SIZE 1 DAY) GROUP BY k;",
    "sessions": "CREATE TABLE {0} WITH (query_id='{0}', value_format='JSON') AS"
    " SELECT k, COLLECT_LIST(CONCAT(t, t)) AS t FROM {1} WINDOW SESSION (1 DAY) GROUP BY k;",
    "having": "CREATE TABLE {0} WITH (query_id='{0}', value_format='JSON') AS"
    " SELECT k, COLLECT_LIST(CONCAT(t, t)) AS t FROM {1} GROUP BY k HAVING COUNT(*) > 0;",
}
LARGE = "x" * 600_000
FURTHER = pytest.mark.extended("results that are too large of further kinds of queries, at least once, and to the byte")


@pytest.mark.parametrize(
    ("guarantee", "shapes"),
    [
        pytest.param("exactly_once", ("plain", "exploded", "sessions"), id="exactly_once"),
        pytest.param("exactly_once", ("inserted", "grouped", "windowed", "having"), id="further", marks=FURTHER),
        pytest.param("at_least_once", tuple(SHAPES), id="at_least_once", marks=FURTHER),
    ],
)
def test_a_result_that_is_too_large_is_a_dead_letter(engine: Engine, guarantee: str, shapes: Sequence[str]) -> None:
    name = f"in_{guarantee[:2]}_{shapes[0]}"
    source(engine, name)
    properties = {**EARLIEST, "processing.guarantee": guarantee, "commit.interval.ms": "3600000"}
    queries = {shape: f"{shape}_{guarantee[:2]}".upper() for shape in shapes}
    for shape, query in queries.items():
        engine.execute(SHAPES[shape].format(query, name), properties)
    texts(engine, name, ("a", "1"), ("b", LARGE), ("c", "3"))
    for query in queries.values():
        assert until(lambda: letters(engine, query)), (query, failures(engine, query))  # noqa: B023

    def keys(query: str) -> set[bytes]:
        return {(m.key() or b"")[:1] for m in messages(engine, query) if m.value() is not None}

    def one(query: str) -> Letter:
        [letter] = letters(engine, query)
        return letter

    for shape, query in queries.items():
        assert until(lambda: keys(query) >= {b"a", b"c"}), shape  # noqa: B023
        letter = one(query)
        assert (letter.topic, letter.partition, letter.offset, letter.result) == (name, 0, 1, query), shape
        assert letter.key is not None
        assert letter.key.startswith(b"b")
        assert letter.cut is not None
        whole = int(letter.cut.partition(":")[2])
        assert whole > 1_200_000
        assert letter.value is not None
        assert len(letter.value) > LIMIT - 2000  # as much as fits
        assert whole < int(letter.reason.removeprefix("too large: it has ").split()[0]) < whole + 500
        assert "the producer sends 1048576 (max.request.size, buffer.memory)" in letter.reason
        assert failures(engine, query) == [], shape
        assert "dead letters: 1" in str(engine.execute(f"DESCRIBE {query} EXTENDED;")[0]), shape

    # What is behind the last checkpoint is gone through again: with exactly_once nothing comes twice.
    before = {q: (len(messages(engine, q)), len(letters(engine, q))) for q in queries.values()}
    engine.execute("".join(f"PAUSE {q};" for q in queries.values()))
    engine.execute("".join(f"RESUME {q};" for q in queries.values()))
    for query in queries.values():
        assert until(partial(running, engine, query)), failures(engine, query)
    texts(engine, name, ("d", "4"))
    for shape, query in queries.items():
        assert until(lambda: b"d" in keys(query)), shape  # noqa: B023
        if guarantee == "exactly_once":
            more = 2 if shape == "exploded" else 1
            results, dead = before[query]
            assert (len(messages(engine, query)), len(letters(engine, query))) == (results + more, dead), shape
        assert failures(engine, query) == [], shape
    marks = [dict(m.headers() or ()) for m in messages(engine, engine.topics.dead_letters)]
    mine = [m for m in marks if m.get("ksqlpy.query") in {q.encode() for q in queries.values()}]
    assert all(("ksqlpy.at" in m) == (guarantee == "exactly_once") for m in mine)
    assert all(m["trace"] == b"1" for m in mine if m["ksqlpy.query"].startswith((b"PLAIN", b"INSERTED")))
    engine.execute("".join(f"TERMINATE {q};" for q in queries.values()))


@FURTHER
def test_the_state_goes_on_with_it(engine: Engine) -> None:
    """Rows of several partitions meet; what was set aside is in the state after a restart, and its letters stay."""
    source(engine, "met", partitions=2)
    engine.execute(
        "CREATE TABLE sums WITH (query_id='SUMS', value_format='JSON') AS"
        " SELECT 'all' AS k, SUM(LEN(t)) AS s, IFNULL(LATEST_BY_OFFSET(t), '') AS t FROM met GROUP BY 'all';"
        "CREATE TABLE counts WITH (query_id='COUNTS', value_format='JSON') AS"
        " SELECT k, COUNT(*) AS n, COLLECT_LIST(t) AS l FROM met GROUP BY k;",
        {**EARLIEST, "commit.interval.ms": "3600000"},
    )
    for i in range(4):
        texts(engine, "met", ("x", LARGE), partition=i % 2)
    texts(engine, "met", ("y", "1"), partition=1)
    assert until(lambda: len(letters(engine, "COUNTS")) == 3)
    assert until(lambda: [m for m in messages(engine, "COUNTS") if m.key() == b"y"])
    for round_ in range(2):
        engine.execute("PAUSE SUMS; PAUSE COUNTS; RESUME SUMS; RESUME COUNTS;")
        for query in ("SUMS", "COUNTS"):
            assert until(partial(running, engine, query)), failures(engine, query)
        texts(engine, "met", ("y", "1"), ("z", "1"), partition=0)
        assert until(lambda: sum(m.key() == b"z" for m in messages(engine, "COUNTS")) == round_ + 1)  # noqa: B023
        assert len(letters(engine, "COUNTS")) == 3
        last = [json.loads(m.value() or b"")["N"] for m in messages(engine, "COUNTS") if m.key() == b"y"]
        assert last == list(range(1, round_ + 3))
        wanted = 4 * len(LARGE) + 1 + 2 * (round_ + 1)
        assert until(lambda: json.loads(messages(engine, "SUMS")[-1].value() or b"")["S"] == wanted)  # noqa: B023
    texts(engine, "met", ("x", "1"), partition=0)
    assert until(lambda: len(letters(engine, "COUNTS")) == 4)
    engine.execute("TERMINATE SUMS; TERMINATE COUNTS;")


@FURTHER
def test_to_the_byte(engine: Engine) -> None:
    """What the brokers take is written, and all else is set aside: the query never fails of it."""
    source(engine, "bytes")
    for name, config in {"KEPT": {}, "PACKED": {"compression_type": "lz4"}}.items():
        topic(engine, name, max_message_bytes=20_000, **config)
        engine.execute(
            f"CREATE STREAM {name} WITH (kafka_topic='{name}', query_id='{name}', value_format='KAFKA') AS"
            " SELECT k, CONCAT(t, 'x') AS t FROM bytes;",
            EARLIEST,
        )
    chance = random.Random(1)
    lengths = list(range(19_700, 20_100))
    texts(engine, "bytes", *(("k", "".join(chance.choices(LETTERS, k=length))) for length in lengths))
    for name in ("KEPT", "PACKED"):
        assert until(lambda: len(letters(engine, name)) + len(messages(engine, name)) >= len(lengths)), name  # noqa: B023
        there = [len(m.value() or b"") - 1 for m in messages(engine, name)]
        aside = [int((x.cut or f":{len(x.value or b'')}").partition(":")[2]) - 1 for x in letters(engine, name)]
        assert sorted(there + aside) == lengths, name
        assert there
        assert aside
        assert failures(engine, name) == []
    kept = [len(m.value() or b"") for m in messages(engine, "KEPT")]
    assert max(kept) + 1 == min(len(x.value or b"") for x in letters(engine, "KEPT"))
    assert all(x.cut is None for x in letters(engine, "KEPT"))  # the topic of dead letters takes more
    assert all("the topic takes 20000 (max.message.bytes" in x.reason for x in letters(engine, "KEPT"))

    # A limit that is lowered meanwhile: the brokers refuse, and the query reads the limits again when it starts.
    place = ConfigResource(ConfigResource.Type.TOPIC, "KEPT")
    place.add_incremental_config(ConfigEntry("max.message.bytes", "10000", incremental_operation=AlterConfigOpType.SET))
    admin = AdminClient({"bootstrap.servers": engine.bootstrap})
    [done] = admin.incremental_alter_configs([place]).values()
    done.result(30)
    assert until(lambda: engine.kafka.topic_setting("KEPT", "max.message.bytes") == "10000")
    before = len(letters(engine, "KEPT"))

    def refused() -> bool:
        """Whether the log, which takes the setting some time after the broker tells it, refuses such a record."""
        texts(engine, "bytes", ("k", "y" * 15_000))
        return wait_until(lambda: len(letters(engine, "KEPT")) > before, seconds=2)

    assert until(refused)
    texts(engine, "bytes", ("k", "end"))
    assert until(lambda: (messages(engine, "KEPT")[-1].value() or b"") == b"endx")
    last = letters(engine, "KEPT")[before]
    assert last.value == b"y" * 15_000 + b"x"
    assert "the topic takes 10000" in last.reason
    assert any("RecordTooLarge" in f or "larger" in f for f in failures(engine, "KEPT"))
    engine.execute("TERMINATE KEPT; TERMINATE PACKED;")


def test_a_mended_result_is_written(engine: Engine) -> None:
    source(engine, "mend")
    engine.execute(
        "CREATE STREAM mended WITH (query_id='MENDED', value_format='KAFKA') AS SELECT k, CONCAT(t, t) AS t FROM mend;",
        EARLIEST,
    )
    texts(engine, "mend", ("k", LARGE))
    assert until(lambda: letters(engine, "MENDED"))
    known = read_letters(engine.connection, engine.topics.dead_letters)
    [mine] = letters(engine, "MENDED")
    assert replay(engine.connection, known, [mine]) == 0  # a part of it is not it
    assert replay(engine.connection, known, [replace(mine, value=b"short")]) == 1
    [back] = messages(engine, "MENDED")
    assert (back.key(), back.value()) == (b"k", b"short")
    engine.execute("TERMINATE MENDED;")


# ------------------------------------------------------------ dead letters and late records


@FURTHER
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_dead_letter_is_cut_to_what_fits(engine: Engine, guarantee: str) -> None:
    name, query = f"broken_{guarantee[:2]}", f"READ_{guarantee[:2]}".upper()
    topic(engine, name, max_message_bytes=20_000_000)
    engine.execute(f"CREATE STREAM {name} (k STRING KEY, v INT) WITH (kafka_topic='{name}', value_format='JSON');")
    properties = {**EARLIEST, "processing.guarantee": guarantee, "commit.interval.ms": "3600000"}
    engine.execute(f"CREATE STREAM o_{name} WITH (query_id='{query}') AS SELECT k, v FROM {name};", properties)
    push = engine.query(f"SELECT v * 2 AS v FROM {name} EMIT CHANGES LIMIT 2;", EARLIEST)
    huge = b'{"v":' + b" " * 4_000_000
    key = "k" * 2_000_000
    write(engine, name, ("a", b'{"v":1}'), ("b", huge), (key, huge), ("c", b'{"v":2}'))
    assert until(lambda: len(letters(engine, query)) == 2)
    assert [row for row in push.rows() if row is not None] == [[2], [4]]
    first, second = letters(engine, query)
    assert (first.key, first.cut, first.headers) == (b"b", f"1:{len(huge)}", (("trace", b"1"),))
    assert first.value is not None
    assert huge.startswith(first.value)
    assert LIMIT - 2000 < len(first.value) < LIMIT
    assert (second.cut, second.value, second.headers) == (f"{len(key)}:{len(huge)}", b"", ())
    assert second.key is not None
    assert key.encode().startswith(second.key)
    assert [(x.topic, x.offset) for x in (first, second)] == [(name, 1), (name, 2)]
    assert first.reason.startswith("not JSON")
    assert first.topic_id == engine.kafka.topic_id(name)
    assert until(lambda: len(messages(engine, f"O_{name}".upper())) == 2)
    assert failures(engine, query) == []
    restarted(engine, query)
    write(engine, name, ("d", b'{"v":3}'))
    assert until(lambda: len(messages(engine, f"O_{name}".upper())) >= 3)
    if guarantee == "exactly_once":
        assert (len(messages(engine, f"O_{name}".upper())), len(letters(engine, query))) == (3, 2)
    known = read_letters(engine.connection, engine.topics.dead_letters)
    assert replay(engine.connection, known, [first, second]) == 0
    assert replay(engine.connection, known, [replace(first, value=b'{"v":4}')]) == 1
    assert until(lambda: json.loads(messages(engine, f"O_{name}".upper())[-1].value() or b"")["V"] == 4)
    engine.execute(f"TERMINATE {query};")


@FURTHER
def test_a_late_record_that_is_too_large_for_its_topic(engine: Engine) -> None:
    source(engine, "lates")
    topic(engine, "too_late", max_message_bytes=1000)
    engine.execute(
        "CREATE TABLE early WITH (query_id='EARLY', value_format='JSON') AS SELECT k, COUNT(*) AS n FROM lates"
        " WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 0 SECONDS) GROUP BY k;",
        {**EARLIEST, "ksql.late.records.topic": "too_late"},
    )
    producer = Producer({"bootstrap.servers": engine.bootstrap})
    large = b'{"T":"%s"}' % (b"l" * 3000)
    for at, value in ((1_700_000_100_000, b"{}"), (1_700_000_000_000, b'{"T":"small"}'), (1_700_000_000_000, large)):
        producer.produce("lates", key=b"k", value=value, timestamp=at)
        producer.flush()
    assert until(lambda: len(messages(engine, "too_late")) == 1)
    assert until(lambda: letters(engine, "EARLY"))
    [mine] = letters(engine, "EARLY")
    assert (mine.topic, mine.offset, mine.value, mine.cut, mine.result) == ("lates", 2, large, None, None)
    assert "for topic too_late too large" in mine.reason
    engine.execute("TERMINATE EARLY;")


# ------------------------------------------------------------ compression


@FURTHER
def test_compressed_records(spark: SparkSession, broker: EmbeddedKafka, tmp_path: Path) -> None:
    """The producer counts a record as it is, the brokers as it is compressed, by it or by them."""
    engine = started(
        broker,
        tmp_path / "compressed",
        **{"kafka.producer.compression.type": "lz4", "kafka.producer.max.request.size": "5000000"},
    )
    try:
        source(engine, "texts")
        sinks: Mapping[str, Mapping[str, object]] = {"SENT": {}, "UNPACKED": {"compression_type": "uncompressed"}}
        for name, config in sinks.items():
            topic(engine, name, **config)
            engine.execute(
                f"CREATE STREAM {name} WITH (kafka_topic='{name}', query_id='{name}', value_format='KAFKA') AS"
                " SELECT k, CONCAT(t, t) AS t FROM texts;",
                EARLIEST,
            )
        chance = random.Random(2)
        noise = "".join(chance.choices(LETTERS, k=1_500_000))
        texts(engine, "texts", ("packs", "x" * 1_500_000))
        texts(engine, "texts", ("noise", noise))
        texts(engine, "texts", ("request", "x" * 2_600_000))
        texts(engine, "texts", ("small", "x"))

        def keys(found: Sequence[Message]) -> list[bytes]:
            return [m.key() or b"" for m in found]

        for name, there, aside in (
            ("SENT", [b"packs", b"small"], [b"noise", b"request"]),
            ("UNPACKED", [b"small"], [b"packs", b"noise", b"request"]),
        ):
            assert until(lambda: keys(messages(engine, name)) == there), (name, failures(engine, name))  # noqa: B023
            assert until(lambda: [x.key for x in letters(engine, name)] == aside), name  # noqa: B023
            assert failures(engine, name) == []
        reasons = [x.reason for x in letters(engine, "SENT")]
        assert "the topic takes 1048588" in reasons[0]
        assert "the producer sends 5000000" in reasons[1]
    finally:
        engine.stop()


def test_a_part_cannot_be_given_back(engine: Engine) -> None:
    """Letters of one record that are mended differently are refused, whole or not."""
    known = read_letters(engine.connection, engine.topics.dead_letters)
    first = Letter("0-900000", "A", "t", 0, 0, 1, "", b"k", b"x", topic_id="T", cut="1:9")
    second = replace(first, id="0-900001", query="B")
    known.letters += [first, second]
    with pytest.raises(ConfigProblem, match="in several ways"):
        replay(engine.connection, known, [replace(first, value=b"1"), replace(second, value=b"2")])
