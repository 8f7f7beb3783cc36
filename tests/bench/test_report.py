"""`make bench-report` without what it measures: the file of figures, and the page and pictures that follow from it.

``report/figures.json`` is written by hand, ``report/performance.md`` the page of it. Set KSQLPY_REWRITE to rewrite the
page, and read the difference.
"""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from bench.flink_sql import FLINKS, TRANSACTION_MS, flink_lacks, flink_statements
from bench.jobs import JOBS, Job
from bench.report.page import PICTURES, page
from bench.report.plots import pictures
from bench.report.record import LATENCY, THROUGHPUT, Record, Refused, Settings
from bench.results import Results

HERE = Path(__file__).with_name("report")
DOCS = Path(__file__).parents[2] / "docs"

SETTINGS = Settings(
    jobs=("filter + project", "session count"),
    who=("ksqlpy exactly_once", "Kafka Streams at_least_once", *FLINKS),
    records=3_000_000,
    rounds=3,
    seed=1,
    interval=10,
    rate=500,
    seconds=100,
)
CONDITIONS = {"machine": {"processors": 2}, "versions": {"ksqlpy": "0.2.0"}}
LEFT_OUT = [{"job": "session count", "who": who, "why": "its sessions are others"} for who in FLINKS]


def by_hand() -> Record:
    return Record.read(HERE / "figures.json")


def begun(path: Path, settings: Settings = SETTINGS, version: str = "0.2.0", *, go_on: bool = False) -> Record:
    conditions = {**CONDITIONS, "versions": {"ksqlpy": version}}
    return Record.begin(path, settings, conditions, LEFT_OUT, "2026-12-01", go_on=go_on)


# ------------------------------------------------------------ the page


def test_the_page_of_figures() -> None:
    found = page(by_hand())
    if "KSQLPY_REWRITE" in os.environ:
        (HERE / "performance.md").write_text(found, encoding="utf-8")
    assert found == (HERE / "performance.md").read_text(encoding="utf-8")


def test_links_of_the_page_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", page(by_hand()))
    assert {*PICTURES.values()} < {*targets}
    assert [t for t in targets if t not in PICTURES.values() and not (DOCS / t).exists()] == []


def test_a_part_that_was_not_wanted_is_not_on_the_page() -> None:
    record = by_hand()
    record.content["settings"]["seconds"] = 0
    record.content[LATENCY] = []
    found = page(record)
    assert "## Throughput" in found and "## Latency" not in found and PICTURES[LATENCY] not in found
    assert [*pictures(record)] == [PICTURES[THROUGHPUT]]


def test_the_page_of_a_small_run_says_so() -> None:
    record = by_hand()
    assert "too small" not in page(record)
    record.content["settings"]["records"] = 200_000
    assert "**The run is not complete" in page(record) and "The run is too small to conclude anything" in page(record)


def test_the_index_names_the_page() -> None:
    if (DOCS / "performance.md").exists():
        assert "](performance.md)" in (DOCS / "README.md").read_text(encoding="utf-8")
    assert "`make bench-report`" in (DOCS / "README.md").read_text(encoding="utf-8")


# ------------------------------------------------------------ the pictures


@pytest.mark.parametrize("part", [*PICTURES])
def test_a_picture_has_those_who_have_figures(part: str) -> None:
    record = by_hand()
    text = pictures(record)[PICTURES[part]]
    shown = {node.text for node in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")}
    measured = {run[name] for run in record.content[part] for name in ("job", "who")}
    names = {*record.settings.jobs, *record.settings.who}
    assert shown & names == measured < names


def test_the_same_figures_give_the_same_pictures() -> None:
    found = pictures(by_hand())
    assert found == pictures(by_hand())
    for text in found.values():
        assert "prefers-color-scheme: dark" in text
        assert "<dc:date>" not in text and not re.search(r"Matplotlib v|[ \t]\n", text)


# ------------------------------------------------------------ the file of figures


def test_each_round_has_all_in_an_order_that_the_seed_repeats(tmp_path: Path) -> None:
    steps = begun(tmp_path / "r").steps()
    of = {
        (part, job, number): [s.who for s in steps if (s.part, s.job, s.round) == (part, job, number)]
        for part, rounds in ((THROUGHPUT, (1, 2, 3)), (LATENCY, (1,)))
        for job in SETTINGS.jobs
        for number in rounds
    }
    for (_, job, _), who in of.items():
        assert sorted(who) == sorted(SETTINGS.who if job == "filter + project" else SETTINGS.who[:2])
    assert sum(map(len, of.values())) == len(steps)
    assert [s.place for s in steps[:4]] == [1, 2, 3, 4]
    assert len({tuple(who) for (_, job, _), who in of.items() if job == "filter + project"}) > 1
    assert steps == begun(tmp_path / "r").steps() != begun(tmp_path / "r", replace(SETTINGS, seed=2)).steps()


def test_parts_without_records_or_seconds_are_left_out(tmp_path: Path) -> None:
    assert {s.part for s in begun(tmp_path / "r", replace(SETTINGS, records=0)).steps()} == {LATENCY}
    assert {s.part for s in begun(tmp_path / "r", replace(SETTINGS, seconds=0)).steps()} == {THROUGHPUT}


def test_a_report_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "build" / "report.json"
    first = begun(file)
    steps = first.steps()
    first.add(steps[0], {"flow": 1000.5, "second_half": float("nan"), "load": [0.25, 1.0]})
    first.fail(steps[1], "it ended by itself")
    first.add(steps[2], {"flow": 2000.0})

    there = begun(file, go_on=True)
    assert there.content[THROUGHPUT][0] == {
        **steps[0].names,
        "flow": 1000.5,
        "second_half": None,
        "load": [0.25, 1.0],
    }
    assert there.left() == [steps[1], *steps[3:]]  # what has failed is tried again
    for step in there.left():
        there.add(step, {})
    assert there.content["dates"] == ["2026-12-01"] * 2
    assert Record.read(file).left() == []
    assert begun(file).left() == steps  # a new one


def test_what_has_failed_is_not_left(tmp_path: Path) -> None:
    record = begun(tmp_path / "r")
    record.fail(record.steps()[0], "it ended by itself")
    assert Record.read(tmp_path / "r").left() == record.steps()[1:]


def test_a_report_goes_on_only_as_it_was_begun(tmp_path: Path) -> None:
    file = tmp_path / "r"
    with pytest.raises(Refused, match="to go on with"):
        begun(file, go_on=True)
    record = begun(file)
    record.add(record.steps()[0], {})
    kept = file.read_text(encoding="utf-8")
    with pytest.raises(Refused, match=f"lacks {len(record.steps()) - 1} runs"):
        begun(file)
    with pytest.raises(Refused, match="was begun with records 3000000, not 5"):
        begun(file, replace(SETTINGS, records=5), go_on=True)
    with pytest.raises(Refused, match=re.escape("was begun with ksqlpy 0.2.0, not 0.3.0")):
        begun(file, version="0.3.0", go_on=True)
    assert file.read_text(encoding="utf-8") == kept
    assert json.loads(kept)["settings"]["jobs"] == [*SETTINGS.jobs]


def test_the_figures_by_hand_are_of_runs_that_there_are() -> None:
    record = by_hand()
    entries = [*record.content[THROUGHPUT], *record.content[LATENCY], *record.content["failed"]]
    assert len(record.left()) + len(entries) == len(record.steps())


# ------------------------------------------------------------ what is measured


def test_rates_count_results_when_they_are_written() -> None:
    seen = [(10.0, 600), (20.0, 1000)]
    written = [(1.0, 100), (2.0, 600), (3.0, 1000)]
    alike, once = Results(1000, written), Results(1000, seen, written=written)
    assert alike.flow == once.flow == 450
    assert alike.second_half == once.second_half == 400
    assert (alike.whole, alike.first) == (1000 / 3, 1.0)
    assert (once.whole, once.first) == (50, 10.0)


@pytest.mark.parametrize("job", [job for job in JOBS if not flink_lacks(job)], ids=lambda job: job.name)
def test_statements_of_flink_differ_by_guarantee(job: Job) -> None:
    [*sources, once, insert] = flink_statements(job, "h:1", "7", "o", once=True, quick=False)
    [*same, least, also] = flink_statements(job, "h:1", "7", "o", once=False, quick=False)
    assert (sources, insert) == (same, also)
    assert "'exactly-once', 'sink.transactional-id-prefix' = 'o'" in once
    assert f"'properties.transaction.timeout.ms' = '{TRANSACTION_MS}'" in once
    assert TRANSACTION_MS < 15 * 60_000, "brokers refuse more"
    assert "'at-least-once'" in least and "transaction" not in least
    assert ("'upsert-kafka'" in once) == (job.name in ("GROUP BY", "hopping count", "foreign-key join"))


def test_flink_says_what_it_lacks() -> None:
    lacking = {job.name: flink_lacks(job) for job in JOBS if flink_lacks(job)}
    assert "sessions have a result when they close" in lacking["session count"]
    assert "filter + project" not in lacking
