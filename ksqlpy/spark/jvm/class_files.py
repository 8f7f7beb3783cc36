"""What class files declare and what they use of other classes (JVM specification, chapter 4)."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

__all__ = ["ClassFile", "Library", "Member", "classes_of"]

_SIZES = {7: 2, 8: 2, 16: 2, 19: 2, 20: 2, 15: 3, 3: 4, 4: 4, 9: 4, 10: 4, 11: 4, 12: 4, 17: 4, 18: 4, 5: 8, 6: 8}
"""Bytes of an entry of the constant pool by its tag, without the tag; texts (1) have their length ahead."""
_PRIMITIVE = dict(B="byte", C="char", D="double", F="float", I="int", J="long", S="short", V="void", Z="boolean")


class Member(NamedTuple):
    """A field or a method: the class where it is looked for, its name, and its types as descriptors."""

    owner: str
    name: str
    descriptor: str

    @property
    def taken(self) -> tuple[str, str]:
        """Its name and the types that it takes, for a method."""
        return self.name, self.descriptor.rpartition(")")[0]

    @property
    def text(self) -> str:
        """``type name`` or ``type name(types)``."""
        if not self.descriptor.startswith("("):
            return f"{_types(self.descriptor)[0]} {self.name}"
        given, result = self.descriptor[1:].split(")")
        return f"{_types(result)[0]} {self.name}({', '.join(_types(given))})"


@dataclass(frozen=True)
class ClassFile:
    """One class; names with dots, ``Outer$Inner`` for nested ones."""

    name: str
    parents: tuple[str, ...]
    """What it extends and implements."""

    declared: frozenset[tuple[str, str]]
    """Names and descriptors of its fields and methods."""

    used: frozenset[Member]
    """Fields and methods that its code names."""

    @classmethod
    def of(cls, data: bytes) -> ClassFile:
        """The class of a file with these bytes."""
        count = struct.unpack_from(">H", data, 8)[0]
        at, number = 10, 1
        pool: dict[int, tuple[int, bytes]] = {}
        while number < count:
            tag = data[at]
            size = 2 + struct.unpack_from(">H", data, at + 1)[0] if tag == 1 else _SIZES[tag]
            pool[number] = (tag, data[at + 1 : at + 1 + size])
            at += 1 + size
            number += 2 if tag in (5, 6) else 1

        def text(index: int) -> str:
            return pool[index][1][2:].decode("utf-8", "replace")

        def name(index: int) -> str:
            return text(int.from_bytes(pool[index][1])).replace("/", ".")

        _, this, parent, interfaces = struct.unpack_from(">4H", data, at)
        above = [parent] if parent else []
        above += struct.unpack_from(f">{interfaces}H", data, at + 8)
        at += 8 + 2 * interfaces
        declared = set()
        for _ in ("fields", "methods"):
            (members,) = struct.unpack_from(">H", data, at)
            at += 2
            for _ in range(members):
                _, called, typed, attributes = struct.unpack_from(">4H", data, at)
                declared.add((text(called), text(typed)))
                at += 8
                for _ in range(attributes):
                    at += 6 + struct.unpack_from(">I", data, at + 2)[0]
        used = set()
        for tag, entry in pool.values():
            if tag in (9, 10, 11):
                owner, pair = struct.unpack(">HH", entry)
                called, typed = struct.unpack(">HH", pool[pair][1])
                used.add(Member(name(owner), text(called), text(typed)))
        return cls(name(this), tuple(map(name, above)), frozenset(declared), frozenset(used))


def classes_of(jar: Path) -> Iterator[ClassFile]:
    """All classes in a jar."""
    with zipfile.ZipFile(jar) as z:
        for entry in z.namelist():
            if entry.endswith(".class"):
                yield ClassFile.of(z.read(entry))


class Library:
    """The classes of some jars, read when they are asked for."""

    def __init__(self, jars: Iterable[Path]) -> None:
        self._jars = [zipfile.ZipFile(jar) for jar in jars]
        self._places = {name: jar for jar in reversed(self._jars) for name in jar.namelist()}
        self._found: dict[str, ClassFile | None] = {}

    def close(self) -> None:
        """Closes the jars."""
        for jar in self._jars:
            jar.close()

    def find(self, name: str) -> ClassFile | None:
        """The class of this name, None if no jar has it."""
        if name not in self._found:
            entry = f"{name.replace('.', '/')}.class"
            jar = self._places.get(entry)
            self._found[name] = ClassFile.of(jar.read(entry)) if jar else None
        return self._found[name]

    def has(self, member: Member) -> bool:
        """Whether the class, or one that it extends or implements, declares a member of this name and these types."""
        waiting = [member.owner]
        while waiting:
            found = self.find(waiting.pop())
            if found is not None:
                if (member.name, member.descriptor) in found.declared:
                    return True
                waiting += found.parents
        return False


def _types(descriptors: str) -> list[str]:
    found = []
    for array, class_, letter in re.findall(r"(\[*)(?:L([^;]+);|([BCDFIJSVZ]))", descriptors):
        found.append((class_.replace("/", ".") or _PRIMITIVE[letter]) + "[]" * len(array))
    return found
