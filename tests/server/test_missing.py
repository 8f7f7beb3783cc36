"""What docs/differences.md says that the REST API lacks is what it lacks."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "differences.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## What the REST API lacks\n")[1]
ENDPOINTS, FORMS = re.split(r"\nThese forms of an answer", SECTION)
MISSING = re.findall(r"`(GET|POST) (/[^`]*)`", "\n".join(r.split("|")[1] for r in ENDPOINTS.splitlines() if "|" in r))
ABSENT = re.findall(r"^\| `POST (/[^`]*)` \| `([^`]*)` \|", FORMS, re.MULTILINE)


def test_the_tables_are_read() -> None:
    assert len(MISSING) == 10
    assert ABSENT == [
        ("/query-stream", "application/vnd.ksql.v1+json"),
        ("/query", "application/vnd.ksql.v1+protobuf"),
    ]


@pytest.mark.parametrize(("method", "path"), MISSING)
def test_an_endpoint(http: httpx.Client, method: str, path: str) -> None:
    answer = http.request(method, path.format(type="stream", entity="X", action="create"))
    assert (answer.status_code, answer.json()["error_code"]) == (404, 40400)


@pytest.mark.parametrize(("path", "media_type"), ABSENT)
def test_a_form(http: httpx.Client, path: str, media_type: str) -> None:
    sql = "SELECT * FROM rows EMIT CHANGES LIMIT 1;"
    answer = http.post(path, json={"sql": sql, "ksql": sql}, headers={"accept": media_type})
    assert answer.status_code == 406
    other = {"/query-stream": "/query", "/query": "/query-stream"}[path]
    assert http.post(other, json={"sql": sql, "ksql": sql}, headers={"accept": media_type}).status_code == 200
