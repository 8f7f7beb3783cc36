"""The parts of the kill tests that need no server: the plan, the load's records, the options, the report."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

from ksqlpy.connection import KafkaConnection
from ksqlpy.errors import EngineProblem
from ksqlpy.registry import SchemaRegistry
from ksqlpy.testing.registry import Registry
from tests.chaos.__main__ import _options
from tests.chaos.jobs import JOBS, Job
from tests.chaos.kills import KINDS, Kill, plan
from tests.chaos.load import partition_of, record
from tests.chaos.options import Options
from tests.chaos.report import Report
from tests.chaos.sinks import Topics
from tests.chaos.values import Values
from tests.chaos.verdict import Verdict
from tests.chaos.watch import Mark, Watch


def test_the_plan_follows_from_the_seed() -> None:
    kinds = tuple(KINDS)
    made = plan(7, 30, kinds, 2, 9)
    assert made == plan(7, 30, kinds, 2, 9) != plan(8, 30, kinds, 2, 9)
    assert set(Counter(p.kind for p in made).values()) == {1, 2}
    assert all(2 <= p.gap <= 9 for p in made)
    assert plan(7, 0, kinds, 2, 9) == []


@pytest.mark.parametrize("job", JOBS.values(), ids=lambda j: j.name)
def test_records_follow_from_the_seed(job: Job) -> None:
    for feed in job.feeds:
        one, other = Random(feed.topic), Random(feed.topic)
        for number in range(1, 100):
            sent, value = record(feed, one, number, 4, scatter=False)
            assert (sent, value) == record(feed, other, number, 4, scatter=False)
            assert sent.partition == partition_of(sent.key, 4)
            assert b'"NUMBER":%d' % number in value


def test_only_streams_are_scattered() -> None:
    stream, table, _ = JOBS["join"].feeds
    random = Random(1)
    assert [record(stream, random, n, 4, scatter=True)[0].partition for n in range(1, 9)] == [1, 2, 3, 0] * 2
    rows = [record(table, random, n, 4, scatter=True)[0] for n in range(1, 99)]
    assert all(r.partition == partition_of(r.key, 4) for r in rows)


def test_every_key_of_a_table_that_a_stream_is_joined_with_is_preloaded() -> None:
    for job in (j for j in JOBS.values() if not j.feeds[0].keyed):
        for table in (f for f in job.feeds[1:] if f.keyed):
            random = Random(1)
            keys = {record(table, random, n, 1, scatter=False)[0].key for n in range(1, 500)}
            first = {record(table, random, n, 1, scatter=False)[0].key for n in range(1, table.preload + 1)}
            assert first == keys


def test_jobs_share_no_topic() -> None:
    topics = [t for j in JOBS.values() for t in (*(f.topic for f in j.feeds), j.sink)]
    assert len(set(topics)) == len(topics)


def test_options() -> None:
    assert _options([]) == Options()
    made = _options(["--kinds=stop,jvm", "--jobs=join", "--min-gap=1", "--guarantee=exactly_once", "--scatter"])
    assert (made.kinds, made.jobs, made.guarantee, made.scatter) == (("stop", "jvm"), ("join",), "exactly_once", True)

    assert "cut" not in _options(["--workers=2"]).kinds and "executor" in _options(["--workers=2"]).kinds
    assert {"cut", "island", "executor"} <= set(_options(["--workers=2", "--networks"]).kinds)


@pytest.mark.parametrize(
    "wrong",
    [
        "--kinds flood",
        "--jobs x",
        "--min-gap 9 --max-gap 1",
        "--rate 0",
        "--kinds ,",
        "--networks",
        "--kinds executor",
        "--kinds python --jobs filter",
        "--kinds cut --workers 2",
    ],
)
def test_wrong_options(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        _options(wrong.split())
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_new_results_count_from_the_first_look_after_a_kill() -> None:
    watch = Watch(Topics(KafkaConnection("127.0.0.1:1"), Values("JSON", None).decode), {"a": 1, "b": 1})
    watch._seen(0.0, {"a": 1, "b": 1})
    mark = watch.mark()
    later = mark.made + 1
    watch._seen(mark.made - 1, {"a": 2, "b": 1})  # was asked before
    watch._seen(later, {"a": 3, "b": 1})
    assert (mark.begin, mark.first) == ({"a": 3, "b": 1}, None)
    watch._seen(later, {"a": 3, "b": 2})
    assert mark.first is not None and mark.every is None
    watch._seen(later, {"a": 4, "b": 2})
    assert mark.every is not None


def test_it_has_caught_up_when_all_is_there_that_was_due_at_the_kill() -> None:
    watch = Watch(Topics(KafkaConnection("127.0.0.1:1"), Values("JSON", None).decode), {"a": 1, "b": 1})
    for asked, a in ((1.0, 1), (2.0, 5), (3.0, 7)):
        watch._seen(asked, {"a": a, "b": 2})
    reached = [watch._looks[i][1] for i in range(3)]
    assert watch.reached({"a": 1, "b": 2}, 0.0) == reached[0]
    assert watch.reached({"a": 1, "b": 2}, 1.5) == reached[1]  # what an earlier look saw may lie before the kill
    assert watch.reached({"a": 6, "b": 2}, 0.0) == reached[2]
    assert watch.reached({"a": 6, "b": 3}, 0.0) is None


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("AVRO", '{"type":"record","name":"R","fields":[{"name":"NUMBER","type":["null","long"]},'
                 '{"name":"CITY","type":["null","string"]}]}'),
        ("PROTOBUF", 'syntax = "proto3"; message R { int64 NUMBER = 1; string CITY = 2; }'),
        ("JSON", '{"type":"object"}'),
    ],
)  # fmt: skip
def test_values_of_a_format(kind: str, schema: str) -> None:
    registry = Registry().start()
    try:
        client = SchemaRegistry([registry.url("chaos")])
        number = client.register("cities-value", schema, kind)
        values = Values({"JSON": "JSON_SR"}.get(kind, kind), client)
        data = values.encode("cities", b'{"NUMBER":7,"CITY":"Ulm"}')
        assert data[:5] == b"\0" + number.to_bytes(4)
        back = json.loads(values.decode(data) or b"")
        assert (int(back["NUMBER"]), back["CITY"]) == (7, "Ulm")
        assert values.decode(None) is None
        assert values.decode(b"{}") == b"{}"  # judged as it is
        assert values.declared("WITH (VALUE_FORMAT='JSON')") == f"WITH (VALUE_FORMAT='{values.format}')"
        with pytest.raises(EngineProblem):
            values.encode("towns", b"{}")
    finally:
        registry.stop()


def test_the_report() -> None:
    right, wrong = Verdict("filter", sent=1200, due=3, out=3), Verdict("group", 5, 5, 6)
    wrong.note_twice("partition 0, offset 5: group a, count 3")
    report = Report(Options(), 17, 60.0, [right], [Kill("server", 4.2, 7.06, Mark(10.0, 10.0, 11.5), 0.4)])
    assert report.ok
    lines = list(report.lines())
    assert "   1  server      4.2 s    7.1 s          1.5 s          never        never           0.4 s" in lines
    assert lines[-1] == "chaos: ok"
    report.verdicts.append(wrong)
    assert not report.ok
    assert "    twice: partition 0, offset 5: group a, count 3" in report.lines()
    assert list(report.lines())[-1] == "chaos: FAILED"


def test_a_run_with_problems_is_not_ok() -> None:
    assert not Report(Options()).ok
    assert not Report(Options(), verdicts=[Verdict("filter")], problems=["a query is ERROR"]).ok
