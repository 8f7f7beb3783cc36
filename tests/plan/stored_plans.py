"""Plans for tests: of all cases of tests/streams, as a server without brokers makes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ksqlpy.catalog import Source
from ksqlpy.errors import KsqlError
from ksqlpy.plan import Plan
from ksqlpy.project.offline import Offline, check_statement
from ksqlpy.sql import nodes, parse
from ksqlpy.testing import read_cases

__all__ = ["plans_of", "plans_of_streams", "sources_of_streams"]

STREAMS = Path(__file__).parents[1] / "streams"


def plans_of(sql: str) -> tuple[Mapping[str, Plan], Mapping[str, Source]]:
    """The plans and the sources that statements make, up to the first that is refused."""
    sandbox = Offline().sandbox()
    properties: dict[str, object] = {}
    try:
        for parsed in parse(sql):
            check_statement(parsed, sandbox, properties)
            if isinstance(parsed.node, nodes.SetProperty):
                properties[parsed.node.this.this] = parsed.node.expression.this
    except KsqlError:
        pass
    return sandbox.plans, sandbox.catalog.sources


@cache
def _streams() -> tuple[tuple[str, Mapping[str, Plan], Mapping[str, Source]], ...]:
    cases = [case for file in sorted(STREAMS.glob("*.test")) for case in read_cases(file)]
    return tuple((f"{c.file.stem}: {c.name}", *plans_of(c.shared + c.sql)) for c in cases)


def plans_of_streams() -> Iterator[tuple[str, Plan]]:
    """Each plan of the cases, with the name of its case."""
    for name, plans, _ in _streams():
        for plan in plans.values():
            yield name, plan


def sources_of_streams() -> Iterator[Source]:
    """Each source of the cases."""
    for _, _, sources in _streams():
        yield from sources.values()
