"""Rows as JSON make the records that INSERT VALUES makes, and are refused where it refuses: ``jsonrows.txt``."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksqlpy.analysis import analyze_insert
from ksqlpy.analysis.jsonrows import JsonRows
from ksqlpy.errors import AnalysisProblem, KsqlError
from ksqlpy.formats import codec
from ksqlpy.runtime.statements.insert import plain_record
from ksqlpy.sql import parse
from ksqlpy.testing.memory import MemoryEngine

BLOCKS = Path(__file__).with_name("jsonrows.txt").read_text(encoding="utf-8").strip().split("\n\n")
FORMATS = ["JSON", "KAFKA", "DELIMITED", "AVRO", "PROTOBUF_NOSR", "JSON_SR"]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_rows(number: int, format_: str) -> None:
    create, *cases = BLOCKS[number].split("\n  ")
    engine = MemoryEngine(None)  # type: ignore[arg-type]
    try:
        engine.execute(f"{create} WITH (KAFKA_TOPIC = 't', PARTITIONS = 1, FORMAT = '{format_}');")
    except KsqlError:
        return  # the format cannot carry these columns
    [source] = engine.catalog.sources.values()
    rows = JsonRows(source)
    for case in cases:
        row, equal, insert = case.partition("  =  ")
        if not equal:
            row, _, refusal = case.partition("  !  ")
            with pytest.raises(AnalysisProblem) as caught:
                rows.read(row.encode())
            assert f"{caught.value.code}: {caught.value.message}" == refusal
            continue
        values, time = rows.read(row.encode())
        found = dict(zip([c.name for c in source.written], values, strict=True))
        key = codec(source.key).encode([found[c.name] for c in source.keys])
        value = codec(source.value).encode([found[c.name] for c in source.values])
        [parsed] = parse(f"INSERT INTO {source.name} {insert};")
        assert (key, value, time) == plain_record(analyze_insert(parsed, engine.catalog)), row


@pytest.mark.parametrize("text", ['{"V": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"V": "\xff'])
def test_what_json_readers_give_up_at(text: str) -> None:
    engine = MemoryEngine(None)  # type: ignore[arg-type]
    engine.execute("CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC = 't', PARTITIONS = 1, FORMAT = 'JSON');")
    rows = JsonRows(engine.catalog.sources["S"])
    with pytest.raises(AnalysisProblem) as caught:
        rows.read(text.encode("latin-1"))
    assert caught.value.code == "bad-row"


def test_many_shapes_are_read() -> None:
    engine = MemoryEngine(None)  # type: ignore[arg-type]
    columns = ", ".join(f"c{n} INT" for n in range(200))
    engine.execute(f"CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC = 't', PARTITIONS = 1, FORMAT = 'JSON');")
    rows = JsonRows(engine.catalog.sources["S"])
    for n in range(200):
        values, _ = rows.read(b'{"c%d": %d}' % (n, n))
        assert values[n] == n and values.count(None) == 199
