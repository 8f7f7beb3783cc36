"""GET /figures: one look for all who watch, only what has changed, nothing that one does not see; and an hour of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import httpx
import pytest

from ksqlpy.figures import Counts, EngineMetrics, Machine, Progress, QueryFigures, QueryMetrics, Seen
from ksqlpy.server import history as kept
from ksqlpy.server.backend import Backend
from ksqlpy.server.history import History
from ksqlpy.server.run import ServerThread
from ksqlpy.server.sampler import SERVER, Sampler
from ksqlpy.server.samples import QUERY_SERIES, SERVER_SERIES, Own, changes, sampled, seen, whole
from ksqlpy.server.samples import Seen as Sight
from tests.support.fake_engine import FakeEngine

ALL = Sight()
OWN = Own(cpu=1.0, memory=100, requests=1, watchers=1)


def query(id: str = "Q_1", read: int = 0, sent: int = 0, **more: Any) -> QueryMetrics:
    counts = Counts(consumed={"rides": read}, sent={"FARES": sent}, lags={"rides-0": Seen(3)}, took={5: 9, 40: 1})
    figures = QueryFigures(counts, "real-time", Progress(1000, 64), {"no JSON": 2})
    return replace(QueryMetrics(id, "FARES", "RUNNING", 7.5, 1, 0.0, figures, behind=0.25), **more)


def engine_tells(*queries: QueryMetrics, cpu_ms: int = 0) -> EngineMetrics:
    machine = Machine(heap_used=10, heap_max=20, threads=5, cpu_ms=cpu_ms)
    return EngineMetrics("0", "s", queries, {"used": 1, "free": 3}, age=0.1, machine=machine)


def samples(*told: EngineMetrics, step: float = 2.0) -> list[Any]:
    found: list[Any] = []
    for number, one in enumerate(told):
        own = replace(OWN, cpu=1.0 + number)
        found.append(sampled(int(number * step * 1000), number * step, one, own, found[-1] if found else None))
    return found


def test_the_figures_of_a_query() -> None:
    first, second = samples(engine_tells(query(read=100)), engine_tells(query(read=150, sent=50), cpu_ms=500))
    assert first.queries["Q_1"]["inRate"] is None, "nothing is known of before"
    assert second.queries["Q_1"] == {
        "state": "RUNNING", "since": 7500, "mode": "real-time", "rowsIn": 150, "rowsOut": 50, "inRate": 25.0,
        "outRate": 25.0, "readRates": {"rides": 25.0}, "lag": 3, "lagSeconds": 0.2, "stalledSeconds": 0.0, "p50": 5,
        "p99": 40, "late": 0, "failed": 0, "deadLetters": 2, "restarts": 1, "stateBytes": 64, "lastCommit": 1000,
        "error": None,
    }  # fmt: skip
    assert (second.server["jvmCpu"], second.server["cpu"], second.server["slotsFree"]) == (0.25, 0.5, 3)
    assert whole(seen(second, ALL))["topics"] == {
        "rides": {"readRate": 25.0, "writeRate": None},
        "FARES": {"readRate": None, "writeRate": 25.0},
    }


def test_counts_that_begin_again_and_figures_that_are_told_again() -> None:
    grown, again = samples(engine_tells(query(read=100)), engine_tells(query(read=10)))
    assert again.queries["Q_1"]["inRate"] == 0.0, "a new JVM counts from 0 on"
    assert grown.queries["Q_1"]["rowsIn"] == 100
    one, two = samples(engine_tells(query(read=100)), engine_tells(query(read=300), cpu_ms=500))
    three = sampled(4100, two.clock, two.told, OWN, two)
    assert three.queries["Q_1"]["inRate"] == two.queries["Q_1"]["inRate"] == 100.0
    assert three.server["jvmCpu"] == two.server["jvmCpu"] == 0.25
    assert one.server["jvmCpu"] is None


def test_a_jvm_that_does_not_answer_is_no_query_without_records() -> None:
    """When it answers again, its counts of before are no records of this second."""
    away = replace(engine_tells(query(figures=QueryFigures(Counts()))), age=None)
    _, silent, again, later = samples(
        engine_tells(query(read=100)), away, engine_tells(query(read=900)), engine_tells(query(read=920))
    )
    assert [silent.queries["Q_1"][name] for name in ("rowsIn", "late", "inRate", "lag")] == [None] * 4
    assert (again.queries["Q_1"]["rowsIn"], again.queries["Q_1"]["inRate"]) == (900, None)
    assert later.queries["Q_1"]["inRate"] == 10.0


def test_old_event_times_say_nothing_of_latency() -> None:
    counts = Counts(took={10 * 365 * 86_400_000: 5})
    [sample] = samples(engine_tells(query(figures=QueryFigures(counts))))
    assert (sample.queries["Q_1"]["p50"], sample.queries["Q_1"]["p99"]) == (None, None)


def test_only_what_has_changed() -> None:
    before, now = samples(
        engine_tells(query("A", read=1), query("B")), engine_tells(query("A", read=3, error="why"), query("C"))
    )
    told = changes(seen(before, ALL), seen(now, ALL))
    assert told["queries"]["A"] == {
        "rowsIn": 3, "inRate": 1.0, "outRate": 0.0, "readRates": {"rides": 1.0}, "error": "why"
    }  # fmt: skip
    assert told["queries"]["C"]["state"] == "RUNNING" and told["gone"] == ["B"]
    assert "topics" in told and "heapUsed" not in told["server"]
    assert changes(seen(now, ALL), seen(now, ALL)) == {}


def test_nothing_is_told_of_what_one_does_not_see() -> None:
    told = engine_tells(query("PAY", read=10), query("HUSH", read=30))
    _, sample = samples(engine_tells(query("PAY"), query("HUSH")), told)
    view = seen(sample, Sight(frozenset({"PAY"}), frozenset({"rides"}), False))
    assert [*view.queries] == ["PAY"] and view.server is None
    assert view.topics == {"rides": {"readRate": 5.0, "writeRate": None}}, "what the other query reads is not in it"
    assert seen(sample, ALL).topics["rides"]["readRate"] == 20.0


def looking(engine: FakeEngine, doing: Callable[[Sampler], Awaitable[None]]) -> None:
    async def run() -> None:
        sampler = Sampler(Backend(engine), lambda: 2)
        sampler.watch()
        async with asyncio.timeout(30):
            await doing(sampler)

    asyncio.run(run())


def test_one_look_for_all_who_watch() -> None:
    engine = FakeEngine()
    engine.told = engine_tells(query())

    async def watched(sampler: Sampler) -> None:
        for _ in range(9):
            sampler.watch()
        numbers = await asyncio.gather(*(sampler.after(0) for _ in range(10)))
        assert numbers == [1] * 10 and engine.scrapes == 1
        lines = {id(sampler.line(Sight(), "v", full=True)) for _ in range(10)}
        assert len(lines) == 1, "and it is written once"

    looking(engine, watched)


def test_who_is_slow_skips() -> None:
    engine = FakeEngine()
    engine.told = engine_tells(query())

    async def slow(sampler: Sampler) -> None:
        assert await sampler.after(0) == 1
        engine.told = engine_tells(query(read=5))
        while sampler.number < 4:
            await sampler.after(sampler.number)
        taken = await sampler.after(1)
        assert taken >= 4, "what lies between is not kept"
        told = json.loads(sampler.line(Sight(), "v", full=taken != 2))
        assert told["full"] and told["queries"]["Q_1"]["rowsIn"] == 5
        assert "queries" not in json.loads(sampler.line(Sight(), "v", full=False)), "nothing has changed"

    looking(engine, slow)


def test_a_look_that_fails_is_not_the_last() -> None:
    engine = FakeEngine()
    engine.told = engine_tells(query())
    asked: list[int] = []

    def odd() -> EngineMetrics:
        asked.append(1)
        if len(asked) == 1:
            raise RuntimeError("nobody saw this coming")
        return engine.told

    vars(engine)["metrics"] = odd

    async def watched(sampler: Sampler) -> None:
        assert await sampler.after(0) == 1

    looking(engine, watched)


# ---------------------------------------------------------------- over HTTP


def lines(http: httpx.Client, count: int, path: str = "/figures") -> list[dict[str, Any]]:
    with http.stream("GET", path) as answer:
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
        return [json.loads(line) for line in islice(answer.iter_lines(), count)]


def test_a_stream(http: httpx.Client, engine: FakeEngine) -> None:
    engine.told = engine_tells(query())
    first, second = lines(http, 2)
    assert first["full"] and first["queries"]["Q_1"]["lag"] == 3 and first["server"]["watchers"] == 1
    assert "full" not in second and second["at"] > first["at"] and second["graph"] == first["graph"]
    assert "lag" not in second.get("queries", {}).get("Q_1", {})
    assert [line["full"] for line in lines(http, 9, "/figures?limit=1")] == [True], "and it ends"
    for wrong in ("0", "-1", "x", "1e3"):
        assert http.get(f"/figures?limit={wrong}").json()["error_code"] == 40000


def test_over_http_2(http2: httpx.Client, engine: FakeEngine) -> None:
    engine.told = engine_tells(query())
    assert len(lines(http2, 2)) == 2


def test_a_server_that_stops_says_so(engine: FakeEngine) -> None:
    with ServerThread(engine) as server, httpx.stream("GET", f"{server.url}/figures", trust_env=False) as answer:
        told = answer.iter_lines()
        next(told)
        stopping = asyncio.run_coroutine_threadsafe(server.backend.shut_down(), loop_of(server))
        last = [json.loads(line) for line in told][-1]
        stopping.result(30)
    assert last["error"]["error_code"] == 50303


def loop_of(server: ServerThread) -> asyncio.AbstractEventLoop:
    assert server._loop is not None
    return server._loop


def test_the_history_over_http(http: httpx.Client, engine: FakeEngine) -> None:
    engine.told = engine_tells(query())
    lines(http, 2)
    told = http.get("/figures/history").json()
    assert told["query"] == SERVER and set(told["series"]) == set(SERVER_SERIES)
    assert len(told["times"]) >= 2 and {len(s) for s in told["series"].values()} == {len(told["times"])}
    unknown = http.get("/figures/history?query=NONE")
    assert (unknown.status_code, unknown.json()["ksqlpy"]["code"]) == (404, "unknown-query")


# ---------------------------------------------------------------- the hour


def test_an_hour_is_kept_and_no_more() -> None:
    now = [0.0]
    history = History(lambda name: QUERY_SERIES, lambda: now[0])
    for number in range(kept.LENGTH + 100):
        now[0] = number * 1000.0
        history.put(now[0], {"Q": {"lag": number, "inRate": 0.1, "p50": None}})
    times, series = history.of("Q")
    assert len(times) == kept.LENGTH and times[-1] == int(now[0]) and times[0] == 100_000
    assert (series["lag"][-1], series["inRate"][0], series["p50"][0]) == (kept.LENGTH + 99, 0.1, None)
    now[0] += 3_590_000
    assert len(history.of("Q")[0]) == 11, "what is older is not told"


def test_its_memory_has_a_bound() -> None:
    history = History(lambda name: QUERY_SERIES, lambda: 0.0)
    history.put(0, {"Q": {}})
    one = history.size
    for number in range(3 * kept.LENGTH // 1000):
        history.put(number, {"Q": {"lag": 1e12}})
    assert history.size == one == kept.LENGTH * (8 + 4 * len(QUERY_SERIES)), "112 KiB a query, as the page says"
    history.put(0, {})
    assert history.of("Q") == ([], {name: [] for name in QUERY_SERIES}), "a query that is gone is forgotten"
    assert history.size == kept.LENGTH * 8


def test_more_queries_than_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 2)
    history = History(lambda name: QUERY_SERIES, lambda: 0.0)
    history.put(0, {name: {"lag": 1} for name in "ABC"})
    assert [bool(history.of(name)[0]) for name in "ABC"] == [True, True, False]
