"""What somebody is told, by the roles that he has: the examples in ``statements.txt``, each on an engine of its own.

A block is who asks and his roles, SQL, ``----``, and what comes: one line an answer, or the drawing of the refusal. Set
KSQLPY_REWRITE to rewrite the answers, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ksqlpy.access import Principal
from ksqlpy.errors import KsqlError
from tests.access.engine import AccessEngine

FILE = Path(__file__).with_name("statements.txt")
HEAD, *BLOCKS = FILE.read_text(encoding="utf-8").strip("\n").split("\n\n")
EXAMPLES = [(block + "\n").split("\n----\n", 1) for block in BLOCKS]


def line(entity: dict[str, Any]) -> str:
    """What an example shows of an answer."""
    match entity:
        case {"@type": "currentStatus", "commandStatus": {"message": message}} | {"message": message}:
            return "\n".join([str(message), *(f"warning: {w['message']}" for w in entity.get("warnings", ()))])
        case {"grants": grants}:
            return "\n".join(["grants:"] + [f"  {g['role']}: {', '.join(g['rights'])} ON {g['on']}" for g in grants])
        case {"queries": queries}:
            return "queries: " + ", ".join(f"{q['id']} of {q.get('owner', 'nobody')}" for q in queries)
        case {"types": types}:
            return "types: " + ", ".join(types)
        case {"sourceDescription": d}:
            readers = ", ".join(f"{q['id']} of {q.get('owner', 'nobody')}" for q in d["readQueries"])
            return f"{d['name']}: {', '.join(f['name'] for f in d['fields'])}; read by {readers or 'no query'}"
        case {"@type": "describe_function", "name": name, "python": told}:
            source = "with" if "source" in told and told["definition"].get("body") else "without"
            return f"{name}: {source} its source; called by {', '.join(told['queries']) or 'no query'}"
        case {"@type": "rows"}:
            return "rows"
    kind, listed = next((k, v) for k, v in entity.items() if k in ("streams", "tables", "topics", "roles"))
    return f"{kind}: " + ", ".join(x["name"] for x in listed)


def answer(asked: str) -> str:
    who, sql = asked.split("\n", 1)
    name, roles = who.split(":")
    principal = Principal(name, frozenset(r.strip() for r in roles.split(",") if r.strip()), "basic")
    try:
        return "\n".join(map(line, AccessEngine().ask(sql, principal))) or "nothing"
    except KsqlError as e:
        return "\n".join([*map(line, e.entities), f"{e.error_code} {e.render()}"])


@pytest.mark.parametrize(("asked", "expected"), EXAMPLES, ids=[e[0].replace("\n", " ")[:70] for e in EXAMPLES])
def test_answer_is_as_written(asked: str, expected: str) -> None:
    assert answer(asked) == expected.rstrip("\n")


@pytest.mark.skipif("KSQLPY_REWRITE" not in os.environ, reason="rewrites the expectations")
def test_rewrite() -> None:
    FILE.write_text("\n\n".join([HEAD, *(f"{a}\n----\n{answer(a)}" for a, _ in EXAMPLES)]) + "\n", encoding="utf-8")
