"""Spans of requests: a tree for each, and nothing at all where nobody wants them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ksqlpy import tracing
from ksqlpy.config import Config
from ksqlpy.errors import EnvironmentProblem, KsqlError
from ksqlpy.tracing import TraceHeaders, sdk, spans
from ksqlpy.tracing.sdk import Sdk
from tests.support.waiting import until

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = TraceHeaders(f"00-{TRACE}-{SPAN}-01", "a=1")


class Traced:
    """A tracer whose spans stay in memory."""

    def __init__(self, ratio: float = 1.0) -> None:
        self._exporter = InMemorySpanExporter()
        self._sdk = Sdk(self._exporter, "default_", ratio)

    def __enter__(self) -> Traced:
        spans.use(self._sdk)
        return self

    def __exit__(self, *raised: object) -> None:
        spans.use(None)
        self._sdk.close()

    def ended(self) -> dict[str, ReadableSpan]:
        spans.use(None)
        self._sdk.close()
        return {s.name: s for s in self._exporter.get_finished_spans()}


@pytest.fixture
def traced() -> Iterator[Traced]:
    with Traced() as found:
        yield found


def test_steps_are_children_of_what_they_are_steps_of(traced: Traced) -> None:
    with tracing.request("POST /ksql", GIVEN, {"http.route": "/ksql"}, spans=True) as whole:
        with tracing.span("analyse", {"ksqlpy.statement": "CREATE STREAM"}):
            later = tracing.begin("query start")
            with tracing.span("access check"):
                pass
        whole.set("http.response.status_code", 200)
        inside = tracing.current()
    thread = threading.Thread(target=later.end)
    thread.start()
    thread.join()
    found = traced.ended()
    assert list(found) == ["access check", "analyse", "POST /ksql", "query start"]
    ids = {s.context.span_id: name for name, s in found.items() if s.context is not None}
    around = {name: ids.get(s.parent.span_id, "") if s.parent is not None else None for name, s in found.items()}
    assert around == {
        "access check": "analyse", "analyse": "POST /ksql", "query start": "analyse", "POST /ksql": "",
    }  # fmt: skip
    root = found["POST /ksql"]
    assert root.context is not None and root.parent is not None
    assert (f"{root.context.trace_id:032x}", f"{root.parent.span_id:016x}") == (TRACE, SPAN)
    assert root.attributes == {"http.route": "/ksql", "http.response.status_code": 200}
    assert (root.resource.attributes["service.name"], root.resource.attributes["service.namespace"]) == (
        "ksqlpy", "default_",
    )  # fmt: skip
    assert inside == (f"00-{TRACE}-{root.context.span_id:016x}-01", "a=1"), "what goes on from here is its child"


def test_an_error_is_told_by_its_name(traced: Traced) -> None:
    with (
        pytest.raises(KsqlError),
        tracing.request("POST /ksql", None, {}, spans=True),
        tracing.span("analyse"),
    ):
        raise KsqlError("unknown-source", "there is no SALARY_OF_ANNA")
    found = traced.ended()
    step = found["analyse"]
    assert step.attributes is not None and step.attributes["error.type"] == "unknown-source"
    assert not step.status.is_ok
    assert "ANNA" not in step.to_json(), "what a statement says may be nobody's business"


def test_outside_of_a_request_there_are_no_spans(traced: Traced) -> None:
    with tracing.span("command log"):
        tracing.begin("query start").end()
    with tracing.request("GET /metrics", GIVEN, {}, spans=False), tracing.span("figures"):
        assert tracing.current() == GIVEN, "the trace goes on all the same"
    assert tracing.current() is None
    assert traced.ended() == {}


@pytest.mark.parametrize(("flags", "sent"), [("00", []), ("01", ["POST /ksql"])])
def test_who_begins_a_trace_says_whether_it_is_sent(flags: str, sent: list[str]) -> None:
    with Traced(ratio=0.0) as traced:
        given = TraceHeaders(f"00-{TRACE}-{SPAN}-{flags}")
        with tracing.request("POST /ksql", given, {}, spans=True):
            now = tracing.current()
        with tracing.request("POST /query", None, {}, spans=True):
            pass  # none of those that begin here are sent
        assert now is not None and now.traceparent.endswith(f"-{flags}") and SPAN not in now.traceparent
        assert list(traced.ended()) == sent


def test_without_a_collector_nothing_is_made_or_imported() -> None:
    with tracing.request("POST /ksql", GIVEN, {}, spans=True) as whole, tracing.span("parse") as step:
        assert whole is step is tracing.begin("query start") is spans.NOTHING
        assert tracing.current() == GIVEN
    program = (
        "import sys\nfrom ksqlpy import tracing\nfrom ksqlpy.config import Config\n"
        "import ksqlpy.runtime.engine\n"
        "with tracing.sending(Config.of({'ksqlpy.traces.records': 'true'})): pass\n"
        "print(*sorted(m for m in sys.modules if m.startswith('opentelemetry')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ksqlpy.tracing.sdk")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    config = Config.of({"ksqlpy.traces.endpoint": "http://127.0.0.1:1"})
    with pytest.raises(EnvironmentProblem) as caught, tracing.sending(config):
        pass
    assert (caught.value.code, caught.value.hint) == ("missing-package", "pip install 'ksqlpy[traces]'")


def test_a_collector_that_is_away_costs_spans_only(caplog: pytest.LogCaptureFixture) -> None:
    with tracing.sending(Config.of({"ksqlpy.traces.endpoint": "http://127.0.0.1:1"})):
        for _ in range(20):
            with tracing.request("POST /ksql", None, {}, spans=True), tracing.span("parse"):
                pass
    assert tracing.span("parse") is spans.NOTHING
    assert any("opentelemetry" in record.name for record in caplog.records), "which the log says"


def test_a_collector_that_does_not_answer_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "PATIENCE", 0.1)
    asked, answers = threading.Event(), threading.Event()

    class Silent(InMemorySpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            asked.set()
            answers.wait(60)
            return super().export(spans)

    exporter = Silent()
    tracer = Sdk(exporter)
    tracer.request("POST /ksql", None, {}).end()
    tracer.close()
    assert asked.is_set() and not exporter.get_finished_spans()
    answers.set()
    assert until(exporter.get_finished_spans)
