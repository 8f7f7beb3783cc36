"""The records of a table in a RocksDB, by their keys, and how far the partitions of the topic are copied."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from rocksdict import BlockBasedOptions, Cache, Options, Rdict, WriteBatch, WriteOptions

from ksqlpy.reading import Record

__all__ = ["HEAD", "Busy", "Store", "Torn", "packed", "unpacked"]

HEAD = struct.Struct(">qiqI")
"""Of a value: time in ms, partition, offset, length of JSON with key and headers; that and the value follow."""

_SEEN = b"a"
_BEGIN = b"b"
_POSITION = b"p"
_ROW = b"r"
"""What keys of the database begin with: when it was written, from where a partition has records, where it is, rows."""

_BLOCKS = 64 * 2**20
"""Bytes of blocks that are kept in memory, of each table."""
_BUFFER = 32 * 2**20
_FLUSHED = 60.0
"""Seconds after which what was written goes to the files: so much is read again after a crash."""

_SIZES = ("live-sst-files-size", "cur-size-all-mem-tables")
"""What RocksDB calls the bytes of its files and of what is not yet written to them."""

_AT_ONCE = 20_000
"""Rows that are removed together."""

_RELEASED = 10.0
"""Seconds for which the files of a store that was closed may stay open: as long as somebody goes through its rows."""


class Torn(Exception):
    """The files of a copy cannot be used."""


class Busy(Exception):
    """The files of a copy are still open, in a read that goes on perhaps."""


class Store:
    """An open RocksDB; all methods may be called from any thread, :meth:`write` from one at a time."""

    def __init__(self, folder: Path) -> None:
        """Opens it, or makes it. Raises Torn and Busy."""
        self._folder = folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        # RocksDB's own log is not needed: what is lost of the end is read from the topic again, since how far it is
        # lies beside the rows.
        unlogged: Any = WriteOptions()  # whose types take its properties for methods
        unlogged.disable_wal = True
        self._unlogged: WriteOptions = unlogged
        self._flush_at = time.monotonic() + _FLUSHED
        end = time.monotonic() + _RELEASED
        while True:
            try:
                self._rows = Rdict(str(folder), _options())
            except Exception as e:  # rocksdict has no class of its own for what RocksDB says
                if "lock" not in str(e).lower():
                    raise Torn(str(e)) from e
                if time.monotonic() > end:
                    raise Busy(str(e)) from e
                time.sleep(0.05)
            else:
                return

    @staticmethod
    def remove(folder: Path) -> None:
        """Removes the files of a store that is not open."""
        shutil.rmtree(folder, ignore_errors=True)

    # ---------------------------------------------------------------- how far it is

    def positions(self) -> dict[int, int]:
        """The next offset of each partition; those that nothing is known of are missing."""
        return self._offsets(_POSITION)

    def begins(self) -> dict[int, int]:
        """The offsets below which :meth:`forget` has removed rows."""
        return self._offsets(_BEGIN)

    def _offsets(self, kind: bytes) -> dict[int, int]:
        found: dict[int, int] = {}
        for key, value in self._items(kind):
            if not key.startswith(kind):
                break
            found[int(key[1:])] = int(value)
        return found

    def seen(self) -> float | None:
        """When it was last written, in seconds since 1970; None: never."""
        found = self._rows.get(_SEEN)
        return float(found) if found is not None else None

    # ---------------------------------------------------------------- rows

    def write(self, changes: Iterable[tuple[bytes, bytes | None]], positions: Mapping[int, int]) -> None:
        """Takes over packed records under their keys, None for tombstones, and how far that is; all or nothing.

        Raises Torn, for example when the disk is full.
        """
        batch = WriteBatch(raw_mode=True)
        for key, value in changes:
            if value is None:
                batch.delete(_ROW + key)
            else:
                batch.put(_ROW + key, value)
        for partition, offset in positions.items():
            batch.put(_POSITION + str(partition).encode(), str(offset).encode())
        batch.put(_SEEN, repr(time.time()).encode())
        try:
            self._rows.write(batch, self._unlogged)
            if time.monotonic() > self._flush_at:
                self.flush()
        except Exception as e:
            raise Torn(str(e)) from e

    def forget(self, begins: Mapping[int, int]) -> int:
        """Removes the rows whose records lie below these offsets of their partitions; gives how many. Raises Torn."""
        count = 0
        gone = (k[1:] for k, v in self._items(_ROW) if (h := HEAD.unpack_from(v))[2] < begins.get(h[1], 0))
        while keys := list(itertools.islice(gone, _AT_ONCE)):
            self.write([(key, None) for key in keys], {})
            count += len(keys)
        batch = WriteBatch(raw_mode=True)
        for partition, offset in begins.items():
            batch.put(_BEGIN + str(partition).encode(), str(offset).encode())
        try:
            self._rows.write(batch, self._unlogged)
        except Exception as e:
            raise Torn(str(e)) from e
        return count

    def get(self, key: bytes) -> Record | None:
        """The record of a key."""
        found = self._rows.get(_ROW + key)
        return None if found is None else unpacked(key, found)

    def beginning(self, prefix: bytes, length: int) -> Iterator[Record]:
        """The records whose keys have that beginning and that length, in the order of their keys' bytes."""
        begin = _ROW + prefix
        for key, value in self._items(begin):
            if not key.startswith(begin):
                return
            if len(key) == length + 1:
                yield unpacked(key[1:], value)

    def all(self, low: bytes = b"", high: bytes | None = None) -> Iterator[Record]:
        """All records, as they were at the beginning, in the order of their keys' bytes: from ``low`` to ``high``."""
        end = None if high is None else _ROW + high
        for key, value in self._items(_ROW + low):
            if end is not None and key > end:
                return
            yield unpacked(key[1:], value)

    def _items(self, begin: bytes) -> Iterator[tuple[bytes, bytes]]:
        found: Any = self._rows.items(from_key=begin)  # of raw bytes, which its types do not know
        return iter(found)

    def estimate(self) -> int:
        """About how many rows it has."""
        return int(self._rows.property_int_value("rocksdb.estimate-num-keys") or 0)

    def size(self) -> int:
        """Bytes of its files, and of what is only in memory."""
        return sum(int(self._rows.property_int_value(f"rocksdb.{name}") or 0) for name in _SIZES)

    def flush(self) -> None:
        """Writes what is only in memory to the files."""
        self._flush_at = time.monotonic() + _FLUSHED
        self._rows.flush()

    def close(self) -> None:
        """Closes it; who reads it then gets an error."""
        with contextlib.suppress(Exception):  # a full disk: it is read from the topic again
            self._rows.flush()
        self._rows.close()


def packed(record: Record, *, elsewhere: bool = False) -> bytes:
    """The bytes of a record, which is no tombstone, without its key, unless it lies ``elsewhere`` than under it."""
    more = b""
    if record.headers or elsewhere:
        headers = [[n, None if v is None else v.hex()] for n, v in record.headers]
        more = orjson.dumps([(record.key or b"").hex() if elsewhere else None, headers])
    assert record.value is not None
    return HEAD.pack(record.time, record.partition, record.offset, len(more)) + more + record.value


def unpacked(key: bytes, data: bytes) -> Record:
    """The inverse of :func:`packed`, of what lies under a key."""
    at, partition, offset, length = HEAD.unpack_from(data)
    begin = HEAD.size
    if not length:
        return Record(key, data[begin:], at, partition, offset)
    own, given = orjson.loads(data[begin : begin + length])
    headers = tuple((n, None if v is None else bytes.fromhex(v)) for n, v in given)
    return Record(key if own is None else bytes.fromhex(own), data[begin + length :], at, partition, offset, headers)


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(_BUFFER)
    options.set_max_write_buffer_number(3)
    blocks = BlockBasedOptions()
    blocks.set_block_cache(Cache(_BLOCKS))
    blocks.set_bloom_filter(10, False)
    blocks.set_cache_index_and_filter_blocks(True)
    options.set_block_based_table_factory(blocks)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    return options
