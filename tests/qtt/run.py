"""One case run: its statements, its inputs, its queries, on the planner and the Spark plans of the product."""

from __future__ import annotations

import base64
import shutil
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from ksqlpy.catalog import Source
from ksqlpy.errors import KsqlError
from ksqlpy.spark.spec import QuerySpec
from ksqlpy.sql import nodes, parse
from ksqlpy.testing.memory import MemoryEngine, Stored, run_query
from ksqlpy.testing.records import DeadLetter

from .cases import Case
from .encoding import Seen, decoded, encoded
from .schemas import Schemas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "IGNORED",
    "PARTITIONS",
    "Ran",
    "by_topic_noted",
    "declared_topics",
    "first_line",
    "offer_topics",
    "run_case",
    "unsaid_partitions",
]

IGNORED = (
    "ksql.streams.__emit.interval.ms.kstreams.windowed.aggregation__",
    "use.exact.numeric.comparison",
    "ksql.functions.substring.legacy.args",
    "ksql.streams.topology.optimization",
    "ksql.windowed.session.key.legacy",
    "ksql.create.or.replace.enabled",
)
"""Properties of cases that change no result here."""


PARTITIONS = 4
"""Of topics of which nothing is said, where a case looks at their number: so many as ksqlDB's runners give them."""


@dataclass
class Ran:
    """What came of a case.

    ``refused``: what its statement number ``refused_at`` was refused with; ``crash``: an exception that is no refusal;
    ``failure``: of a query while it ran; ``dead``: records that could not be read.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)
    topics: dict[str, list[Seen]] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)
    refused: KsqlError | None = None
    refused_at: int = -1
    crash: str | None = None
    failure: str | None = None
    dead: list[DeadLetter] = field(default_factory=list)
    queries: int = 0


def run_case(case: Case, session: SparkSession, folder: Path | None = None) -> Ran:
    """Runs a case; raises nothing, whatever happens is in the answer. ``folder``: for its files, best in memory."""
    engine = MemoryEngine(session, number_queries=True)
    ran = Ran()
    by_topic: dict[str, Source] = {}
    schemas = Schemas(engine.config.registry())
    schemas.offer(case.topics, sum(map(declared_schemas, case.statements)))
    wanted = dict(t for s in case.statements for t in declared_topics(s))
    for topic in case.topics:
        if topic["name"] not in engine.broker.log:
            partitions = topic.get("partitions") or wanted.get(topic["name"], 1)
            engine.broker.create_topic(topic["name"], partitions, None, {})
    properties = {k: v for k, v in case.properties.items() if k not in IGNORED}
    # EMIT FINAL loses the windows that ksqlDB loses: these cases say so (docs/differences.md).
    properties = {"auto.offset.reset": "earliest", "ksqlpy.emit.final.forgetful": "true", **properties}
    for number, statement in enumerate(map(schemas.renumbered, case.statements)):
        try:
            offer_topics(statement, engine, unsaid_partitions(case))
            engine.execute(statement, properties)
        except KsqlError as e:
            ran.refused, ran.refused_at = e, number
            return ran
        except Exception as e:  # a fault of the engine, which belongs to the case
            ran.crash = f"{type(e).__name__}: {first_line(e)} {_place(e)}"
            return ran
        by_topic_noted(engine.catalog.sources.values(), by_topic)
    try:
        _feed(case, engine, by_topic, schemas)
    except (ValueError, KeyError) as e:
        ran.crash = f"input: {e}"
        return ran
    _run_queries(case, engine, ran, folder)
    ran.sources = engine.catalog.sources
    ran.partitions = {t: len(p) for t, p in engine.broker.topics().items()}
    found = engine.broker.records()
    ran.topics = {t: [decoded(r, by_topic.get(t), schemas) for r in records] for t, records in found.items()}
    return ran


def unsaid_partitions(case: Case) -> int:
    """Of topics of which the case says nothing: one, whose order is certain, unless it looks at their numbers."""
    asked = any(t.get("partitions") is not None for t in case.expected_topics.get("topics") or ())
    return PARTITIONS if asked else 1


def offer_topics(statement: str, engine: MemoryEngine, partitions: int = 1) -> None:
    """Makes the topics that a text's CREATE statements read; those of queries are made by the engine.

    ``partitions``: of topics of which nothing is said.
    """
    for topic, declared in declared_topics(statement, partitions):
        if topic not in engine.broker.log:
            engine.broker.create_topic(topic, declared, None, {})


def declared_topics(statement: str, default: int = 1) -> Iterator[tuple[str, int]]:
    """The topics, with their partitions, that a text's CREATE statements read; none of a text that is refused.

    ``default``: of topics of which it says none.
    """
    try:
        parsed = parse(statement)
    except KsqlError:
        return  # the engine will say so
    for p in parsed:
        if not isinstance(p.node, nodes.CreateSource) or p.node.args.get("query") is not None:
            continue
        given = {q.this.name.upper(): q.args["value"] for q in p.node.args.get("properties") or ()}
        topic, partitions = given.get("KAFKA_TOPIC"), given.get("PARTITIONS")
        if isinstance(topic, exp.Literal):
            yield (
                topic.this,
                int(partitions.this) if isinstance(partitions, exp.Literal) and partitions.this.isdigit() else default,
            )


def declared_schemas(statement: str) -> int:
    """How many schemas follow from the columns that a text's CREATE statements list."""
    try:
        parsed = parse(statement)
    except KsqlError:
        return 0
    count = 0
    for p in parsed:
        if not isinstance(p.node, nodes.CreateSource) or p.node.args.get("query") is not None:
            continue
        given = {q.this.name.upper(): q.args["value"].name for q in p.node.args.get("properties") or ()}
        marks = {c.args.get("constraint") for c in p.node.args.get("columns") or ()}
        for which, listed in (("KEY", bool(marks & {"KEY", "PRIMARY KEY"})), ("VALUE", None in marks)):
            format_ = (given.get(f"{which}_FORMAT") or given.get("FORMAT") or "").upper()
            count += listed and format_ in ("AVRO", "JSON_SR", "PROTOBUF")
    return count


def by_topic_noted(sources: Iterable[Source], by_topic: dict[str, Source]) -> None:
    """Remembers the first source of each topic, also when it is dropped later."""
    for source in sources:
        known = by_topic.get(source.topic)
        if known is None or known.name == source.name:
            by_topic[source.topic] = source


def _feed(case: Case, engine: MemoryEngine, by_topic: Mapping[str, Source], schemas: Schemas) -> None:
    for written in case.inputs:
        headers = tuple((n, None if v is None else base64.b64decode(v)) for n, v in written.headers)
        if written.topic not in engine.broker.log:
            engine.broker.create_topic(written.topic, 1, None, {})
        engine.broker.append(encoded(written, by_topic.get(written.topic), headers, schemas), given=True)


def _run_queries(case: Case, engine: MemoryEngine, ran: Ran, folder: Path | None) -> None:
    given = {r.topic for r in case.inputs}
    own = Path(tempfile.mkdtemp(prefix="ksqlpy-qtt-", dir=folder))
    try:
        for number, (query_id, spec) in enumerate(engine.ordered_specs()):
            ran.queries += 1
            try:
                ran.dead += run_query(spec, engine, own / str(number), _piped(spec, engine, given))
            except Exception as e:  # whatever Spark raises belongs to the case
                ran.failure = f"{query_id}: {first_line(e)}"
                return
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _piped(spec: QuerySpec, engine: MemoryEngine, given: set[str]) -> Sequence[Stored]:
    """What a query reads: the case's records in their order across topics, then all of the topics that have none."""
    mine = [s for t in spec.offsets if t in given for s in engine.broker.log[t] if s.given]
    others = [s for t in spec.offsets if t not in given for s in engine.broker.log[t]]
    return [*sorted(mine, key=lambda s: s.arrival), *others]


def first_line(error: Exception) -> str:
    """The sentence of an exception that says most: of Spark's, the deepest cause."""
    text = str(error)
    causes = [line for line in text.splitlines() if line.strip().startswith("Caused by:")]
    line = causes[-1].strip().removeprefix("Caused by:") if causes else (text.strip().splitlines() or [""])[0]
    return line.strip()[:300]


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
