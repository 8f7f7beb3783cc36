"""How answers to queries are written: what comes first, rows, and what comes last.

Source of the rules: ksqlDB manual, "Run push and pull queries (/query-stream)"; its ``StreamedRow``.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from starlette.types import Send

from ksqlpy.atwork import step, waiting, working
from ksqlpy.catalog import Column, ValueSpec
from ksqlpy.errors import KsqlError
from ksqlpy.formats import JSON as JSON_FORMAT
from ksqlpy.formats import codec
from ksqlpy.formats.protobuf import PROTOBUF_NOSR
from ksqlpy.formats.protoschema import schema_of
from ksqlpy.reading import Gone, Token
from ksqlpy.reading.pieces import Piece
from ksqlpy.reading.times import texts_of
from ksqlpy.server.backend import PushQuery
from ksqlpy.server.errors import error_body
from ksqlpy.server.wire import encode

__all__ = ["TOGETHER", "Encoder", "Exact", "Lines", "Messages", "Objects", "frame", "has_arrow"]

_MANY = 1_000
"""Records of a piece from which on it comes as columns."""

TOGETHER = 2**18
"""Bytes of rows that are sent together, about."""


class Encoder:
    """How an answer is written: a JSON array of a header and of rows, which are arrays too."""

    before, between, line_end, after = b"[", b",\n", b"", b"]\n"
    _told: Callable[[Any], Any]
    """The values of a row as JSON has them."""

    def __init__(self, media_type: str) -> None:
        self.media_type = media_type

    def header(self, query_id: str, columns: Sequence[Column]) -> bytes:
        """What comes first; rows follow it."""
        self._told = texts_of([c.type for c in columns]) or _as_they_are
        return encode(
            {
                "queryId": query_id,
                "columnNames": [c.name for c in columns],
                "columnTypes": [str(c.type) for c in columns],
            }
        )

    def row(self, values: Any) -> bytes:
        """A row; nothing of one that is gone, as ksqlDB has it."""
        if isinstance(values, Token):
            return encode({"continuationToken": values.text})
        return b"" if isinstance(values, Gone) else encode(self._told(values))

    def framed(self, row: bytes) -> bytes:
        """What :meth:`row` gave, with what stands around it."""
        return self.between + row + self.line_end

    def failure(self, error: KsqlError) -> bytes:
        """What comes last where the query failed."""
        return encode(error_body(error))

    def end(self, query: PushQuery) -> bytes | None:
        """What comes last otherwise."""
        return None


class Lines(Encoder):
    """Header and rows on lines of their own."""

    before, between, line_end, after = b"", b"", b"\n", b""


class Exact(Lines):
    """The same for ksqlpy's own clients: dates and times are numbers, as inside of the engine, and lines come together.

    ``columnar``: of many rows at once come columns, where they are there as such: a line ``{"arrowBytes": N}`` with so
    many bytes behind it, a stream of Arrow with a record batch.
    """

    def __init__(self, media_type: str, *, columnar: bool) -> None:
        super().__init__(media_type)
        self._columnar = columnar

    def header(self, query_id: str, columns: Sequence[Column]) -> bytes:
        """As of the others."""
        found = super().header(query_id, columns)
        self._told = _as_they_are
        return found

    def row(self, values: Any) -> bytes:
        """A row with the end of its line."""
        return super().row(values) + b"\n" if not isinstance(values, Gone) else b""

    def framed(self, row: bytes) -> bytes:
        """As they are: their lines have ends."""
        return row

    def piece(self, piece: Piece, left: int | None) -> Iterator[tuple[bytes, int]]:
        """Rows of a piece, ``left`` at most, as bytes that come together, and how many they are. Raises KsqlError."""
        wants = self._columnar and len(piece) >= _MANY
        for rows in piece.batches() if wants else (piece.rows(),):
            some: Any = rows if left is None else rows[:left]
            left = None if left is None else left - len(some)
            if isinstance(some, list):
                yield from self._lines(some)
            else:
                yield _arrow_stream(some), len(some)

    def _lines(self, rows: list[list[Any]]) -> Iterator[tuple[bytes, int]]:
        lines: list[bytes] = []
        size = 0
        with working():
            for values in rows:
                lines.append(self.row(values))
                size += len(lines[-1])
                if size > TOGETHER:
                    with waiting():
                        yield b"".join(lines), len(lines)
                    lines, size = [], 0
                step()
        yield b"".join(lines), len(lines)


def _arrow_stream(batch: Any) -> bytes:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    data = sink.getvalue()
    sent: bytes = data.to_pybytes()
    return b'{"arrowBytes":%d}\n' % len(sent) + sent


@lru_cache(1)
def has_arrow() -> bool:
    """Whether columns can be sent: Arrow is an extra."""
    return find_spec("pyarrow") is not None


class Objects(Encoder):
    """ksqlDB's first API: a JSON array of objects with one name each (``StreamedRow``)."""

    def header(self, query_id: str, columns: Sequence[Column]) -> bytes:
        """The id, and the schema as text."""
        self._told = texts_of([c.type for c in columns]) or _as_they_are
        schema = ", ".join(f"`{c.name}` {c.type}{' KEY' if c.key else ''}" for c in columns)
        return encode({"header": {"queryId": query_id, "schema": schema}})

    def row(self, values: Any) -> bytes:
        """The columns of a row, or of one that is gone."""
        if isinstance(values, Token):
            return encode({"continuationToken": {"continuationToken": values.text}})
        if isinstance(values, Gone):
            return encode({"row": {"columns": self._told(values.columns), "tombstone": True}})
        return encode({"row": {"columns": self._told(values)}})

    def failure(self, error: KsqlError) -> bytes:
        """The error."""
        return encode({"errorMessage": error_body(error)})

    def end(self, query: PushQuery) -> bytes | None:
        """How the query ended, where that is not certain."""
        if query.limit_reached and query.stream:
            return encode({"finalMessage": "Limit Reached"})
        return encode({"finalMessage": "Query Completed"}) if query.stream else None


class Messages(Objects):
    """The same with rows as Protobuf messages, whose schema is in the header (``application/vnd.ksql.v1+protobuf``)."""

    def header(self, query_id: str, columns: Sequence[Column]) -> bytes:
        """The id, and the schema as the text of a .proto file."""
        plain = tuple(Column(c.name, c.type) for c in columns)
        self._names = [c.name for c in columns]
        self._values = codec(ValueSpec(JSON_FORMAT.name, plain))
        spec = ValueSpec(PROTOBUF_NOSR.name, plain)
        self._messages = codec(spec)
        return encode({"header": {"queryId": query_id, "protoSchema": schema_of(spec, entries=True)}})

    def row(self, values: Any) -> bytes:
        """The message of a row; nothing of one that is gone."""
        if isinstance(values, Gone):
            return b""
        if isinstance(values, Token):
            return super().row(values)
        read = self._values.decode(encode(dict(zip(self._names, values, strict=True))))
        written = self._messages.encode(read) or b""
        return encode({"row": {"protobufBytes": base64.b64encode(written).decode()}})


def _as_they_are(values: Any) -> Any:
    return values


async def frame(send: Send, data: bytes) -> None:
    """Sends a piece of a body so that it leaves before the next one."""
    await send({"type": "http.response.body", "body": data, "more_body": True})
    # Sending does not wait as long as buffers have room, so in a burst nobody else would get a turn: other
    # clients, the one who notices that this client has left, and HTTP/2's sending task, which then would
    # put several rows into one frame.
    await asyncio.sleep(0)
