"""A schema registry that answers whatever a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["DEEP", "answering", "doubling_avro", "whole"]

DEEP = 40


@contextmanager
def answering(write: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """The address of a server that answers each GET by ``write``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                write(self)
            except OSError:  # the client has had enough
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def whole(body: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answers with this body."""

    def write(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    return write


def doubling_avro() -> str:
    """Records that hold the next one twice, forty levels deep."""
    schema: object = {"type": "record", "name": f"R{DEEP}", "fields": [{"name": "x", "type": "int"}]}
    for i in reversed(range(DEEP)):
        fields = [{"name": "a", "type": schema}, {"name": "b", "type": f"R{i + 1}"}]
        schema = {"type": "record", "name": f"R{i}", "fields": fields}
    return json.dumps(schema)
