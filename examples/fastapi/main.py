"""Asks the service as a client does, and prints what it answers. No port is opened: httpx calls the application."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
from service import app

ORDERS = Path(__file__).with_name("orders.json")


async def ask() -> None:
    """Posts orders, then asks for customers and for large orders."""
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://service", timeout=300) as client,
    ):
        for order in json.loads(ORDERS.read_text(encoding="utf-8")):
            answer = await client.post("/orders", json=order)
            print("POST /orders", answer.status_code, answer.text)
        for path in (
            "/customers/Ada?wait=200",
            "/customers/Grace?wait=200",
            "/customers/Linus",
            "/orders?least=20&limit=2",
        ):
            answer = await client.get(path)
            print("GET", path, answer.status_code, answer.text.rstrip().replace("\n", "\n  "))
        print("POST /orders", (await client.post("/orders", json={"id": 6, "customer": "Ada"})).status_code)


def main() -> None:
    """Runs the service for as long as it is asked."""
    asyncio.run(ask())


if __name__ == "__main__":
    main()
