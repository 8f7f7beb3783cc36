"""HTTP/2: what is sent as one piece leaves as one DATA frame, and a client that does not read holds its sender back.

hypercorn keeps what is to be sent as one run of bytes and cuts it where a frame or the client's window ends, so a
client that is slower than its query gets rows in parts, and several at once; ksqlDB's clients for Node and Rust take
each frame for one row. It also lets a sender go on whenever the window is closed, so that all rows of a query come to
lie in memory, and one whose client has left in the midst of an answer waits for ever. It takes requests that are reset
as soon as they are sent (CVE-2023-44487) for as long as they come. What is here is put in the place of hypercorn's own.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from typing import Any, cast

import h2.errors
import h2.events
import h2.exceptions
import hypercorn.protocol
from hypercorn.events import Closed, Event
from hypercorn.protocol import h2 as http2
from hypercorn.protocol.events import Body, Response, StreamClosed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.typing import Event as Flag
from priority.priority import MissingStreamError

__all__ = ["Connection", "PieceBuffer", "install"]

AHEAD = 2**15
"""Bytes from which on a sender waits for the client."""

BURST = 2**13
"""Bytes of small pieces that are sent at once, ahead of what other streams have."""

_LINES = b"application/vnd.ksqlapi.delimited.v1"
"""Of answers in this form each line leaves as a frame, also where several are sent at once."""


class PieceBuffer(http2.StreamBuffer):
    """What is still to be sent on a stream, piece by piece; with the methods of hypercorn's buffer."""

    def __init__(self, event_class: type[Flag]) -> None:
        super().__init__(event_class)
        self._pieces: deque[memoryview] = deque()
        self._size = 0
        self._most = 0

    @property
    def complete(self) -> bool:
        """Whether all is sent and nothing more comes."""
        return self._complete and not self._pieces

    async def close(self) -> None:
        """Forgets what is left and lets all who wait go on."""
        self._pieces.clear()
        self._size = 0
        await super().close()

    async def push(self, data: bytes) -> None:
        """Adds a piece; waits while there is much that the client has not taken."""
        if self._complete:
            raise http2.BufferCompleteError
        if data:
            self._pieces.append(memoryview(data))
            self._size += len(data)
        if self._pieces:
            await self._is_empty.clear()
        while self._size >= AHEAD and not self._complete:
            await self._paused.clear()
            await self._paused.wait()

    async def push_lines(self, data: bytes) -> None:
        """Adds lines, each a piece of its own."""
        *lines, rest = data.split(b"\n")
        self._pieces += (memoryview(line + b"\n") for line in lines)
        self._size += len(data) - len(rest)
        await self.push(rest)

    @property
    def has_many(self) -> bool:
        """Whether there are several pieces."""
        return len(self._pieces) > 1

    async def pop(self, max_length: int) -> bytes:
        """The next piece, or a part of one that is large; nothing while the window is too small for it.

        Up to half of the most that could be sent at any time a piece waits for the window: clients open it again when
        half of it is used, so it would be wrong to wait for more. With usual windows that is half of 16 KiB, a frame.
        """
        self._most = max(self._most, max_length)
        piece = self._pieces[0] if self._pieces else memoryview(b"")
        data = bytes(piece[:max_length])
        if len(data) < len(piece) <= self._most // 2:
            data = b""
        elif len(data) < len(piece):
            self._pieces[0] = piece[max_length:]
        elif piece:
            self._pieces.popleft()
        self._size -= len(data)
        if self._size < AHEAD:
            await self._paused.set()
        if not self._pieces:
            await self._is_empty.set()
        return data


RESETS, RESETS_PER_SECOND = 200, 20
"""So many streams a client may reset at once, and then so many a second: one that ends its push queries does so."""


class Connection(http2.H2Protocol):
    """A connection whose senders end with it, and whose client may not reset streams without end."""

    _resets_left: float = RESETS
    _reset_at = 0.0

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._in_lines: set[int] = set()

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        for event in events:
            if isinstance(event, h2.events.StreamReset) and not self._may_reset():
                self.connection.close_connection(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)
                await self._flush()
                await self.send(Closed())
                return
        for event in events:
            if isinstance(event, h2.events.DataReceived) and event.stream_id not in self.streams:
                # What a client sends behind its answer, which hypercorn does not expect.
                self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            else:
                await super()._handle_events([event])
        await self._flush()

    def _may_reset(self) -> bool:
        now = time.monotonic()
        refilled = self._resets_left + (now - self._reset_at) * RESETS_PER_SECOND
        self._reset_at = now
        self._resets_left = min(float(RESETS), refilled) - 1
        return self._resets_left >= 0

    async def handle(self, event: Event) -> None:
        """Takes what happens to the connection."""
        await super().handle(event)
        if isinstance(event, Closed):
            for buffer in self.stream_buffers.values():
                await buffer.close()

    async def stream_send(self, event: StreamEvent) -> None:
        """Passes on what a stream says; its end not when the connection is gone, which would wait for the next one."""
        if isinstance(event, Response) and (b"content-type", _LINES) in event.headers:
            self._in_lines.add(event.stream_id)
        elif isinstance(event, StreamClosed):
            self._in_lines.discard(event.stream_id)
        if isinstance(event, Body) and event.stream_id in self._in_lines and event.data.count(b"\n") > 1:
            await self._send_lines(event)
        elif not (self.closed and isinstance(event, StreamClosed)):
            await super().stream_send(event)

    async def _send_lines(self, event: Body) -> None:
        """As hypercorn does with a body, but that each line becomes a frame."""
        with contextlib.suppress(http2.BufferCompleteError, KeyError, MissingStreamError):
            self.priority.unblock(event.stream_id)
            await self.has_data.set()
            await cast(PieceBuffer, self.stream_buffers[event.stream_id]).push_lines(event.data)

    async def _send_data(self, stream_id: int) -> None:
        """Sends a piece, or some small ones at once, each as a frame."""
        buffer = self.stream_buffers.get(stream_id)
        left = BURST
        while isinstance(buffer, PieceBuffer) and buffer.has_many and left > 0:
            try:
                window = self.connection.local_flow_control_window(stream_id)
                data = await buffer.pop(max(0, min(window, self.connection.max_outbound_frame_size)))
                if not data:
                    break
                self.connection.send_data(stream_id, data)
            except h2.exceptions.ProtocolError:
                break  # the stream is closed, which the next call finds, too
            left -= len(data)
        if left < BURST:
            await self._flush()
        await super()._send_data(stream_id)


def install() -> None:
    """Lets hypercorn use these for all connections from now on."""
    http2.StreamBuffer = PieceBuffer  # type: ignore[misc]
    hypercorn.protocol.H2Protocol = Connection  # type: ignore[attr-defined]  # imported there, not exported
