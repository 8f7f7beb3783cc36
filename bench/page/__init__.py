"""The web page in Chromium before a real server: what is promised of it, measured.

The browser, the server, its JVM and the broker share the processors of this machine. Parts have servers of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bench.page.browsers import Bench
from bench.page.complete import complete
from bench.page.flow import flow
from bench.page.load import load
from bench.page.pages import pages
from bench.page.query import query
from bench.page.rows import rows
from ksqlpy.embedded.kafka import EmbeddedKafka
from ksqlpy.errors import KsqlError
from tests.web.chromium import BUILT, PROGRAMS, chromium

__all__ = ["PARTS", "page"]

_PARTS: tuple[Callable[[Bench], Iterator[str]], ...] = (load, complete, flow, pages, query, rows)

PARTS = tuple(part.__name__ for part in _PARTS)


def page(parts: Sequence[str], *, rounds: int, queries: int, rate: int, seconds: float, master: str) -> Iterator[str]:
    """A line for each figure of these parts.

    ``rounds``: loads of ``load``; ``queries``: of ``pages``; ``rate``, ``seconds``: of the rows of ``rows``.
    """
    if chromium() is None or not BUILT.exists():
        yield "no figures: the page is not built (make web)" if chromium() else f"no figures: none of {PROGRAMS}"
        return
    with EmbeddedKafka() as broker:
        bench = Bench(broker.bootstrap, master, rounds, queries, rate, seconds)
        for part in _PARTS:
            if part.__name__ not in parts:
                continue
            try:
                yield from (f"{part.__name__}: {line}" for line in part(bench))
            except (RuntimeError, KsqlError) as e:  # the others' figures are still worth having
                yield f"{part.__name__}: no figures: {e}"
