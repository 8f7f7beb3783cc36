"""`python -m bench functions` without what it measures: its records and results, orders, what counts as wrong."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.functions import FUNCTIONS, JOBS, FunctionJob, faults, orders
from bench.python_peers import NAMES, flink_statements, python_peers
from bench.python_peers.environments import reason
from bench.python_peers.programs.rule import checked, rule

SELECT, WHERE = JOBS

Result = tuple[str, dict[str, object]]


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("37.25 EUR", "small 74 EUR"),
        ("50.00 EUR", "large 150 EUR"),
        ("49.99 EUR", "small 99 EUR"),
        ("0.00 EUR", "small 5 EUR"),
        (None, None),
    ],
)
def test_the_rule(amount: str | None, text: str | None) -> None:
    assert rule(amount) == text


def test_ksqlpy_is_given_the_code_that_the_others_import() -> None:
    for name, statement in zip(("rule", "checked"), FUNCTIONS, strict=True):
        body = re.fullmatch(r"CREATE OR REPLACE FUNCTION (\w+)\(.+\$\$\n(.+)\$\$;", statement, re.DOTALL)
        assert body is not None and body[1].lower() == name
        own: dict[str, object] = {}
        exec(body[2], own)
        function = own[name]
        assert callable(function)
        assert function("37.25 EUR") == {"rule": rule, "checked": checked}[name]("37.25 EUR")


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_three_in_four_records_have_a_result(job: FunctionJob) -> None:
    records = [json.loads(job.backlog_record(i)[1]) for i in range(4_000)]
    by_number = [r for r in records if r["V"] % 4 != 0]
    assert by_number == [r for r in records if checked(r["A"])]
    assert len(by_number) == 4_000 * job.results == 4_000 * job.timed
    due = job.results_of(4_000)
    assert [*due] == [r["V"] for r in by_number]
    assert [(t, text) for _, t, text in due.values()] == [
        (r["T"], rule(r["A"]) if job is SELECT else r["A"]) for r in by_number
    ]
    key, value = job.record(7, 12.5)
    assert (key, json.loads(value)) == (b"k7", {"V": 7, "T": 12.5, "A": job.amount(7)})


def test_each_round_has_all_in_an_order_that_a_seed_repeats() -> None:
    found = orders(NAMES, 20, 5)
    assert found == orders(NAMES, 20, 5) != orders(NAMES, 20, 6)
    assert all(sorted(turn) == sorted(NAMES) for turn in found)
    assert len({turn[0] for turn in found}) > 3


def results() -> list[Result]:
    return [(key, {"V": v, "T": t, "R": r}) for v, (key, t, r) in SELECT.results_of(400).items()]


def test_exact_results_have_no_faults() -> None:
    assert faults(SELECT.results_of(400), results()) == []


def test_faults_say_how_many_and_give_an_example() -> None:
    due = SELECT.results_of(400)
    key, value = results()[3]
    assert faults(due, results()[1:]) == ["1 of 300 results missing, as 1"]
    assert faults(due, [*results(), ("k0", {"V": 400})]) == ["1 of 300 results not due or there twice, as 400"]
    twice = faults(due, [*results(), (key, value)])
    assert twice == [
        f"1 of 300 results not due or there twice, as {value['V']}",
        f"1 of 300 results not in order, as {value['V']}",
    ]
    other = (key, {**value, "R": "small"})
    assert faults(due, [*results()[:3], other, *results()[4:]]) == [f"1 of 300 results wrong, as {other}"]
    [late] = faults(due, [*results()[1:], results()[0]])
    assert late == "1 of 300 results not in order, as 1"


@pytest.mark.parametrize("quick", [True, False])
def test_statements_of_flink_differ_by_guarantee(quick: bool) -> None:
    job = replace(WHERE, partitions=2)
    [source, once, insert] = flink_statements(job, "h:1", "7", "o", "exactly_once", quick=quick)
    [_, sink, _] = flink_statements(job, "h:1", "7", "o", "at_least_once", quick=quick)
    assert "'topic' = 'bench_s7'" in source and "CHECKED(A)" in insert
    assert "'exactly-once', 'sink.transactional-id-prefix' = 'o'" in once
    assert "'at-least-once'" in sink and "transactional" not in sink
    assert f"'properties.linger.ms' = '{0 if quick else 100}'" in sink


def test_pins_are_whole() -> None:
    pinned = Path(__file__).parents[2] / "bench" / "python_peers" / "pinned"
    for name, package in (("faust", "faust-streaming"), ("quix", "quixstreams"), ("pyflink", "apache-flink")):
        lines = (pinned / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
        assert package in [line.partition("==")[0] for line in lines]


def test_pyflink_has_the_version_of_flink_sql() -> None:
    bench = Path(__file__).parents[2] / "bench"
    [version] = re.findall(r"<flink.version>(.+)<", (bench / "flink" / "pom.xml").read_text(encoding="utf-8"))
    pins = (bench / "python_peers" / "pinned" / "pyflink.txt").read_text(encoding="utf-8").splitlines()
    assert f"apache-flink=={version}" in pins


def test_what_pip_says_about_a_failure() -> None:
    log = "Collecting x\nERROR: No matching distribution found for x==9\nERROR: more\n"
    assert reason(log) == "No matching distribution found for x==9"
    assert reason("Collecting x\n") == "it says nothing"


def test_nobody_is_installed_who_is_not_wanted() -> None:
    assert python_peers(re.compile("ksqlpy").search) == []
