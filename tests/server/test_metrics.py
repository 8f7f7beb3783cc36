"""GET /metrics, and whether the server lives and is ready."""

from __future__ import annotations

import shutil
import subprocess
import threading
from dataclasses import replace

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ksqlpy.config import Config
from ksqlpy.figures import (
    ENGINE_METRICS,
    KSQLDB_METRICS,
    SERVER_METRICS,
    CopyFigures,
    Counts,
    EngineMetrics,
    Machine,
    Progress,
    QueryFigures,
    QueryMetrics,
    Seen,
    Wait,
    query_metrics,
)
from ksqlpy.server import metrics
from ksqlpy.server.backend import State
from ksqlpy.server.endpoints import LEFT, code_of
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

BOUNDS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 60_000, 600_000)

FIGURES = QueryFigures(
    Counts(
        consumed={"rides": 12, "zones": 3},
        sent={"OUT": 9},
        late=1,
        failed=2,
        lags={"rides-0": Seen(4), "rides-1": Seen(1)},
        durations={**{str(ms): 0 for ms in BOUNDS}, "30": 99, "3000": 1, "more": 1, "sum": 713_480},
        waiting=Wait("zones-0", 1_700_000_000_500),
    ),
    "real-time",
    Progress(1_700_000_001_000, 4096),
    {"unreadable": 3, "too_large": 1, "unwritable": 1, "skipped": 1},
)
QUERY = QueryMetrics("CSAS_OUT_1", 'o"u\\t', "RETRYING", 1_700_000_000.0, 5, 12.5, FIGURES, behind=2.5)

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(http: httpx.Client) -> Samples:
    answer = http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for family in text_string_to_metric_families(answer.text)
        for s in family.samples
    }


def of_query(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"ksqlpy_query_{name}", tuple(sorted({"query": QUERY.id, **labels}.items()))]


@pytest.fixture(autouse=True)
def waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapes wait for what is told now, however long it takes here."""
    monkeypatch.setattr(metrics, "RECENT", 0.0)


@pytest.fixture(autouse=True)
def told(engine: FakeEngine) -> None:
    machine = Machine(heap_used=100, heap_max=200, collections=7, collection_ms=1500, threads=60, cpu_ms=90_500)
    slots, copies = {"used": 3, "free": 5}, {"ZONES": CopyFigures(2, 4096), "NEW": CopyFigures()}
    engine.told = EngineMetrics("1.2", "default_", (QUERY,), slots, 4, 1, 0.5, 2_000, machine, 6, copies)


def test_a_query_has_its_figures(http: httpx.Client) -> None:
    found = scraped(http)
    assert of_query(found, "info", sink='o"u\\t') == 1
    assert of_query(found, "state", state="RETRYING") == 1
    assert of_query(found, "state_since_timestamp_seconds") == 1_700_000_000
    assert (of_query(found, "restarts_total"), of_query(found, "stalled_seconds")) == (5, 12.5)
    assert (of_query(found, "rows_in_total"), of_query(found, "rows_out_total")) == (15, 9)
    assert (of_query(found, "lag_records"), of_query(found, "late_rows_total")) == (5, 1)
    assert of_query(found, "lag_seconds") == 2.5
    assert of_query(found, "waits_since_timestamp_seconds", partition="zones-0") == 1_700_000_000.5
    buckets = {s: of_query(found, "latency_seconds_bucket", le=s) for s in ("0.01", "0.03", "600.0", "+Inf")}
    assert buckets == {"0.01": 0, "0.03": 99, "600.0": 100, "+Inf": 101}
    assert of_query(found, "latency_seconds_count") == 101
    assert of_query(found, "latency_seconds_sum") == 713.48
    assert of_query(found, "failed_values_total") == 2
    assert of_query(found, "dead_letters_total", reason="unreadable") == 3
    assert of_query(found, "last_commit_timestamp_seconds") == 1_700_000_001
    assert of_query(found, "state_bytes") == 4096


def test_engine_and_process_have_theirs(http: httpx.Client) -> None:
    found = scraped(http)
    assert found["ksqlpy_info", (("service", "default_"), ("version", "1.2"))] == 1
    assert (found["ksqlpy_slots", (("state", "used"),)], found["ksqlpy_slots", (("state", "free"),)]) == (3, 5)
    names = ("push_queries", "jvm_restarts_total", "data_free_bytes", "ready")
    assert [found[f"ksqlpy_{name}", ()] for name in names] == [4, 1, 2_000, 1]
    assert found["ksqlpy_figures_age_seconds", ()] > 0.5, "and what has passed since"
    assert found["ksqlpy_jvm_heap_used_bytes", ()] == 100
    assert found["ksqlpy_jvm_collection_seconds_total", ()] == 1.5
    assert (found["ksqlpy_jvm_cpu_seconds_total", ()], found["ksqlpy_jvm_threads", ()]) == (90.5, 60)
    assert found["ksqlpy_pull_queries", ()] == 6
    assert found["process_resident_memory_bytes", ()] > 1_000_000


def test_copies_of_tables_have_theirs(http: httpx.Client) -> None:
    found = scraped(http)
    assert found["ksqlpy_table_copies", ()] == 2
    assert found["ksqlpy_table_copy_lag_records", (("table", "ZONES"),)] == 2
    assert found["ksqlpy_table_copy_bytes", (("table", "ZONES"),)] == 4096
    assert ("ksqlpy_table_copy_lag_records", (("table", "NEW"),)) not in found, "nothing is known of it yet"


def test_of_many_copies_those_furthest_behind_are_told(http: httpx.Client, engine: FakeEngine) -> None:
    copies = {f"T{n:03}": CopyFigures(n % 250, 1) for n in range(500)} | {"NEW": CopyFigures()}
    engine.told = replace(engine.told, copies=copies)
    found = scraped(http)
    assert found["ksqlpy_table_copies", ()] == 501
    for name in ("lag_records", "bytes"):
        told = {labels[0][1] for (metric, labels) in found if metric == f"ksqlpy_table_copy_{name}"}
        assert told == {f"T{n:03}" for n in (*range(200, 250), *range(450, 500))}, name


def test_ksqldbs_names_are_told_if_they_are_wanted(http: httpx.Client, engine: FakeEngine) -> None:
    assert not any(name.startswith("ksql_") for name, _ in scraped(http))
    engine.config = Config.of({"ksqlpy.metrics.ksqldb.names": "true"})
    engine.told = replace(
        engine.told,
        queries=(
            replace(QUERY, read_per_second=4, written_per_second=3, letters_per_second=0.5),
            replace(QUERY, id="CTAS_N_2", state="PAUSED"),
            replace(QUERY, id="CTAS_N_3", state="RUNNING", read_per_second=2),
        ),
    )
    with ServerThread(engine) as other, httpx.Client(base_url=other.url) as client:
        found = {name: v for name, v in scraped(client).items() if name[0].startswith("ksql_")}
    of_all = {name.removeprefix("ksql_ksql_engine_query_stats_"): v for (name, labels), v in found.items()}
    wanted = {"liveness_indicator": 1, "num_persistent_queries": 3, "num_active_queries": 2, "num_idle_queries": 1}
    wanted |= {"running_queries": 2, "error_queries": 1, "rebalancing_queries": 0, "not_running_queries": 0}
    wanted |= {"messages_consumed_total": 45, "messages_consumed_per_sec": 6, "messages_produced_per_sec": 3}
    wanted |= {"messages_consumed_min": 0, "messages_consumed_max": 4, "messages_consumed_avg": 2, "error_rate": 0.5}
    assert {name: of_all[name] for name in wanted} == wanted
    status = "ksql_ksql_metrics_ksql_queries_query_status"
    cluster = ("ksql_cluster", "default_")
    assert found[status, (cluster, ("ksql_query", "CSAS_OUT_1"), ("query_status", "ERROR"))] == 1
    assert found[status, (cluster, ("ksql_query", "CTAS_N_2"), ("query_status", "RUNNING"))] == 1
    status = status.replace("query_status", "ksql_query_status")
    shown = {labels[-2][-1]: labels[-1][-1] for name, labels in found if name == status}
    assert shown["CTAS_N_2"] == "PAUSED"


def test_what_is_not_known_has_no_sample(http: httpx.Client, engine: FakeEngine) -> None:
    unknown = replace(QUERY, since=None, behind=None, figures=QueryFigures(Counts()))
    engine.told = EngineMetrics("1.2", "s", (unknown,))
    names = {name for name, _ in scraped(http)}
    assert "ksqlpy_query_rows_in_total" in names, "nothing is read: that is known"
    of_queries = ("lag_records", "lag_seconds", "latency_seconds", "state_bytes", "state_since_timestamp_seconds")
    assert not names & {f"ksqlpy_query_{name}" for name in of_queries}
    assert not names & {"ksqlpy_jvm_heap_used_bytes", "ksqlpy_figures_age_seconds"}


def test_a_query_has_thirty_series_at_most(http: httpx.Client) -> None:
    """With all that it can have at one time; no label of it is a text that has no bounds."""
    assert sum(("query", QUERY.id) in labels for _, labels in scraped(http)) <= 30
    labels = {label for m in query_metrics() for label in m.labels}
    assert labels == {"sink", "state", "partition", "le", "reason"}


def test_names_are_as_prometheus_wants_them() -> None:
    families = [*query_metrics(), *ENGINE_METRICS, *SERVER_METRICS, *KSQLDB_METRICS]
    assert len({m.name for m in families}) == len(families)
    assert [m.name for m in families if (m.kind == "counter") != m.name.endswith("_total")] == []
    assert [m.name for m in families if not m.help] == []


def test_promtool_finds_nothing_wrong(http: httpx.Client) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool")
    text = "".join(line for line in http.get("/metrics").text.splitlines(True) if "process_" not in line)
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_requests_are_counted_by_endpoint_and_code(http: httpx.Client) -> None:
    http.get("/info")
    http.get("/info")
    http.get("/info", headers={"Host": "evil.example"})
    http.get("/is_valid_property/auto.offset.reset")
    for path in ("/nothing", "/nothing/else", "/is_valid_propert"):
        http.get(path)
    http.post("/query-stream", json={"sql": "SELECT * FROM rows EMIT CHANGES LIMIT 2;"})
    pushes = ("ksqlpy_requests_open", (("endpoint", "/query-stream"),))
    until(lambda: scraped(http)[pushes] == 0)
    found = scraped(http)
    counted = {
        tuple(v for _, v in labels): n
        for (name, labels), n in found.items()
        if name == "ksqlpy_requests_total" and ("endpoint", "/metrics") not in labels
    }
    assert counted == {
        ("200", "/info"): 2,
        ("421", "/info"): 1,
        ("200", "/is_valid_property"): 1,
        ("404", "other"): 3,
        ("200", "/query-stream"): 1,
    }
    assert found["ksqlpy_requests_open", (("endpoint", "/metrics"),)] == 1


def test_a_websocket_that_was_accepted_is_no_refusal() -> None:
    after = LEFT
    for kind, code in (("accept", "101"), ("close", "101")):
        after = code_of({"type": f"websocket.{kind}"}, after)
        assert after == code
    assert code_of({"type": "websocket.close"}, LEFT) == "403"
    assert code_of({"type": "http.response.start", "status": 204}, LEFT) == "204"


def test_a_push_query_is_open_until_its_client_leaves(http: httpx.Client, engine: FakeEngine) -> None:
    with http.stream("POST", "/query-stream", json={"sql": "SELECT * FROM live EMIT CHANGES;"}) as push:
        assert push.status_code == 200
        assert scraped(http)["ksqlpy_requests_open", (("endpoint", "/query-stream"),)] == 1
    assert until(lambda: scraped(http)["ksqlpy_requests_open", (("endpoint", "/query-stream"),)] == 0)


def test_the_engine_is_asked_once_for_many_scrapes(
    http: httpx.Client, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "KEPT", 3600.0)
    threads = [threading.Thread(target=http.get, args=("/metrics",)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert engine.scrapes == 1
    monkeypatch.setattr(metrics, "KEPT", 0.0)
    http.get("/metrics")
    assert engine.scrapes == 2


class Late:
    """What an engine tells, which is late from the second time on until it ``answers``."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.answers = threading.Event()
        self.calls = 0

    def __call__(self) -> EngineMetrics:
        self.calls += 1
        if self.calls > 1:
            self.answers.wait(60)
        return replace(self._engine.told, push_queries=self.calls)


def pushes(samples: Samples) -> float:
    return samples["ksqlpy_push_queries", ()]


def test_a_scrape_tells_what_was_told_before_where_the_engine_is_late(
    http: httpx.Client, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Late(engine)
    monkeypatch.setattr(engine, "metrics", late)
    monkeypatch.setattr(metrics, "KEPT", 0.0)
    monkeypatch.setattr(metrics, "RECENT", 3600.0)
    ages = []
    for _ in range(3):
        found = scraped(http)
        assert pushes(found) == 1
        ages.append(found["ksqlpy_figures_age_seconds", ()])
    assert ages == sorted(set(ages)), "it tells how old they are"
    assert until(lambda: late.calls == 2)
    assert scraped(http)["ksqlpy_requests_total", (("code", "200"), ("endpoint", "/metrics"))] == 3, (
        "its own are of now"
    )
    assert late.calls == 2, "it is not asked again before it has answered"
    late.answers.set()
    assert until(lambda: pushes(scraped(http)) > 1)


def test_what_was_told_long_ago_is_not_told_again(
    http: httpx.Client, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Late(engine)
    monkeypatch.setattr(engine, "metrics", late)
    monkeypatch.setattr(metrics, "KEPT", 0.0)
    assert pushes(scraped(http)) == 1
    found: list[Samples] = []
    threads = [threading.Thread(target=lambda: found.append(scraped(http))) for _ in range(2)]
    for t in threads:
        t.start()
    assert until(lambda: late.calls == 2)
    assert found == []
    late.answers.set()
    for t in threads:
        t.join(60)
    assert min(map(pushes, found)) == 2


def test_without_the_engine_the_server_still_tells(
    http: httpx.Client, server: ServerThread, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.backend.state = State.STARTING
    assert scraped(http)["ksqlpy_ready", ()] == 0
    assert engine.scrapes == 0
    server.backend.state = State.READY

    def fails() -> EngineMetrics:
        raise RuntimeError("no metrics")

    monkeypatch.setattr(engine, "metrics", fails)
    engine.lost = True
    assert scraped(http)["ksqlpy_ready", ()] == 0, "as GET /ready says"
    engine.lost = False
    found = scraped(http)
    assert found["ksqlpy_ready", ()] == 1
    assert not any(name.startswith("ksqlpy_query_") for name, _ in found)
