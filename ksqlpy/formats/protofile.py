"""The messages of a .proto text, by the compiler of Protobuf: which of them a record is of, and their descriptors."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ksqlpy.formats.contract import Unreadable
from ksqlpy.formats.subjects import Ambiguous, Unsupported

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

    def only(self) -> Any:
        """The descriptor of the message that no other one holds; raises Unsupported, of several Ambiguous."""
        free = self._free()
        if len(free) > 1:
            raise Ambiguous(f"it has several messages: {', '.join(m.full_name for m in free)}")
        return free[0] if free else self.first()

    def chief(self) -> Any:
        """As :meth:`only`, of several the first one; raises Unsupported."""
        return next(iter(self._free()), None) or self.first()

    def _free(self) -> list[Any]:
        messages = list(self._file.message_types_by_name.values())
        held = {name for m in messages for name in _held(m) if name != m.full_name}
        return [m for m in messages if m.full_name not in held]

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


def _held(message: Any) -> Iterator[str]:
    """The full names of the messages that fields of a message have, or those of messages within it."""
    for field in message.fields:
        if field.message_type is not None:
            yield field.message_type.full_name
    for inner in message.nested_types:
        yield from _held(inner)


@lru_cache(maxsize=256)
def proto_file(text: str, references: tuple[tuple[str, str], ...] = ()) -> ProtoFile:
    """The messages of a text; ``references``: what it imports, by name. Raises Unsupported, with the compiler's reason.

    Text and references may be descriptors in base64, as Confluent's serializers for Python register them. The compiler
    runs as a process of its own, which takes some 100 ms; texts are remembered.
    """
    from google.protobuf import descriptor_pool

    described = _described(text)
    texts = {name: each for name, each in references if _described(each) is None}
    files = {name: found for name, each in references if (found := _described(each)) is not None}
    if described is None and not files:
        compiled = _compiled({**texts, _FILE: text}, _FILE)
    else:
        # What descriptors import of texts, by a text that imports the same.
        wanted = [d for f in (*files.values(), described) if f is not None for d in f.dependency if d not in files]
        lines = [f'import "{d}";' for d in dict.fromkeys([*wanted, *texts])]
        if described is None:
            raise Unsupported("it is a text that refers to descriptors")
        compiled = [f for f in _compiled({**texts, _AROUND: "\n".join(['syntax = "proto3";', *lines])}, _AROUND)]
        compiled = [f for f in compiled if f.name != _AROUND]
        for name, file in files.items():
            file.name = name
        described.name = _FILE
        compiled += [*files.values(), described]
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in compiled:
            pool.Add(file)
        return ProtoFile(pool.FindFileByName(_FILE))
    except (TypeError, KeyError) as e:
        raise Unsupported(f"it is no schema of Protobuf: {e}") from e


_AROUND = "imports.proto"
_PLACE = re.compile(r"(?:^|/)[\w./-]+\.proto:(?=\d+:|\s)")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_TACIT = {
    "confluent/meta.proto": r"confluent\.\w+_meta",
    "confluent/type/decimal.proto": r"confluent\.type\.Decimal",
    "google/type/date.proto": r"google\.type\.Date",
    "google/type/timeofday.proto": r"google\.type\.TimeOfDay",
    "google/protobuf/timestamp.proto": r"google\.protobuf\.Timestamp",
    "google/protobuf/wrappers.proto": r"google\.protobuf\.\w+Value",
}
"""What texts may use without importing it, and the file that has it: Confluent's serializers add it to a schema."""


def _described(text: str) -> Any:
    """The FileDescriptorProto that a text is in base64; None for others. Raises Unsupported."""
    from google.protobuf import descriptor_pb2
    from google.protobuf.message import DecodeError

    if not _BASE64.fullmatch(text):
        return None
    try:
        return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text))
    except (ValueError, DecodeError):
        raise Unsupported("it is no schema of Protobuf") from None


def _compiled(files: Mapping[str, str], name: str) -> list[Any]:
    """The FileDescriptorProtos of a file and of what it imports, each behind its own imports; raises Unsupported."""
    try:
        return _as_given(files, name)
    except Unsupported:
        completed = {n: text + "".join(_tacit(text)) for n, text in files.items()}
        if completed == files:
            raise
        return _as_given(completed, name)


def _tacit(text: str) -> Iterator[str]:
    """The imports that a text lacks; they may stand at its end, where they move nothing that messages tell of."""
    for file, used in _TACIT.items():
        if re.search(rf"\b{used}\b", text) and f'"{file}"' not in text:
            yield f'\nimport "{file}";'


def _as_given(files: Mapping[str, str], name: str) -> list[Any]:
    from google.protobuf import descriptor_pb2

    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "descriptors")
        _write(Path(folder, "in"), files)
        told = subprocess.run(
            [
                *(sys.executable, "-P", "-m", "grpc_tools.protoc", f"-I{folder}/in", f"-I{_KNOWN}"),
                *("--include_imports", f"--descriptor_set_out={found}", name),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if told.returncode != 0:
            # Other lines are warnings, and what its library logs.
            lines = [line for line in told.stderr.splitlines() if _PLACE.search(line) and "warning:" not in line]
            said = _PLACE.split(lines[0], maxsplit=1)[1] if lines else told.stderr.strip()[:200]
            raise Unsupported(f"it is no schema of Protobuf: {said}")
        return list(descriptor_pb2.FileDescriptorSet.FromString(found.read_bytes()).file)


def _write(root: Path, files: Mapping[str, str]) -> None:
    root.mkdir()
    for name, text in files.items():
        path = root.joinpath(*(step for step in name.split("/") if step not in ("", ".", "..")))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
