"""The headers by which traces go on: those that are wrong are ignored, as W3C's rules say."""

from __future__ import annotations

import pytest

from ksqlpy.config import Config
from ksqlpy.errors import ConfigProblem
from ksqlpy.tracing import TraceHeaders, of_request, wanted

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def given(*headers: tuple[str, str]) -> TraceHeaders | None:
    return of_request([(name.encode(), value.encode("latin-1")) for name, value in headers])


def test_those_of_a_request() -> None:
    assert given() is None
    assert given(("traceparent", PARENT)) == (PARENT, "")
    states = (("tracestate", "a=1"), ("traceparent", PARENT), ("tracestate", "b=2,c=3"))
    assert given(*states) == (PARENT, "a=1,b=2,c=3")
    assert given(("traceparent", f"01{PARENT[2:]}-more")) == (f"01{PARENT[2:]}-more", ""), "of a later version"
    assert TraceHeaders(PARENT, "a=1").of_record() == [("traceparent", PARENT.encode()), ("tracestate", b"a=1")]
    assert TraceHeaders(PARENT).of_record() == [("traceparent", PARENT.encode())]


@pytest.mark.parametrize(
    "parent",
    [
        "",
        "nonsense",
        PARENT.upper(),
        PARENT[:-1],
        f"{PARENT}-more",
        f"ff{PARENT[2:]}",
        PARENT.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
        PARENT.replace("b7ad6b7169203331", "0" * 16),
        f"{PARENT}\r\nx: y",
        PARENT.replace("0af", "\xb2af"),
    ],
)
def test_wrong_ones_are_ignored(parent: str) -> None:
    assert given(("traceparent", parent), ("tracestate", "a=1")) is None


def test_two_parents_are_none() -> None:
    assert given(("traceparent", PARENT), ("traceparent", PARENT)) is None


def test_a_long_state_is_left_out() -> None:
    assert given(("traceparent", PARENT), ("tracestate", "a=" + "x" * 511)) == (PARENT, "")
    assert given(("traceparent", PARENT), ("tracestate", "a=\xe9")) == (PARENT, "")


def test_properties() -> None:
    assert not wanted(Config.of({}))
    assert wanted(Config.of({"ksqlpy.traces.records": "TRUE"}))
    name = "ksqlpy.traces.endpoint"
    for url in ("http://collector:4318", "http://collector:4318/"):
        assert Config.of({name: url}).get(name) == "http://collector:4318/v1/traces"
    assert Config.of({name: "https://[::1]/otlp"}).get(name) == "https://[::1]/otlp"
    for url in ("collector:4318", "ftp://collector", "http://me:secret@collector/v1/traces", "http://c/?key=secret"):
        with pytest.raises(ConfigProblem, match="must be a URL such as"):
            Config.of({name: url})
    for ratio in ("-1", "1.5", "half", "2", "1e-3", "nan"):
        with pytest.raises(ConfigProblem, match="must be a number from 0 to 1"):
            Config.of({"ksqlpy.traces.ratio": ratio})
    assert Config.of({"ksqlpy.traces.ratio": " 0.05 "}).get("ksqlpy.traces.ratio") == "0.05"
