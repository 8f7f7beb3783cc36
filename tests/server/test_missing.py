"""What docs/differences.md says that the REST API lacks is what it lacks."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "differences.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## What the REST API lacks\n")[1]
MISSING = re.findall(r"`(GET|POST) (/[^`]*)`", "\n".join(r.split("|")[1] for r in SECTION.splitlines() if "|" in r))
FORMS = (
    ("/query-stream", "application/vnd.ksqlapi.delimited.v1"),
    ("/query-stream", "application/json"),
    ("/query-stream", "application/vnd.ksql.v1+json"),
    ("/query-stream", "application/vnd.ksql.v1+protobuf"),
    ("/query", "application/vnd.ksql.v1+json"),
    ("/query", "application/json"),
    ("/query", "application/vnd.ksql.v1+protobuf"),
)
"""The forms of ksqlDB's answers to queries, all of which are there."""


def test_the_table_is_read() -> None:
    assert MISSING == [("POST", "/heartbeat"), ("POST", "/lag")]


@pytest.mark.parametrize(("method", "path"), MISSING)
def test_an_endpoint(http: httpx.Client, method: str, path: str) -> None:
    answer = http.request(method, path)
    assert (answer.status_code, answer.json()["error_code"]) == (404, 40400)


@pytest.mark.parametrize(("path", "media_type"), FORMS)
def test_a_form(http: httpx.Client, path: str, media_type: str) -> None:
    sql = "SELECT * FROM rows EMIT CHANGES LIMIT 1;"
    answer = http.post(path, json={"sql": sql, "ksql": sql}, headers={"accept": media_type})
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
    if "delimited" not in media_type:
        answer.json()
    first = (path, media_type) in (FORMS[0], FORMS[1])
    assert ('"columnNames"' in answer.text) == first
    assert ('"header"' in answer.text) == (not first)
    assert ("protobufBytes" in answer.text) == media_type.endswith("protobuf")
