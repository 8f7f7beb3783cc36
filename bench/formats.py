"""Formats side by side: the same rows as JSON, AVRO, JSON_SR and PROTOBUF, and as AVRO of ten schemas."""

from __future__ import annotations

import io
import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import fastavro

from bench.contenders import ours
from bench.jobs import Job
from bench.throughput import Backlog, fill, measure
from ksqlpy.catalog import Source
from ksqlpy.formats import codec
from ksqlpy.formats.avroschema import schema_of
from ksqlpy.runtime import Engine
from ksqlpy.testing.registry import Registry

__all__ = ["format_jobs", "formats"]

SCHEMAS = 10
_FORMATS = ("JSON", "AVRO", "JSON_SR", "PROTOBUF")
_SOURCE = (
    "CREATE STREAM S{{n}} (K STRING KEY, V INT, T DOUBLE, NOTE STRING, G STRING)"
    " WITH (KAFKA_TOPIC='bench_s{{n}}', VALUE_FORMAT='{format}', PARTITIONS={{p}});"
)
_QUERY = "CREATE STREAM {o} AS SELECT K, V, T, NOTE, G FROM S{n} WHERE V >= 0;"

Encode = Callable[[int, list[object]], bytes]


@dataclass(frozen=True)
class _FormatJob(Job):
    """The rows of a backlog in a format; ``encoder`` is asked once the source is there."""

    encoder: Callable[[], Encode] = field(kw_only=True)
    made: list[Encode] = field(default_factory=list)

    def record(self, i: int, now: float) -> tuple[bytes, bytes]:
        """Key and value of the i-th record."""
        if not self.made:
            self.made.append(self.encoder())
        return b"k%d" % (i % self.keys), self.made[0](i, [i, now, "some text of a row", "g"])

    def sent_at(self, value: bytes, sink: Source | None) -> float:
        """By the codec of the sink."""
        assert sink is not None
        row = codec(sink.value).decode(value)
        assert row is not None
        return float(row[[c.name for c in sink.values].index("T")])

    def backlog_record(self, i: int) -> tuple[bytes, bytes]:
        """Key and value (some 80 bytes as JSON) of the i-th record."""
        if not self.made:
            self.made.append(self.encoder())
        key = i % self.keys
        return b"k%d" % key, self.made[0](i, [i, 1.7e9 + i / 1000, "some text of a row", f"g{key % 10}"])


def format_jobs(engine: Engine, registry: Registry) -> list[Job]:
    """The same query in each format, whose latency is measured as that of other jobs."""
    return [_job(engine, registry, name, f"0_{i}") for i, name in enumerate(_FORMATS)]


def formats(engine: Engine, registry: Registry, records: int, rounds: int) -> Iterator[str]:
    """Results a second of each format, and its ratio to JSON's; gives lines as it goes."""
    jobs = [_job(engine, registry, name, f"F{i}") for i, name in enumerate(_FORMATS)]
    jobs.append(_job(engine, registry, "AVRO", f"F{len(jobs)}", schemas=SCHEMAS))
    for i, job in enumerate(jobs):
        yield f"{job.name}: {records:,} records written in {fill(engine, job, f'F{i}', records):.1f} s"
    runs: dict[str, list[Backlog]] = {job.name: [] for job in jobs}
    numbered = list(enumerate(jobs))
    for number in range(rounds):
        turn = number % len(jobs)
        for i, job in (*numbered[turn:], *numbered[:turn]):
            run = measure(engine, ours()[0], job, f"F{i}", f"F{i}_{number}", records)
            runs[job.name].append(run)
            yield f"round {number + 1}, {job.name}: {run.flow:,.0f} results/s, 2nd half {run.second_half:,.0f}"
    yield f"{'format':18} {'flow':>10} {'2nd half':>10}   to JSON's   2nd half"
    flows = {name: statistics.median(r.flow for r in found) for name, found in runs.items()}
    halves = {name: statistics.median(r.second_half for r in found) for name, found in runs.items()}
    for name in flows:
        ratio, late = flows[name] / flows["JSON"], halves[name] / halves["JSON"]
        yield f"{name:18} {flows[name]:>10,.0f} {halves[name]:>10,.0f}   {ratio:>9.2f}   {late:>8.2f}"


def _job(engine: Engine, registry: Registry, format_: str, suffix: str, schemas: int = 1) -> Job:
    def encoder() -> Encode:
        spec = engine.catalog.sources[f"S{suffix}"].value
        if schemas == 1:
            encode = codec(spec).encode
            return lambda i, row: encode(row) or b""
        return _by_schemas(registry, schema_of(replace(spec, schema_id=None)), schemas)

    name = format_ if schemas == 1 else f"{format_}, {schemas} schemas"
    return _FormatJob(name, _SOURCE.format(format=format_), _QUERY, timed=1, encoder=encoder)


def _by_schemas(registry: Registry, schema: str, count: int) -> Encode:
    """Records in turn by so many schemas, each with a further field of its own."""
    parsed, fronts = [], []
    for n in range(count):
        own = json.loads(schema)
        own["fields"].insert(n % len(own["fields"]), {"name": f"MORE_{n}", "type": "long"})
        parsed.append(fastavro.parse_schema(own))
        fronts.append(b"\0" + registry.put(json.dumps(own)).to_bytes(4))

    def encode(i: int, row: list[object]) -> bytes:
        out = io.BytesIO()
        n = i % count
        named = dict(zip(("V", "T", "NOTE", "G"), row, strict=True))
        fastavro.schemaless_writer(out, parsed[n], {**named, f"MORE_{n}": i})
        return fronts[n] + out.getvalue()

    return encode
