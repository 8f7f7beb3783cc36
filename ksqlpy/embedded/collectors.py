"""Which garbage collector a JVM of a Spark cluster gets: the serial one where processors are few and the heap is small.

G1 collects in threads of its own, and all compiled code tells it of each reference that is stored: more to compile, and
more CPU where no processor is idle.
"""

from __future__ import annotations

import os
import re

__all__ = ["small_collector"]

PROCESSORS = 2
"""Up to so many, G1 has no processor to itself."""

HEAP_MB = 2048
"""Up to so large a heap, the serial collector stops the JVM for a fraction of a second at most."""

_NAMED = re.compile(r"-XX:\+Use(Serial|Parallel|G1|Z|Shenandoah|Epsilon)GC\b")
_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_MB = {"k": 1 / 1024, "": 1, "m": 1, "g": 1024, "t": 1024 * 1024}


def small_collector(heap: str, options: str) -> tuple[str, ...]:
    """The option of a JVM on this machine that names its collector, or none: then Java or its user choose.

    ``heap``: its size as Spark's settings have it, such as ``1g`` (a number alone is MiB); ``options``: those of its
    user, who may name a collector.
    """
    size = _SIZE.fullmatch(heap.strip())
    large = size is None or int(size[1]) * _MB[size[2].lower()] > HEAP_MB
    if large or (os.cpu_count() or 1) > PROCESSORS or _NAMED.search(options):
        return ()
    return ("-XX:+UseSerialGC",)
