"""Debian's Prometheus scrapes a server, with the configuration and the rules of examples/monitoring."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksqlpy.figures import Counts, EngineMetrics, QueryFigures, QueryMetrics
from ksqlpy.server.run import ServerThread
from tests.support.fake_engine import FakeEngine
from tests.support.waiting import until

EXAMPLE = Path(__file__).parents[2] / "examples" / "monitoring"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="there is no prometheus")
def test_prometheus_scrapes_it(server: ServerThread, engine: FakeEngine, tmp_path: Path) -> None:
    query = QueryMetrics("CSAS_OUT_1", "OUT", "ERROR", None, 0, 0.0, QueryFigures(Counts({"rides": 12})))
    engine.told = EngineMetrics("0", "default_", (query,))
    shutil.copy(EXAMPLE / "alerts.yml", tmp_path)
    example = (EXAMPLE / "prometheus.yml").read_text(encoding="utf-8")
    given = example.replace("127.0.0.1:8088", server.url.removeprefix("http://"))
    assert given != example
    text = f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n{given}"
    (tmp_path / "prometheus.yml").write_text(text, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address={address}"]
    with subprocess.Popen(["prometheus", *options], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        try:

            def asked(path: str, **parameters: str) -> Any:
                try:
                    answer = httpx.get(f"http://{address}/api/v1/{path}", params=parameters, trust_env=False)
                except httpx.TransportError:
                    return {}
                return answer.json() if answer.status_code == 200 else {}

            def value(expr: str) -> str | None:
                found = asked("query", query=expr).get("data", {}).get("result")
                return found[0]["value"][1] if found else None

            assert until(lambda: value('ksqlpy_query_rows_in_total{query="CSAS_OUT_1"}') == "12")
            assert value("up") == "1"

            def pending() -> list[str]:
                return [a["labels"]["alertname"] for a in asked("alerts").get("data", {}).get("alerts", [])]

            assert until(lambda: set(pending()) == {"KsqlpyQueryFails", "KsqlpyQueryDoesNotRun"}), pending()
        finally:
            process.terminate()
