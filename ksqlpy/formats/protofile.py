"""The messages of a .proto text, by the compiler of Protobuf: which of them a record is of, and their descriptors."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ksqlpy.formats.contract import Unreadable
from ksqlpy.formats.subjects import Unsupported

__all__ = ["ProtoFile", "proto_file"]

_FILE = "schema.proto"
_KNOWN = Path(__file__).with_name("protos")
"""What schemas import without a reference: messages of Google and Confluent that stand for scalars."""


class ProtoFile:
    """The messages of one text; ``file``: its descriptor of google.protobuf."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def first(self) -> Any:
        """The descriptor of the first message; raises Unsupported."""
        found = next(iter(self._file.message_types_by_name.values()), None)
        if found is None:
            raise Unsupported("it has no message")
        return found

    def named(self, name: str) -> Any:
        """The descriptor of a message by its full name, or by its name in the text's package; raises Unsupported."""
        try:
            return self._file.pool.FindMessageTypeByName(name)
        except KeyError:
            package = self._file.package
            try:
                return self._file.pool.FindMessageTypeByName(f"{package}.{name}" if package else name)
            except KeyError:
                raise Unsupported(f"it has no message {name}") from None

    def at(self, indexes: Sequence[int]) -> Any:
        """The descriptor of the message that a record names by its place; raises Unreadable."""
        found, within = None, list(self._file.message_types_by_name.values())
        for index in indexes:
            if not 0 <= index < len(within):
                raise Unreadable(f"its schema has no message {'.'.join(map(str, indexes))}")
            found = within[index]
            within = list(found.nested_types)
        return found

    def place(self, name: str) -> tuple[int, ...]:
        """The place of a message of this text, as records name it; raises Unsupported."""
        message, steps = self.named(name), []
        while message.containing_type is not None:
            within = list(message.containing_type.nested_types)
            steps.append(next(i for i, m in enumerate(within) if m.full_name == message.full_name))
            message = message.containing_type
        top = list(self._file.message_types_by_name.values())
        steps.append(next(i for i, m in enumerate(top) if m.full_name == message.full_name))
        return tuple(reversed(steps))


@lru_cache(maxsize=256)
def proto_file(text: str, references: tuple[tuple[str, str], ...] = ()) -> ProtoFile:
    """The messages of a text; ``references``: what it imports, by name. Raises Unsupported, with the compiler's reason.

    The compiler runs as a process of its own, which takes some 100 ms; texts are remembered.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool

    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "descriptors")
        _write(Path(folder, "in"), {**dict(references), _FILE: text})
        told = subprocess.run(
            [
                *(sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}/in", f"-I{_KNOWN}"),
                *("--include_imports", f"--descriptor_set_out={found}", _FILE),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if told.returncode != 0:
            lines = told.stderr.strip().splitlines() or ["the compiler says nothing"]
            raise Unsupported(f"it is no schema of Protobuf: {lines[0].rpartition(f'{_FILE}:')[2]}")
        files = descriptor_pb2.FileDescriptorSet.FromString(found.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return ProtoFile(pool.FindFileByName(_FILE))


def _write(root: Path, files: Mapping[str, str]) -> None:
    root.mkdir()
    for name, text in files.items():
        path = root.joinpath(*(step for step in name.split("/") if step not in ("", ".", "..")))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
