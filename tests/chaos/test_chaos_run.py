"""One short run of the kill tests with a fixed seed, on real parts."""

from __future__ import annotations

import psutil
import pytest

from tests.chaos import Options, Report, run

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.extended("a server that is killed again and again"),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The server is killed once and stopped once, in the midst of two jobs, which read and write Avro."""
    options = Options(
        seed=1,
        kills=2,
        kinds=("server", "stop"),
        jobs=("filter", "group"),
        rate=200,
        format="AVRO",
        commit_interval=5000,
        min_gap=2,
        max_gap=8,
        tail=3,
        keep=tmp_path_factory.mktemp("chaos"),
    )
    lines: list[str] = []
    try:
        return run(options, lines.append)
    finally:
        print("\n".join(lines))


def test_the_server_comes_back_and_leaves_nothing(report: Report, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert report.problems == []
    assert sorted(k.kind for k in report.kills) == ["server", "stop"]
    base = str(tmp_path_factory.getbasetemp() / "chaos")  # where all that the run starts has its folder
    left = [p for p in psutil.process_iter(["cmdline"]) if any(base in word for word in p.info["cmdline"] or ())]
    assert left == []


def test_results_come_again_after_every_kill(report: Report) -> None:
    assert all(k.mark.first is not None for k in report.kills)


def test_nothing_is_lost(report: Report) -> None:
    assert [(v.job, v.missing, v.wrong) for v in report.verdicts] == [("filter", 0, 0), ("group", 0, 0)]
    assert all(v.due > 100 for v in report.verdicts)


def test_nothing_comes_twice(report: Report) -> None:
    assert report.ok, "\n".join(report.lines())
