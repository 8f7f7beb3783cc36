"""A request over HTTP/2 on a connection of its own, whose frames are counted: a line of the answer is a frame.

Only what a client must do (RFC 9113) is done: settings, windows and pings. The windows for the answer are as large as
they may be, so that they need no updates.
"""

from __future__ import annotations

import socket
import struct

from hpack import Encoder

__all__ = ["Framed"]

DATA, HEADERS, RESET, SETTINGS, PING, GO_AWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
ACK, END_STREAM, END_HEADERS = 1, 1, 4
STREAM = 1
LARGEST = 16_384
INITIAL_WINDOW = 4
WIDEST = 2**31 - 1


class Framed:
    """``lines``: how many lines of the answer have come."""

    def __init__(self, at: tuple[str, int], path: str) -> None:
        self.socket = socket.create_connection(at)
        self.lines = 0
        self._windows = {0: 65_535, STREAM: 65_535}  # what may be sent
        self._initial = 65_535
        self._got = b""
        self._out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        self._frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW, WIDEST))
        self._frame(WINDOW, 0, 0, struct.pack(">I", WIDEST - 65_535))
        head = [(":method", "POST"), (":scheme", "http"), (":authority", "127.0.0.1"), (":path", path)]
        self._frame(HEADERS, END_HEADERS, STREAM, Encoder().encode([*head, ("content-type", "application/json")]))
        self.socket.sendall(self._out)
        self.socket.setblocking(False)
        self._out = b""

    def _frame(self, kind: int, flags: int, stream: int, data: bytes = b"") -> None:
        self._out += struct.pack(">I", len(data) << 8 | kind) + struct.pack(">BI", flags, stream) + data

    @property
    def waits(self) -> bool:
        """Whether there is something to send that the socket has not taken."""
        return bool(self._out)

    @property
    def room(self) -> int:
        """Bytes of rows that may be sent."""
        return max(0, min(self._windows.values()))

    def send(self, data: bytes, *, end: bool = False) -> None:
        """Gives rows to :meth:`flush`, no more than there is room for."""
        for first in range(0, len(data), LARGEST):
            self._frame(DATA, 0, STREAM, data[first : first + LARGEST])
        if end:
            self._frame(DATA, END_STREAM, STREAM)
        for stream in self._windows:
            self._windows[stream] -= len(data)

    def flush(self) -> None:
        """Sends what the socket takes."""
        self._out = self._out[self.socket.send(self._out) :]

    def read(self) -> None:
        """Takes what has come. Raises RuntimeError where the request ends or an answer is an error."""
        data = self.socket.recv(2**18)
        if not data:
            raise RuntimeError("the server has closed the connection")
        data = self._got + data
        at = 0
        while len(data) - at >= 9:
            size = data[at] << 16 | data[at + 1] << 8 | data[at + 2]
            if len(data) - at - 9 < size:
                break
            kind, start = data[at + 3], at + 9
            at = start + size
            if kind == DATA:
                if size:
                    if data.find(b"error", start, at) >= 0:
                        raise RuntimeError(data[start:at].decode(errors="replace"))
                    self.lines += data.count(b"}", start, at)
            else:
                self._take(kind, data[start - 5], int.from_bytes(data[start - 4 : start]), data[start:at])
        self._got = data[at:]

    def _take(self, kind: int, flags: int, stream: int, data: bytes) -> None:
        if kind in (RESET, GO_AWAY):
            raise RuntimeError(f"the server has ended the request: frame {kind}, {data!r}")
        if kind == WINDOW:
            self._windows[stream] += int.from_bytes(data)
        elif kind == PING and not flags & ACK:
            self._frame(PING, ACK, 0, data)
        elif kind == SETTINGS and not flags & ACK:
            for first in range(0, len(data), 6):
                name, value = struct.unpack(">HI", data[first : first + 6])
                if name == INITIAL_WINDOW:
                    self._windows[STREAM] += value - self._initial
                    self._initial = value
            self._frame(SETTINGS, ACK, 0)
