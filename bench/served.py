"""A server as a process of its own, for what is measured on clusters."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from ksqlpy.connection import KafkaConnection
from tests.harness.server import Server

__all__ = ["serve"]


def serve(stack: ExitStack, bootstrap: str, master: str, service: str, **settings: str) -> Server:
    """A started server on a Spark master, which ``stack`` ends; its queries read topics from their beginning.

    ``settings``: more properties below ``ksqlpy.spark``, with ``_`` for each dot.
    """
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ksqlpy-bench-")))
    more = {
        "ksqlpy.spark.master": master,
        "ksql.service.id": service,
        "ksql.streams.auto.offset.reset": "earliest",
        **{f"ksqlpy.spark.{name.replace('_', '.')}": value for name, value in settings.items()},
    }
    server = Server(KafkaConnection(bootstrap), folder, more)
    stack.callback(server.close)
    server.start()
    return server
