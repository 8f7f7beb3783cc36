"""What statements answer: the examples in ``answers.txt``, each on an engine of its own without Kafka and Spark.

A block is SQL, ``----``, and what comes: one line an answer, or the drawing of the refusal. The statements before the
first block are run ahead of each. Set KSQLPY_REWRITE to rewrite the answers, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.errors import KsqlError
from ksqlpy.testing.memory import MemoryEngine

FILE = Path(__file__).with_name("answers.txt")
START, *BLOCKS = FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")
EXAMPLES = [block.split("\n----\n") if "\n----\n" in block else [block, ""] for block in BLOCKS]


def line(entity: dict[str, Any]) -> str:
    """What an example shows of an answer."""
    return "\n".join([_message(entity), *(f"warning: {w['message']}" for w in entity["warnings"])])


def _message(entity: dict[str, Any]) -> str:
    match entity:
        case {"@type": "currentStatus", "commandStatus": {"message": message}} | {"message": message}:
            return str(message)
        case {"types": types}:
            return "types: " + ", ".join(f"{n} {t['type']}" for n, t in types.items())
        case {"variables": variables}:
            return "variables: " + ", ".join(f"{v['name']}={v['value']}" for v in variables)
        case {"queries": queries}:
            return "queries: " + ", ".join(q["id"] for q in queries)
        case {"streams": sources} | {"tables": sources}:
            return f"{entity['@type']}: " + ", ".join(s["name"] for s in sources)
        case {"sourceDescription": d}:
            columns = [f"{f['name']} {f['schema']['type']}{' KEY' if f.get('type') else ''}" for f in d["fields"]]
            window = f" in windows of kind {d['windowType']}" if d["windowType"] else ""
            return f"{d['name']}: {', '.join(columns)}{window}"
        case {"sourceDescriptions": described}:
            return "described: " + ", ".join(d["name"] for d in described)
        case {"@type": "assert_schema", "subject": subject, "id": number, "exists": exists}:
            return f"schema {subject} {number} {'is there' if exists else 'is not there'}"
        case {"topicName": topic, "exists": exists}:
            return f"topic {topic} {'is there' if exists else 'is not there'}"
        case {"@type": "function_names", "functions": functions}:
            return "functions: " + ", ".join(f"{f['name']} {f['type']}" for f in functions if f["category"] == "PYTHON")
        case {"@type": "describe_function", "name": name, "python": python, "description": about}:
            told = {
                key: value for key, value in python.items() if key not in ("hash", "definition") and value is not None
            }
            return "\n".join([f"{name}: {about}", *(f"{key}: {value}" for key, value in told.items())])
        case {"queryDescription": d}:
            return str(d["topology"])
    raise AssertionError(entity)


def answer(sql: str, start: str = START) -> str:
    # Nothing is run, so that no Spark session is needed.
    engine = MemoryEngine(None, number_queries=True)  # type: ignore[arg-type]
    engine.execute(start, {"auto.offset.reset": "earliest"})
    try:
        return "\n".join(map(line, engine.execute(sql, {"auto.offset.reset": "earliest"}))) or "nothing"
    except KsqlError as e:
        return "\n".join([*map(line, e.entities), e.render()])


@pytest.mark.parametrize(("sql", "expected"), EXAMPLES, ids=[e[0].split("\n", 1)[0][:70] for e in EXAMPLES])
def test_answer_is_as_written(sql: str, expected: str) -> None:
    assert answer(sql) == expected


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    FILE.write_text("\n\n".join([START, *(f"{s}\n----\n{answer(s)}" for s, _ in EXAMPLES)]) + "\n", encoding="utf-8")
