"""A collector of OpenTelemetry's spans: takes them by OTLP over HTTP, as exporters send them, and keeps them."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Collected", "Collector", "collector"]


@dataclass(frozen=True)
class Collected:
    """A span. ``parent``: the id of that which it is a step of, empty for none; ``service``: of the resource."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, str]
    failed: bool
    service: dict[str, str]


@dataclass
class Collector:
    """Where it listens, and what it has got."""

    url: str = ""
    spans: list[Collected] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        """Keeps the spans of a request."""
        for of_process in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = {a.key: a.value.string_value for a in of_process.resource.attributes}
            for scope in of_process.scope_spans:
                for s in scope.spans:
                    attributes = {a.key: a.value.string_value or str(a.value.int_value) for a in s.attributes}
                    ids = (s.trace_id.hex(), s.span_id.hex(), s.parent_span_id.hex())
                    self.spans.append(Collected(s.name, *ids, attributes, s.status.code == 2, service))

    def named(self, name: str) -> list[Collected]:
        """The spans of a name."""
        return [s for s in self.spans if s.name == name]

    def tree(self, trace: str) -> list[str]:
        """The spans of a trace in the order of their ends, each with the names of those around it: ``a/b/c``."""
        own = {s.id: s for s in self.spans if s.trace == trace}

        def path(span: Collected) -> str:
            around = own.get(span.parent)
            return span.name if around is None else f"{path(around)}/{span.name}"

        return [path(s) for s in own.values()]


@contextmanager
def collector() -> Iterator[Collector]:
    """One that listens on a free port of this machine."""
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"
        thread = threading.Thread(target=server.serve_forever, name="collector")
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
