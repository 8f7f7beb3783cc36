"""What runs the cases of statement files, for the commands that do so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ksqlpy.testing import Runner

__all__ = ["IN_MEMORY", "ON_KAFKA", "case_runner"]

IN_MEMORY, ON_KAFKA = 4, 6
"""Cases at the same time: they wait for queries to start far more than they compute."""


@contextlib.contextmanager
def case_runner(*, kafka: bool) -> Iterator[Runner]:
    """What runs the cases, with all that it needs; ``kafka``: on a broker of its own, else in memory."""
    from ksqlpy.embedded.cache import StatusLine
    from ksqlpy.embedded.folders import scratch_folder

    tell = StatusLine()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch_folder("ksqlpy-test-"))
        if kafka:
            from ksqlpy.config import Config
            from ksqlpy.embedded.process import ended_in_order, start_whole
            from ksqlpy.runtime import Engine
            from ksqlpy.testing import KafkaRunner
            from ksqlpy.testing.registry import shared_registry

            stack.enter_context(ended_in_order())
            registry, name = shared_registry()
            properties = {
                "ksqlpy.data.dir": str(folder),
                "ksqlpy.warm.up": "false",
                "ksql.schema.registry.url": registry.url(name),
                "ksqlpy.functions.python.enabled": "true",
            }
            engine = Engine(Config.of(properties), tell)
            start_whole(engine.start, engine.stop, tell)
            stack.callback(engine.stop)
            yield KafkaRunner(engine)
        else:
            from ksqlpy.local.session import LocalSpark
            from ksqlpy.testing import MemoryRunner

            yield MemoryRunner(stack.enter_context(LocalSpark(folder, tell)), folder)
