"""A service that embeds the engine: orders come in over HTTP, and its answers come from tables.

``hypercorn service:app`` runs it. ``KAFKA`` has addresses of brokers, ``DATA`` a folder for what the engine keeps;
without them it starts a broker of its own, and forgets all at its end.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

import ksqlpy

# Where it starts again with the same data, all of it is there already.
STATEMENTS = """
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM IF NOT EXISTS orders (id INT KEY, customer STRING, amount DECIMAL(8, 2))
  WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE IF NOT EXISTS customers WITH (KAFKA_TOPIC = 'customers') AS
SELECT customer, COUNT(*) AS orders, SUM(amount) AS total
FROM orders
GROUP BY customer
EMIT CHANGES;
"""


class Order(BaseModel):
    """What a client posts."""

    id: int
    customer: str
    amount: Decimal


class Customer(BaseModel):
    """What it is told."""

    customer: str
    orders: int
    total: Decimal


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """The engine starts and ends with the service."""
    async with ksqlpy.AsyncEngine(os.environ.get("KAFKA"), os.environ.get("DATA")) as engine:
        await engine.sql(STATEMENTS)
        app.state.engine = engine
        app.state.customers = await engine.table("customers")
        yield


app = FastAPI(lifespan=lifespan)


def engine_of(request: Request) -> ksqlpy.AsyncEngine:
    """The engine of the service."""
    engine: ksqlpy.AsyncEngine = request.app.state.engine
    return engine


def customers_of(request: Request) -> ksqlpy.AsyncTable:
    """Its table."""
    table: ksqlpy.AsyncTable = request.app.state.customers
    return table


Engine = Annotated[ksqlpy.AsyncEngine, Depends(engine_of)]
Customers = Annotated[ksqlpy.AsyncTable, Depends(customers_of)]


@app.post("/orders", status_code=201)
async def post_order(order: Order, engine: Engine) -> Order:
    """Answers when the brokers have acknowledged the order."""
    await engine.insert("orders", [order.model_dump()])
    return order


@app.get("/customers/{name}")
async def get_customer(name: str, customers: Customers, wait: float | None = None) -> Customer:
    """The row of a customer; with ``wait`` it reflects all orders that were there when it was asked."""
    row = await customers.get(name, wait=wait)
    if row is None:
        raise HTTPException(404, f"there is no customer {name}")
    return Customer(customer=row.customer, orders=row.orders, total=row.total)


@app.get("/orders")
async def follow_orders(engine: Engine, least: Decimal = Decimal(0), limit: int = 10) -> StreamingResponse:
    """Orders of at least an amount, a line of JSON each: those that are there, then those that come."""
    found = await engine.query(
        f"SELECT id, customer, amount FROM orders WHERE amount >= :least EMIT CHANGES LIMIT {limit};", least=least
    )

    async def lines() -> AsyncIterator[str]:
        async with found as rows:  # who leaves early ends the query
            async for row in rows:
                yield Order(id=row.id, customer=row.customer, amount=row.amount).model_dump_json() + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")
