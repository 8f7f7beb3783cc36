"""The demo: its own arithmetic by hand-computed numbers, and the whole of it on the real files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import psutil
import pytest

from ksqlpy.demo.data import Ride, Zone, find_files, int_key, read_rides, read_statements, read_zones
from ksqlpy.demo.expected import RESULTS, Check, compare, expect, totals, window_key
from ksqlpy.demo.formats import FORMATS, Values
from ksqlpy.demo.main import _verdict
from ksqlpy.demo.view import View, result_text
from ksqlpy.errors import EnvironmentProblem

HEADER = "VendorID,tpep_pickup_datetime,PULocationID,total_amount,trip_type"
LINES = """\
2,2019-03-01 10:59:59,7,40.0,
1,2019-03-01 10:00:00,7,39.99,1.0
2,2019-03-01 09:30:00,7,-2.5,2.0
2,2019-03-01 11:00:00,8,50.01,
1,2019-03-01 10:30:00,264,9.3,
"""
ZONES = """\
LocationID,zone,borough
7,Old Name,Nowhere
8,Airport,Queens
7,Astoria,Queens
"""
NINE, TEN, ELEVEN = (1551430800000 + h * 3_600_000 for h in range(3))  # 2019-03-01, 09:00, 10:00, 11:00 UTC


@pytest.fixture
def rides(tmp_path: Path) -> list[Ride]:
    (tmp_path / "rides.csv").write_text(f"{HEADER}\n{LINES}")
    return list(read_rides(tmp_path / "rides.csv"))


@pytest.fixture
def zones(tmp_path: Path) -> list[Zone]:
    (tmp_path / "zones.csv").write_text(ZONES)
    return list(read_zones(tmp_path / "zones.csv"))


@pytest.mark.parametrize("format_", FORMATS)
def test_the_statements_are_in_the_format(format_: str) -> None:
    _, sources, queries = read_statements(find_files().sql)
    values = Values(format_)
    for statement in sources:
        parts = values.statement(statement).split("WITH")[1]
        assert parts.count("VALUE_FORMAT") == 1 and f"VALUE_FORMAT = '{format_}'" in parts
        assert ("'OPTIONAL'" in parts) == (format_ == "PROTOBUF")
    assert all(("'OPTIONAL'" in values.statement(q)) == (format_ == "PROTOBUF") for q in queries)


def test_a_line_becomes_a_record(rides: list[Ride]) -> None:
    key, value = rides[0].record
    assert key == b"\0\0\0\2"
    assert value == (
        b'{"TPEP_PICKUP_DATETIME":"2019-03-01 10:59:59","PULOCATIONID":7,"TOTAL_AMOUNT":40.0,"TRIP_TYPE":null}'
    )
    assert b'"TRIP_TYPE":1' in rides[1].record[1]
    assert rides[0].time == TEN + 3_599_000


def test_branches(rides: list[Ride], zones: list[Zone]) -> None:
    expected = expect(rides, zones)
    assert [r.time for r in expected["taxi_large_rides"]] == [TEN + 3_599_000, ELEVEN]
    assert [r.time for r in expected["taxi_small_rides"]] == [TEN, NINE + 1_800_000, TEN + 1_800_000]


def test_counts_and_sums_change_record_by_record(rides: list[Ride], zones: list[Zone]) -> None:
    expected = expect(rides, zones)
    assert [(r.key[-1], r.value, r.time) for r in expected["taxi_rides_per_vendor"]] == [
        (2, {"RIDES": 1}, TEN + 3_599_000),
        (1, {"RIDES": 1}, TEN),
        (2, {"RIDES": 2}, TEN + 3_599_000),  # the ride of 09:30 comes late: the time of the group does not go back
        (2, {"RIDES": 3}, ELEVEN),
        (1, {"RIDES": 2}, TEN + 1_800_000),
    ]
    assert [(r.key, r.value) for r in expected["taxi_zone_hours"]] == [
        (window_key(int_key(7), TEN), {"RIDES": 1, "REVENUE": Decimal("40.00")}),
        (window_key(int_key(7), TEN), {"RIDES": 2, "REVENUE": Decimal("79.99")}),
        (window_key(int_key(7), NINE), {"RIDES": 1, "REVENUE": Decimal("-2.50")}),
        (window_key(int_key(8), ELEVEN), {"RIDES": 1, "REVENUE": Decimal("50.01")}),
        (window_key(int_key(264), TEN), {"RIDES": 1, "REVENUE": Decimal("9.30")}),
    ]


def test_the_last_line_of_a_zone_wins_and_unknown_zones_stay(rides: list[Ride], zones: list[Zone]) -> None:
    expected = expect(rides, zones)
    assert [r.value and r.value["ZONE"] for r in expected["taxi_enriched_rides"]] == [
        "Astoria", "Astoria", "Astoria", "Airport", None,
    ]  # fmt: skip
    assert totals(rides, zones)["taxi_boroughs"] == {
        b"Queens": {"RIDES": 4, "REVENUE": Decimal("127.50")},
        b"Unknown": {"RIDES": 1, "REVENUE": Decimal("9.30")},
    }
    assert expected["taxi_boroughs"][-1].value == {"RIDES": 1, "REVENUE": Decimal("9.30")}


def test_a_window_key_is_the_key_and_the_start() -> None:
    assert window_key(int_key(1), 256) == b"\0\0\0\1" + b"\0\0\0\0\0\0\1\0"


def test_what_is_right_passes(rides: list[Ride], zones: list[Zone]) -> None:
    expected = expect(rides, zones)
    checks = compare(expected, totals(rides, zones), expected, len(rides))
    assert len(checks) == 2 * len(RESULTS) + 3 + 2
    assert [c for c in checks if not c.ok] == []


def test_a_difference_is_shown_and_gives_exit_1(
    rides: list[Ride], zones: list[Zone], capsys: pytest.CaptureFixture[str]
) -> None:
    expected = expect(rides, zones)
    got = {t: list(r) for t, r in expected.items()}
    wrong = got["taxi_boroughs"][3]
    got["taxi_boroughs"][3] = replace(wrong, value={"RIDES": 4, "REVENUE": Decimal("127.51")}, time=wrong.time + 1)
    checks = compare(expected, totals(rides, zones), got, len(rides))
    failed = [c for c in checks if not c.ok]
    assert [c.name for c in failed] == [
        "rides and revenue per borough: 5 records, key, value and order",
        "rides and revenue per borough: record times",
        "rides and revenue per borough: last values of 2 keys",
    ]
    assert failed[0].details == (
        "number 3: key 517565656e73: expected {REVENUE: 127.50}, found {REVENUE: 127.51}",
    )  # fmt: skip
    assert _verdict(checks, None, View(time.monotonic())) == 1
    assert capsys.readouterr().out == "demo: 3 of 17 checks failed\n"


def test_a_missing_record_is_a_difference_and_only_five_are_shown(rides: list[Ride], zones: list[Zone]) -> None:
    expected = expect(rides * 3, zones)
    got = {**expected, "taxi_enriched_rides": expected["taxi_enriched_rides"][1:]}
    by_name = {c.name: c for c in compare(expected, totals(rides * 3, zones), got, 15)}
    check = by_name["rides with zone and borough: 15 records, key, value and order"]
    assert not check.ok
    assert check.details[0] == "15 expected, 14 found"
    assert len(check.details) == 6 and check.details[-1].startswith("… and ")


def test_all_checks_passed_gives_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert _verdict([Check("a", True), Check("b", True)], 1.25, View(time.monotonic())) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "demo: 2 checks passed"


def test_results_are_readable(rides: list[Ride], zones: list[Zone]) -> None:
    last = {topic: result_text(topic, records[-1], {7: "Astoria"}) for topic, records in expect(rides, zones).items()}
    assert last == {
        "taxi_large_rides": "2019-03-01 11:00:00: 50.01 dollars",
        "taxi_small_rides": "2019-03-01 10:30:00: 9.3 dollars",
        "taxi_rides_per_vendor": "vendor 1: 2 rides",
        "taxi_zone_hours": "Unknown, Mar 01 10h: 1 ride, 9.3 dollars",
        "taxi_enriched_rides": "2019-03-01 10:30:00: unknown zone (?)",
        "taxi_boroughs": "Unknown: 1 ride, 9.3 dollars",
    }


def test_the_real_files() -> None:
    files = find_files()
    rides, zones = read_rides(files.rides), read_zones(files.zones)
    assert (len(rides), len(zones), len({z.id for z in zones})) == (6500, 263, 260)
    assert len({z.id for z in zones} - {r.pickup_zone for r in rides}) > 0
    assert sum(r.pickup_zone not in {z.id for z in zones} for r in rides) == 31


def test_missing_files_say_where_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="are not in") as caught:
        find_files(tmp_path)
    assert caught.value.code == "no-demo-files"
    assert "--files DIR" in str(caught.value.full_hint)


# ---------------------------------------------------------------- the whole

COMMAND = [sys.executable, "-m", "ksqlpy", "demo"]


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.extended("the whole demo, as make demo runs it")
@pytest.mark.parametrize("options", [[], ["--format", "AVRO"], ["--format", "PROTOBUF"]], ids=" ".join)
def test_the_whole_demo(options: list[str]) -> None:
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "demo: 20 checks passed"
    assert re.fullmatch(r"first result row after \d+\.\d s, whole demo \d+\.\d s", lines[-2])
    assert sum(line.startswith("ok ") for line in lines) == 20
    assert not [line for line in lines if line.startswith("FAILED")]
    assert "  Unknown: 31 rides, 1,206.86 dollars" in lines


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.extended("the whole demo, as make demo runs it")
@pytest.mark.parametrize("moment", ["starting Spark", "CREATE STREAM large_rides"])
def test_interrupt_ends_everything(tmp_path: Path, moment: str) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        COMMAND,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
        # A shell starts what it puts into the background with SIGINT ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as demo:
        assert demo.stdout is not None
        said = []
        for line in demo.stdout:
            said.append(line)
            if moment in line:
                break
        time.sleep(1)  # while the JVM is on its way, or the first query
        below = psutil.Process(demo.pid).children(recursive=True)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 130, "".join(said) + demo.stdout.read()
        _, alive = psutil.wait_procs(below, timeout=15)
        assert below and alive == []
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("ksqlpy-")] == []
