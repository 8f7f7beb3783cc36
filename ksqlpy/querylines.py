"""The answer to a query as it comes over HTTP: lines of JSON, and bytes of Arrow between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import orjson

__all__ = ["query_items"]

_BYTES = b'{"arrowBytes":'

_exact: Callable[[bytes], Any] = partial(json.loads, parse_float=Decimal)


def query_items(chunks: Iterable[bytes], *, by_type: bool = False) -> Iterator[Any]:
    """Objects, rows as lists, and bytes of Arrow, as they come. Raises ValueError for what is no JSON.

    Fractions are Decimals with the digits that the server sent, save those of DOUBLE columns. ``by_type``: where no
    column has a DECIMAL in it they are floats, which is quicker.
    """
    load = _exact
    doubles: list[int] = []
    for line in _lines(chunks):
        if not isinstance(line, bytes):
            yield bytes(line)
            continue
        item = load(line)
        if isinstance(item, dict):
            types = item.get("columnTypes")
            if types is not None:
                load = orjson.loads if by_type and not any("DECIMAL" in str(t) for t in types) else _exact
                doubles = [i for i, t in enumerate(types) if t == "DOUBLE"] if load is _exact else []
        elif doubles and isinstance(item, list):
            for i in doubles:
                if isinstance(item[i], Decimal):
                    item[i] = float(item[i])
        yield item


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """Lines without their ends, none that is empty, and as views the bytes that some of them announce."""
    rest = b""
    parts: list[bytes] = []
    left = 0
    for chunk in chunks:
        if left > len(chunk):
            parts.append(chunk)
            left -= len(chunk)
            continue
        if left:
            yield memoryview(b"".join([*parts, chunk[:left]]))
            parts, chunk, left = [], chunk[left:], 0
        data, place = rest + chunk, 0
        # Not by lines of text: a row may hold what Unicode calls a line end.
        while (end := _announced(data, place)) >= 0:
            behind = data.find(b"\n", end)
            if behind < 0:
                break
            yield from filter(None, data[place:end].split(b"\n"))
            count = int(data[end + len(_BYTES) : behind - 1])
            place = behind + 1 + count
            if place > len(data):
                parts, left = [data[behind + 1 :]], place - len(data)
                break
            yield memoryview(data[behind + 1 : place])
        if left:
            rest = b""
            continue
        *lines, rest = data[place:].split(b"\n")
        yield from filter(None, lines)


def _announced(data: bytes, place: int) -> int:
    """Where the next line begins that announces bytes, from the begin of a line on; below 0: nowhere."""
    if data.startswith(_BYTES, place):
        return place
    found = data.find(b"\n" + _BYTES, place)
    return found if found < 0 else found + 1
