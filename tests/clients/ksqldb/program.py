"""PyPI ``ksqldb``: the task is on standard input, the answers go to standard output."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from urllib.parse import quote

import requests
from ksqldb import KSQLdbClient  # type: ignore[import-not-found]  # installed by the test

EARLIEST = {"ksql.streams.auto.offset.reset": "earliest"}

task = json.load(sys.stdin)
place = task["url"]
if "user" in task:  # its arguments for a login raise a TypeError; both libraries that it uses take one from the URL
    place = place.replace("://", f"://{task['user']}:{quote(task['password'], safe='')}@")
client = KSQLdbClient(place)


def rows_of(answer: list[Any]) -> list[dict[str, Any]]:
    header, *rows = answer
    return [dict(zip(header["columnNames"], row, strict=True)) for row in rows]


async def live() -> list[dict[str, Any]]:
    answer = []
    async for item in client.query_async(task["live"]["sql"], timeout=None):
        answer.append(item)
        if len(answer) == 1:
            for insert in task["inserts"]:
                client.ksql(insert)
        if len(answer) == 1 + task["live"]["count"]:
            assert client.close_query(answer[0]["queryId"])
    return rows_of(answer)


async def limited() -> list[dict[str, Any]]:
    return rows_of([item async for item in client.query_async(task["limited"]["sql"], EARLIEST, timeout=None)])


def refused() -> str:
    try:
        return f"not refused: {client.ksql(task['refused']['sql'])}"
    except requests.HTTPError as e:
        return str(e.response.json()["message"])


for statement in task["statements"]:
    client.ksql(statement, EARLIEST)
assert any(p["name"] == "ksql.service.id" for p in client.get_properties())
streams = [s["name"] for s in client.ksql("SHOW STREAMS;")[0]["streams"]]
answers = {
    "streams": streams,
    "live": asyncio.run(live()),
    "limited": asyncio.run(limited()),
    "pulls": [[rows_of(client.query_sync(p["sql"])) for _ in range(2)] for p in task["pulls"]],
    "refused": refused(),
    "inserted": client.inserts_stream(task["stream"]["target"], task["stream"]["rows"]),
    "bad": client.inserts_stream(task["stream"]["target"], [task["stream"]["bad"]])[-1],
}
print(json.dumps(answers))
